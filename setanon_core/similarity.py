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
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from setanon_core.columns import appearances
from setanon_core.errors import InvalidParameterError
from setanon_core.sets import Ints, Sets, bounds_of, distinct_numbers
from setanon_core.texts import cut_each, fold_each

Bools = npt.NDArray[np.bool_]

Name = TypeVar("Name", bound=Hashable)

Similar = Callable[[Ints, Ints], Bools]
"""For pairs of texts, given by their numbers in two columns: is each pair similar?"""

CLASSES: Final = 32
"""Classes in which letters are counted, up to two of each: 64 bits; a to z have one each."""

TEXTS_AT_ONCE: Final = 1 << 16
"""Texts whose letters are counted in one go: 16 MB of counts."""

WORD: Final = re.compile(r"\w+(?:\.\w+)*")
"""What a dot holds together is one word: `www` and `com` do not make two addresses similar."""


class Measure(Protocol):
    """A way to tell whether queries are similar."""

    def over(self, texts: Sequence[str]) -> Similar:
        """Prepare these distinct texts once; the answer tells about pairs of them."""
        ...


@dataclass(frozen=True, slots=True)
class EditDistance:
    """Few letters differ, or few words do.

    >>> similar = EditDistance().over(["pine straw", "pin straw", "straw, pine bark", "caffeine"])
    >>> similar(np.array([0, 0, 0]), np.array([1, 2, 3])).tolist()
    [True, True, False]
    """

    relative: float = 0.35
    """Letters to change, at most, as a share of the longer query; from 0 to 1."""

    absolute: int = 8
    """Letters to change, at most, however long the queries; 0 or more."""

    words: float | None = 0.7
    """Letters in words to change, at most, as a share of the query with more; None turns it off."""

    def __post_init__(self) -> None:
        """Refuse thresholds out of range."""
        check_share("relative", self.relative)
        check_least("absolute", self.absolute, 0)
        if self.words is not None:
            check_share("words", self.words)

    def over(self, texts: Sequence[str]) -> Similar:
        """Prepare the texts for both distances."""
        folded = fold_each(texts, fold)
        by_letters = _by_letters(folded, self.relative, self.absolute)
        if self.words is None:
            return by_letters
        return _either([_by_words(folded, self.words), by_letters])


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Similar by one measure at least; by none at all if there is none."""

    measures: tuple[Measure, ...]

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


def _by_letters(texts: Sequence[str], relative: float, absolute: int) -> Similar:
    column = np.array([*texts, None], object)[:-1]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    masks = _letter_masks(texts, lengths)
    # It grows with the length: that of a pair is the larger of its two.
    allowed = np.minimum(relative * lengths, absolute)

    def similar(a: Ints, b: Ints) -> Bools:
        answer = np.zeros(len(a), np.bool_)
        limit = np.maximum(allowed[a], allowed[b])
        pairs = np.flatnonzero(np.abs(lengths[a] - lengths[b]) <= limit)
        pairs = pairs[(lengths[a[pairs]] > 0) & (lengths[b[pairs]] > 0)]
        mask, other = masks[a[pairs]], masks[b[pairs]]
        # An edit takes away one letter at most, and brings one at most.
        bound = np.maximum(np.bitwise_count(mask & ~other), np.bitwise_count(other & ~mask))
        pairs = pairs[bound <= limit[pairs]]
        distance = process.cpdist(
            column[a[pairs]].tolist(),
            column[b[pairs]].tolist(),
            scorer=Levenshtein.distance,
            score_cutoff=absolute,
            dtype=np.int64,
        )
        answer[pairs] = distance <= limit[pairs]
        return answer

    return similar


def _by_words(texts: Sequence[str], share: float) -> Similar:
    words, sizes = cut_each(texts, words_of)
    found, names = _as_sets(words, sizes)
    letters = np.fromiter(map(len, names), np.int64, len(names))
    total = np.diff(bounds_of(letters[found.items])[found.offsets])
    common = common_weight(found, letters)

    def similar(a: Ints, b: Ints) -> Bools:
        larger = np.maximum(total[a], total[b])
        shared = common(a, b)
        answer: Bools = (shared > 0) & (larger - shared <= share * larger)
        return answer

    return similar


def number_sets(collections: Iterable[Sequence[Name]]) -> tuple[Sets, list[Name]]:
    """Number what the collections hold, by first appearance, and return them as sets."""
    found = list(collections)
    sizes = np.fromiter(map(len, found), np.int64, len(found))
    return _as_sets(chain.from_iterable(found), sizes)


def _as_sets(names: Iterable[Name], sizes: Ints) -> tuple[Sets, list[Name]]:
    """The same for names in a row, and how many of them each collection has."""
    numbers, distinct = appearances(names)
    n, width = len(sizes), max(len(distinct), 1)
    cells = distinct_numbers(np.repeat(np.arange(n) * width, sizes) + numbers)
    rows = cells // width
    return Sets(cells - rows * width, bounds_of(np.bincount(rows, minlength=n))), distinct


def common_weight(sets: Sets, weights: Ints) -> Callable[[Ints, Ints], Ints]:
    """Weigh what two sets have in common, for many pairs of sets at once."""
    from scipy.sparse import csr_array

    shape = (len(sets), sets.width)
    weighed = csr_array((weights[sets.items], sets.items, sets.offsets), shape)
    present = csr_array((np.ones(len(sets.items), np.int64), sets.items, sets.offsets), shape)
    bits = np.left_shift(np.uint64(1), (sets.items % 64).astype(np.uint64))
    masks = np.zeros(len(sets), np.uint64)
    np.bitwise_or.at(masks, sets.rows, bits)

    def common(a: Ints, b: Ints) -> Ints:
        weight = np.zeros(len(a), np.int64)
        # Sets without a common bit have nothing in common; most pairs end here.
        pairs = np.flatnonzero(masks[a] & masks[b])
        weight[pairs] = weighed[a[pairs]].multiply(present[b[pairs]]).sum(axis=1)
        return weight

    return common


def _letter_masks(texts: Sequence[str], lengths: Ints) -> npt.NDArray[np.uint64]:
    """One bit for each class of letters that a text has, and one for each that it has twice."""
    masks = np.zeros(len(texts), np.uint64)
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        some = slice(start, start + TEXTS_AT_ONCE)  # lone surrogates are letters like any other
        points = "".join(texts[some]).encode("utf-32-le", "surrogatepass")
        classes = np.frombuffer(points, "<u4").astype(np.int64) % CLASSES
        rows = len(lengths[some])
        cells = np.repeat(np.arange(rows) * CLASSES, lengths[some]) + classes
        counts = np.bincount(cells, minlength=rows * CLASSES).reshape(rows, CLASSES)
        bits = np.packbits(np.hstack((counts > 0, counts > 1)), axis=1)
        masks[some] = bits.view(np.uint64).ravel()
    return masks


def check_share(name: str, value: object) -> None:
    """Refuse what is no share from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidParameterError(f"{name} must be a share from 0 to 1; got {_seen(value)}.")


def check_least(name: str, value: object, least: int) -> None:
    """Refuse what is no integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        seen = _seen(value)
        raise InvalidParameterError(f"{name} must be an integer of at least {least}; got {seen}.")


def _seen(value: object) -> str:
    return str(value) if isinstance(value, int | float) else f"type {type(value).__name__}"
