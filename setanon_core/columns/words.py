"""Split many texts into words at once: one column of words, and the word count of each text.

Most queries are plain: ASCII letters and digits, with single spaces between words. Plain texts are
lowercased and split by a few calls per batch; all others are passed to a function one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints

TEXTS_PER_BATCH: Final = 1 << 16
"""Texts that are joined into one string: some megabytes."""

NEWLINE: Final = ord("\n")
SPACE: Final = ord(" ")

_PLAIN: Final = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])  # noqa: PLR2004 - ASCII
_PLAIN[[NEWLINE, SPACE]] = True


def split_texts(
    texts: Sequence[str], split: Callable[[str], Sequence[str]]
) -> tuple[list[str], Ints]:
    """The words of all texts in one list, and the number of words of each text.

    `split` returns the words of a text. It must lowercase a plain text and split it at spaces;
    no word may contain a space.

    >>> split_texts(["Pine straw", "c++", " ", "tea"], lambda text: text.lower().split())[0]
    ['pine', 'straw', 'c++', 'tea']
    """
    words: list[str] = []
    counts = [np.empty(0, np.int64)]
    for originals, batch in _batches(texts):
        other_texts = [originals[position] for position in batch.others]
        counts.append(_append_words(words, batch, other_texts, split))
    return words, np.concatenate(counts)


def fold_and_split(
    texts: Sequence[str], fold: Callable[[str], str], split: Callable[[str], Sequence[str]]
) -> tuple[list[str], list[str], Ints]:
    """The folded texts, their words in one list, and the number of words of each text.

    `fold` must lowercase a plain text; `split` must split a folded plain text at spaces.
    """
    folded: list[str] = []
    words: list[str] = []
    counts = [np.empty(0, np.int64)]
    for originals, batch in _batches(texts):
        for position in batch.others:
            batch.texts[position] = fold(originals[position])
        folded += batch.texts
        other_texts = [batch.texts[position] for position in batch.others]
        counts.append(_append_words(words, batch, other_texts, split))
    return folded, words, np.concatenate(counts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Batch:
    """Texts in lower case; `others` are the positions of those that are not plain."""

    texts: list[str]
    others: list[int]
    spaces: Ints
    """Number of spaces of each text."""


def _append_words(
    words: list[str],
    batch: _Batch,
    other_texts: list[str],
    split: Callable[[str], Sequence[str]],
) -> Ints:
    """Append the words of the batch; return the number of words of each text.

    `other_texts` are the texts that are not plain, in the form that `split` expects.

    >>> _append_words([], _Batch(["pine straw"], [], np.array([1])), [], str.split)
    array([2])
    """
    for position, text in zip(batch.others, other_texts, strict=True):
        parts = split(text)
        batch.texts[position] = " ".join(parts)
        batch.spaces[position] = len(parts) - 1
    nonempty = np.fromiter(map(bool, batch.texts), np.bool_, len(batch.texts))
    if nonempty.any():
        words += " ".join(filter(None, batch.texts)).split(" ")
    return np.where(nonempty, batch.spaces + 1, 0)


def _batches(texts: Sequence[str]) -> Iterator[tuple[Sequence[str], _Batch]]:
    for start in range(0, len(texts), TEXTS_PER_BATCH):
        originals = texts[start : start + TEXTS_PER_BATCH]
        yield originals, _lowercase(originals)


def _lowercase(texts: Sequence[str]) -> _Batch:
    joined = "\n".join(texts) + "\n"
    lowered = joined.lower().split("\n")[:-1]
    if len(lowered) != len(texts):  # a text contains a newline
        return _Batch(list(texts), list(range(len(texts))), np.zeros(len(texts), np.int64))
    # Other characters become question marks, which are not plain either.
    data = np.frombuffer(joined.encode("ascii", "replace"), np.uint8)
    ends = np.flatnonzero(data == NEWLINE)
    separator = (data == SPACE) | (data == NEWLINE)
    not_plain = ~_PLAIN[data]
    # Leading, trailing and double spaces, and empty texts, are not plain either.
    not_plain[0] |= separator[0]
    not_plain[1:] |= separator[1:] & separator[:-1]
    spaces = _count_per_text(np.flatnonzero(data == SPACE), ends)
    others = np.flatnonzero(_count_per_text(np.flatnonzero(not_plain), ends)).tolist()
    return _Batch(lowered, others, spaces)


def _count_per_text(positions: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Ints:
    """Number of these positions within each text; a text includes its end."""
    return np.bincount(np.searchsorted(ends, positions), minlength=len(ends))
