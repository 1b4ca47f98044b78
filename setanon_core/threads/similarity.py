"""When are two queries of a session similar: measures, each with its threshold, and their union.

Paper:      section 5.1, "Edit distance" and "Overlapping result sets".
Guarantee:  measures are symmetric, and a function of the two texts (and the search engine) alone:
            the same on every machine, whatever else is in the log. A blank query is similar to
            none. Filters only spare work: what they drop could not have been similar.
Complexity: each text is prepared once, and a result set asked for once; a pair costs O(1) in
            filters, then O(length * absolute / 64) for letters and O(words) for words.
Deviation:  the paper gives no thresholds, and one on letters does not bring together what its
            case study shows in one thread: the same words turned around, or with another place.
            So edit distance is taken twice, and either is enough: over letters, with an absolute
            and a relative threshold, and over words in any order, where a word costs its length,
            counts once, and replacing costs the longer side. Texts are compared after NFKC, case
            folding and joining of blanks. What shares no word only result sets bring together.
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

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.declarations import check_parameters
from setanon_core.params import Similar, SimilarityMeasure
from setanon_core.ranges import AtLeast, Share
from setanon_core.threads.overlap import as_sets, shared_weight
from setanon_core.threads.text_batches import fold_and_cut

Bools = npt.NDArray[np.bool_]

Masks = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint8]

CLASSES: Final = 32
"""Classes in which letters are counted, up to four of each: 128 bits; a to z have one each."""

TEXTS_AT_ONCE: Final = 1 << 16
"""Texts whose letters are counted in one go: 16 MB of counts."""

WORD: Final = re.compile(r"\w+(?:\.\w+)*")
"""What a dot holds together is one word: `www` and `com` do not make two addresses similar."""


@dataclass(frozen=True, slots=True)
class EditDistance:
    """Few letters differ, or few words do.

    >>> similar = EditDistance().over(["pine straw", "pin straw", "straw, pine bark", "caffeine"])
    >>> similar(np.array([0, 0, 0]), np.array([1, 2, 3])).tolist()
    [True, True, False]
    """

    relative: Share = 0.35
    """Letters to change, at most, as a share of the longer query; from 0 to 1."""

    absolute: Annotated[int, AtLeast(0)] = 8
    """Letters to change, at most, however long the queries; 0 or more."""

    words: Share | None = 0.7
    """Letters in words to change, at most, as a share of the query with more; None turns it off."""

    def __post_init__(self) -> None:
        """Refuse thresholds out of range."""
        check_parameters(self)

    def over(self, texts: Sequence[str]) -> Similar:
        """Prepare the texts for both distances."""
        folded, words, sizes = fold_and_cut(texts, fold, words_of)
        near, close = _by_letters(folded, self.relative, self.absolute)
        by_words = _nothing if self.words is None else _by_words(words, sizes, self.words)

        def similar(a: Ints, b: Ints) -> Bools:
            answer = by_words(a, b)
            pairs = near(a, b)
            # What words have settled is not compared letter by letter.
            pairs = pairs[~answer[pairs]]
            answer[pairs] = close(a[pairs], b[pairs])
            return answer

        return similar


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Similar by one measure at least; by none at all if there is none."""

    measures: tuple[SimilarityMeasure, ...]

    def over(self, texts: Sequence[str]) -> Similar:
        """Prepare every measure."""
        return _either([measure.over(texts) for measure in self.measures])


ALONE: Final = AnyOf(())
"""Nothing is similar: every query is a thread of its own, with its exact repeats."""


