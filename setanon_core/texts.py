"""Many texts at once: most queries are words of letters and digits, with a blank between them.

Those are lowered and cut in a few calls for thousands of them; whatever else there is, one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.sets import Ints

AT_ONCE: Final = 1 << 16
"""Texts that are joined into one: some megabytes."""

END: Final = ord("\n")
BLANK: Final = ord(" ")

_PLAIN: Final = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])  # noqa: PLR2004 - ASCII
_PLAIN[[END, BLANK]] = True


def fold_each(texts: Sequence[str], fold: Callable[[str], str]) -> list[str]:
    """The texts as `fold` makes them; plain ones are in lower case."""
    return [text for low, _ in _blocks(texts, fold) for text in low]


def cut_each(texts: Sequence[str], words: Callable[[str], Sequence[str]]) -> tuple[list[str], Ints]:
    """The words of all texts in a row, and how many of them each text has.

    `words` cuts a text; it must cut plain ones at blanks, in lower case, and leave no blank in a
    word.

    >>> cut_each(["Pine straw", "c++", " ", "tea"], lambda text: text.lower().split())[0]
    ['pine', 'straw', 'c++', 'tea']
    """
    names: list[str] = []
    sizes = [np.empty(0, np.int64)]
    for low, blanks in _blocks(texts, lambda text: " ".join(words(text))):
        filled = np.fromiter(map(bool, low), np.bool_, len(low))
        if filled.any():
            names += " ".join(filter(None, low)).split(" ")
        sizes.append(np.where(filled, blanks + 1, 0))
    return names, np.concatenate(sizes)


def _blocks(
    texts: Sequence[str], carefully: Callable[[str], str]
) -> Iterator[tuple[list[str], Ints]]:
    for start in range(0, len(texts), AT_ONCE):
        yield _lowered(texts[start : start + AT_ONCE], carefully)


def _lowered(texts: Sequence[str], carefully: Callable[[str], str]) -> tuple[list[str], Ints]:
    """Texts, plain ones in lower case and others as `carefully` makes them; and their blanks."""
    joined = "\n".join(texts) + "\n"
    low = joined.lower().split("\n")[:-1]
    if len(low) != len(texts):  # somebody typed the end of a line
        low = [carefully(text) for text in texts]
        return low, np.fromiter((text.count(" ") for text in low), np.int64, len(low))
    # A letter that is not ASCII becomes a question mark: what matters is that it is not plain.
    data = np.frombuffer(joined.encode("ascii", "replace"), np.uint8)
    ends = np.flatnonzero(data == END)
    blank = (data == BLANK) | (data == END)
    odd = ~_PLAIN[data]
    odd[0] |= blank[0]
    odd[1:] |= blank[1:] & blank[:-1]
    blanks = _per_text(np.flatnonzero(data == BLANK), ends)
    for place in np.flatnonzero(_per_text(np.flatnonzero(odd), ends)).tolist():
        low[place] = carefully(texts[place])
        blanks[place] = low[place].count(" ")
    return low, blanks


def _per_text(places: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Ints:
    """How many of the places are in each text; a text ends with its end."""
    return np.bincount(np.searchsorted(ends, places), minlength=len(ends))
