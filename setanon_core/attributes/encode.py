"""Attributes as columns: number the values of each attribute, and count their owners."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
from setanon_core.columns.encode import encode_first_seen, encode_values, is_missing
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import count_users
from setanon_core.errors import MalformedInputError
from setanon_core.model.attributes import Attributes

_NOT_PUBLISHED: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
"""Control characters and runs of blanks: one blank takes their place."""


class AttributeColumn(NamedTuple):
    """The values of one attribute: rows of (thread, value), in any order, also repeated."""

    threads: Ints
    values: Ints
    """Positions in `texts`."""

    texts: Sequence[str]
    """The distinct texts, ascending."""


def encode_attributes(columns: Mapping[str, AttributeColumn], users: Ints) -> Attributes:
    """Number the values of all attributes; `users` has the user of each thread.

    >>> week = AttributeColumn(np.array([0, 1, 1]), np.array([1, 0, 1]), ["a", "b"])
    >>> attributes = encode_attributes({"week": week}, np.array([7, 7]))
    >>> attributes.sets.items.tolist(), attributes.owners.tolist()
    ([1, 0, 1], [1, 1])
    """
    sizes = np.array([len(column.texts) for column in columns.values()], np.int64)
    first, width = offsets_of(sizes)[:-1], max(int(sizes.sum()), 1)
    cells = [np.empty(0, np.int64)]
    for start, column in zip(first.tolist(), columns.values(), strict=True):
        cells.append(column.threads.astype(np.int64) * width + column.values + start)
    rows, values = np.divmod(sorted_unique(np.concatenate(cells)), width)
    return Attributes(
        names=tuple(columns),
        attribute=np.repeat(np.arange(len(sizes)), sizes),
        texts=[text for column in columns.values() for text in column.texts],
        owners=count_users(values, users[rows].astype(np.int64), int(sizes.sum())),
        sets=Sets.unchecked(
            items=values, offsets=offsets_of(np.bincount(rows, minlength=len(users)))
        ),
    )


def column_of_rows(threads: Ints, values: Iterable[Hashable]) -> AttributeColumn:
    """The column of one value per row, and the thread of each row; missing values are left out."""
    try:
        number, distinct = encode_first_seen(values)
    except TypeError:
        raise MalformedInputError(
            "every value of an attribute must be hashable. Use texts or numbers, one per row."
        ) from None
    texts = [clean_value(value) for value in distinct]
    rank, vocabulary = encode_values([text for text in texts if text is not None])
    code = np.full(len(texts), -1)
    code[[text is not None for text in texts]] = rank
    code = code[number]
    return AttributeColumn(threads[code >= 0], code[code >= 0], [str(each) for each in vocabulary])


def clean_value(value: Hashable) -> str | None:
    r"""The published text of a value; None for a missing or an empty one.

    >>> clean_value(" corner\t shop "), clean_value(7), clean_value(" ")
    ('corner shop', '7', None)
    """
    if is_missing(value):
        return None
    text = unicodedata.normalize("NFC", str(value))
    return _NOT_PUBLISHED.sub(" ", text).strip() or None