def fold(text: str) -> str:
    """Return the text as it is compared: NFKC, without case, single blanks.

    >>> fold("  Pine   STRAW ")
    'pine straw'
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_of(text: str) -> list[str]:
    """The words that are compared.

    >>> words_of("pine-straw, www.example.org.")
    ['pine', 'straw', 'www.example.org']
    """
    return WORD.findall(text)


def _either(judges: Sequence[Similar]) -> Similar:
    def similar(a: Ints, b: Ints) -> Bools:
        answer = np.zeros(len(a), np.bool_)
        for judge in judges:
            # What an earlier measure has settled is not asked again.
            open_ = np.flatnonzero(~answer)
            answer[open_] = judge(a[open_], b[open_])
        return answer

    return similar


def _nothing(a: Ints, _: Ints) -> Bools:
    return np.zeros(len(a), np.bool_)


def _by_letters(
    texts: Sequence[str], relative: float, absolute: int
) -> tuple[Callable[[Ints, Ints], Ints], Similar]:
    """Which pairs may be close, by their letters; and which of such pairs are."""
    column = np.array([*texts, None], object)[:-1]
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    few, many = np.ascontiguousarray(_letter_masks(texts, lengths).T)
    # It grows with the length: that of a pair is the larger of its two. Distances are whole, and
    # so may their limits be.
    allowed = np.minimum(relative * lengths, absolute).astype(np.int32)

    def near(a: Ints, b: Ints) -> Ints:
        limit = np.maximum(allowed[a], allowed[b])
        pairs = np.flatnonzero(np.abs(lengths[a] - lengths[b]) <= limit)
        a, b, limit = a[pairs], b[pairs], limit[pairs]
        # An edit takes away one letter at most, and brings one at most.
        lost, found = _differing(few[a], few[b])
        left = np.flatnonzero((lost <= limit) & (found <= limit))
        pairs, a, b, limit = pairs[left], a[left], b[left], limit[left]
        more_lost, more_found = _differing(many[a], many[b])
        kept = (lost[left] + more_lost <= limit) & (found[left] + more_found <= limit)
        within: Ints = pairs[kept & (lengths[a] > 0) & (lengths[b] > 0)]
        return within

    def close(a: Ints, b: Ints) -> Bools:
        distance = process.cpdist(
            column[a].tolist(),
            column[b].tolist(),
            scorer=Levenshtein.distance,
            score_cutoff=absolute,
            dtype=np.int64,
        )
        answer: Bools = distance <= np.maximum(allowed[a], allowed[b])
        return answer

    return near, close


def _differing(a: Masks, b: Masks) -> tuple[Counts, Counts]:
    """How many bits only the first has, and how many only the second."""
    return np.bitwise_count(a & ~b), np.bitwise_count(b & ~a)


def _by_words(words: Sequence[str], sizes: Ints, share: float) -> Similar:
    found, names = as_sets(words, sizes)
    letters = np.fromiter(map(len, names), np.int64, len(names))
    total = np.diff(offsets_of(letters[found.items])[found.offsets])
    sharing = shared_weight(found, letters)

    def similar(a: Ints, b: Ints) -> Bools:
        answer = _nothing(a, b)
        pairs, shared = sharing(a, b)
        larger = np.maximum(total[a[pairs]], total[b[pairs]])
        answer[pairs] = (shared > 0) & (larger - shared <= share * larger)
        return answer

    return similar


def _letter_masks(texts: Sequence[str], lengths: npt.NDArray[np.int32]) -> Masks:
    """One bit for each class of letters that a text has, and for each that it has 2, 3, 4 times.

    The first column is about one and two times, the second about three and four.
    """
    masks = np.zeros((len(texts), 2), np.uint64)
    times = np.arange(4, dtype=np.uint8)[:, None]
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        some = slice(start, start + TEXTS_AT_ONCE)
        rows = len(lengths[some])
        cells = np.repeat(np.arange(rows) * CLASSES, lengths[some])
        cells += _points("".join(texts[some])) % CLASSES
        counts = np.minimum(np.bincount(cells, minlength=rows * CLASSES), 4).astype(np.uint8)
        bits = np.packbits(counts.reshape(rows, 1, CLASSES) > times, axis=2)
        masks[some] = bits.reshape(rows, -1).view(np.uint64)
    return masks


def _points(text: str) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The code points; lone surrogates are letters like any other."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
