"""Names of the columns of attributes in the private stages.

Published columns have the names of the attributes; in the stages a prefix keeps them apart from the
columns that every stage has.
"""

from collections.abc import Iterable
from typing import Final

PREFIX: Final = "attribute_"


def stage_column(name: str) -> str:
    """The column of an attribute in the stages.

    >>> stage_column("week")
    'attribute_week'
    """
    return PREFIX + name


def attributes_of(columns: Iterable[str]) -> tuple[str, ...]:
    """The attributes that a stage with these columns has.

    >>> attributes_of(["thread", "attribute_week"])
    ('week',)
    """
    return tuple(each.removeprefix(PREFIX) for each in columns if each.startswith(PREFIX))
