"""`EditDistance`: two queries are similar if few characters or few words differ.

Paper:      section 5.1, "Edit distance".
Guarantee:  the measure is symmetric and a function of the two texts alone: the result is equal on
            every machine and does not depend on the other queries of the log. A blank query is
            similar to none. The filters remove only pairs that cannot be similar.
Complexity: each text is prepared once; a pair costs O(1) in the filters, then
            O(length * absolute / 64) for characters and O(words) for words.
Deviation:  the paper gives no thresholds, and no threshold on characters alone joins what its case
            study shows in one thread: the same words in another order, or with another place name.
            So two distances are computed, and one is enough: over characters, with an absolute and
            a relative threshold; and over sets of words, where deleting or adding a word costs its
            length and replacing words costs the longer side. Texts are compared after NFKC, case
            folding and collapsing of whitespace. Queries without a common word are joined by
            result sets only (see `result_overlap`).
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from setanon_core.columns.arrays import Bools, Int32s, Ints, offsets_of
from setanon_core.columns.words import fold_and_split
from setanon_core.declarations import check_parameters
from setanon_core.params import PairComparison
from setanon_core.ranges import AtLeast, Share
from setanon_core.threads.intersections import encode_flat_sets, intersecting_pairs

Bitmasks = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint8]

CHARACTER_CLASSES: Final = 32
"""Classes (code point modulo 32) in which characters are counted; a to z have one class each."""

COUNTED: Final = 4
"""Occurrences of a class that are counted: 4 * 32 classes give a bitmask of 128 bits per text."""

TEXTS_PER_BATCH: Final = 1 << 16
"""Texts whose characters are counted at once: 16 MB of counts."""

WORD: Final = re.compile(r"\w+(?:\.\w+)*")
"""A dot inside a word does not split it: a common `www` or `com` makes no two domains similar."""


@dataclass(frozen=True, slots=True)
class EditDistance:
    """Similar if the edit distance over characters, or over words, is within its threshold.

    >>> similar = EditDistance().prepare(
    ...     ["pine straw", "pin straw", "straw, pine bark", "caffeine"]
    ... )
    >>> similar(np.array([0, 0, 0]), np.array([1, 2, 3])).tolist()
    [True, True, False]
    """

    relative: Share = 0.35
    """Maximum number of edited characters, as a share of the longer query."""

    absolute: Annotated[int, AtLeast(0)] = 8
    """Maximum number of edited characters."""

    words: Share | None = 0.7
    """Maximum characters in edited words, as a share of the longer side; None turns it off."""

    def __post_init__(self) -> None:
        """Refuse thresholds out of range."""
        check_parameters(self)

    def prepare(self, texts: Sequence[str]) -> PairComparison:
        """Prepare the texts for both distances."""
        folded, words, sizes = fold_and_split(texts, fold, words_of)
        candidates, within = _character_distance(folded, self.relative, self.absolute)
        by_words = _none_similar if self.words is None else _word_distance(words, sizes, self.words)

        def similar(a: Ints, b: Ints) -> Bools:
            result = by_words(a, b)
            pairs = candidates(a, b)
            # Pairs that are similar by words are not compared by characters.
            pairs = pairs[~result[pairs]]
            result[pairs] = within(a[pairs], b[pairs])
            return result

        return similar


def fold(text: str) -> str:
    """Normalize a text for comparison: NFKC, case folding, single spaces.

    >>> fold("  Pine   STRAW ")
    'pine straw'
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_of(text: str) -> list[str]:
    """The words of a folded text.

    >>> words_of("pine-straw, www.example.org.")
    ['pine', 'straw', 'www.example.org']
    """
    return WORD.findall(text)


def _none_similar(a: Ints, _: Ints) -> Bools:
    return np.zeros(len(a), np.bool_)


def _character_distance(
    texts: Sequence[str], relative: float, absolute: int
) -> tuple[Callable[[Ints, Ints], Ints], PairComparison]:
    """Two functions on pairs: positions of the pairs that pass the filters; exact comparison."""
    column = np.array([*texts, None], object)[:-1]
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    lower, upper = np.ascontiguousarray(_character_bitmasks(texts, lengths).T)
    # The limit of a pair is that of its longer text; rounded down, since distances are integers.
    limits = np.minimum(relative * lengths, absolute).astype(np.int32)

    def candidates(a: Ints, b: Ints) -> Ints:
        limit = np.maximum(limits[a], limits[b])
        pairs = np.flatnonzero(np.abs(lengths[a] - lengths[b]) <= limit)
        a, b, limit = a[pairs], b[pairs], limit[pairs]
        # One edit removes at most one character and adds at most one.
        only_a, only_b = _difference_counts(lower[a], lower[b])
        left = np.flatnonzero((only_a <= limit) & (only_b <= limit))
        pairs, a, b, limit = pairs[left], a[left], b[left], limit[left]
        more_a, more_b = _difference_counts(upper[a], upper[b])
        kept = (only_a[left] + more_a <= limit) & (only_b[left] + more_b <= limit)
        passed: Ints = pairs[kept & (lengths[a] > 0) & (lengths[b] > 0)]
        return passed

    def within(a: Ints, b: Ints) -> Bools:
        distance = process.cpdist(
            column[a].tolist(),
            column[b].tolist(),
            scorer=Levenshtein.distance,
            score_cutoff=absolute,
            dtype=np.int64,
        )
        result: Bools = distance <= np.maximum(limits[a], limits[b])
        return result

    return candidates, within


def _difference_counts(a: Bitmasks, b: Bitmasks) -> tuple[Counts, Counts]:
    """Number of bits that only the first has, and that only the second has."""
    return np.bitwise_count(a & ~b), np.bitwise_count(b & ~a)


def _word_distance(words: Sequence[str], sizes: Ints, share: float) -> PairComparison:
    """Compare texts as sets of words, each weighted by its length."""
    sets, distinct = encode_flat_sets(words, sizes)
    lengths = np.fromiter(map(len, distinct), np.int64, len(distinct))
    total = np.diff(offsets_of(lengths[sets.items])[sets.offsets])
    intersecting = intersecting_pairs(sets, lengths)

    def similar(a: Ints, b: Ints) -> Bools:
        result = _none_similar(a, b)
        pairs, shared = intersecting(a, b)
        larger = np.maximum(total[a[pairs]], total[b[pairs]])
        result[pairs] = (shared > 0) & (larger - shared <= share * larger)
        return result

    return similar


def _character_bitmasks(texts: Sequence[str], lengths: Int32s) -> Bitmasks:
    """Per text and character class, one bit for each of the first four occurrences.

    The first column has the bits of occurrences 1 and 2, the second those of 3 and 4.
    """
    bitmasks = np.zeros((len(texts), 2), np.uint64)
    occurrence = np.arange(COUNTED, dtype=np.uint8)[:, None]
    for start in range(0, len(texts), TEXTS_PER_BATCH):
        batch = slice(start, start + TEXTS_PER_BATCH)
        rows = len(lengths[batch])
        cells = np.repeat(np.arange(rows) * CHARACTER_CLASSES, lengths[batch])
        cells += _code_points("".join(texts[batch])) % CHARACTER_CLASSES
        counts = np.bincount(cells, minlength=rows * CHARACTER_CLASSES)
        counts = np.minimum(counts, COUNTED).astype(np.uint8)
        bits = np.packbits(counts.reshape(rows, 1, CHARACTER_CLASSES) > occurrence, axis=2)
        bitmasks[batch] = bits.reshape(rows, -1).view(np.uint64)
    return bitmasks


def _code_points(text: str) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The code points of a text, lone surrogates included."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
