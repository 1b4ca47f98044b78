"""Many texts at once: most queries are words of letters and digits, with a blank between them.

Those are lowered and cut in a few calls for thousands of them; whatever else there is, one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints

AT_ONCE: Final = 1 << 16
"""Texts that are joined into one: some megabytes."""

END: Final = ord("\n")
BLANK: Final = ord(" ")

_PLAIN: Final = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])  # noqa: PLR2004 - ASCII
_PLAIN[[END, BLANK]] = True


def cut_each(texts: Sequence[str], words: Callable[[str], Sequence[str]]) -> tuple[list[str], Ints]:
    """The words of all texts in a row, and how many of them each text has.

    `words` cuts a text; it must cut plain ones at blanks, in lower case, and leave no blank in a
    word.

    >>> cut_each(["Pine straw", "c++", " ", "tea"], lambda text: text.lower().split())[0]
    ['pine', 'straw', 'c++', 'tea']
    """
    names: list[str] = []
    sizes = [np.empty(0, np.int64)]
    for some, low in _blocks(texts):
        sizes.append(_cut(low, [some[place] for place in low.odd], words, names))
    return names, np.concatenate(sizes)


def fold_and_cut(
    texts: Sequence[str], fold: Callable[[str], str], words: Callable[[str], Sequence[str]]
) -> tuple[list[str], list[str], Ints]:
    """The texts as `fold` makes them, plain ones in lower case; and the words of those."""
    folded: list[str] = []
    names: list[str] = []
    sizes = [np.empty(0, np.int64)]
    for some, low in _blocks(texts):
        for place in low.odd:
            low.texts[place] = fold(some[place])
        folded += low.texts
        sizes.append(_cut(low, [low.texts[place] for place in low.odd], words, names))
    return folded, names, np.concatenate(sizes)


class _Lowered(NamedTuple):
    """Texts, of which plain ones are in lower case; which are not plain; and the blanks of each."""

    texts: list[str]
    odd: list[int]
    blanks: Ints


def _cut(
    low: _Lowered, odd: list[str], words: Callable[[str], Sequence[str]], names: list[str]
) -> Ints:
    """Put the words behind the names, and return how many each text has; `odd` are cut by `words`.

    >>> _cut(_Lowered(["pine straw"], [], np.array([1])), [], str.split, [])
    array([2])
    """
    for place, text in zip(low.odd, odd, strict=True):
        own = words(text)
        low.texts[place] = " ".join(own)
        low.blanks[place] = len(own) - 1
    filled = np.fromiter(map(bool, low.texts), np.bool_, len(low.texts))
    if filled.any():
        names += " ".join(filter(None, low.texts)).split(" ")
    return np.where(filled, low.blanks + 1, 0)


def _blocks(texts: Sequence[str]) -> Iterator[tuple[Sequence[str], _Lowered]]:
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        yield some, _lowered(some)


def _lowered(texts: Sequence[str]) -> _Lowered:
    joined = "\n".join(texts) + "\n"
    low = joined.lower().split("\n")[:-1]
    if len(low) != len(texts):  # somebody typed the end of a line
        return _Lowered(list(texts), list(range(len(texts))), np.zeros(len(texts), np.int64))
    # A letter that is not ASCII becomes a question mark: what matters is that it is not plain.
    data = np.frombuffer(joined.encode("ascii", "replace"), np.uint8)
    ends = np.flatnonzero(data == END)
    blank = (data == BLANK) | (data == END)
    odd = ~_PLAIN[data]
    odd[0] |= blank[0]
    odd[1:] |= blank[1:] & blank[:-1]
    blanks = _per_text(np.flatnonzero(data == BLANK), ends)
    return _Lowered(low, np.flatnonzero(_per_text(np.flatnonzero(odd), ends)).tolist(), blanks)


def _per_text(places: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Ints:
    """How many of the places are in each text; a text ends with its end."""
    return np.bincount(np.searchsorted(ends, places), minlength=len(ends))
