"""Declarations of attributes: the column that is published, and what its values are derived from.

week                the week of the time, in the time zone of the release
host:click          the host of the URLs in the column click
shop=Name of shop   the column "Name of shop", published as shop
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from setanon_core.errors import InvalidParameterError

MAX_ATTRIBUTES: Final = 6
"""Each further attribute doubles the work, and few groups agree on so many."""

OF_TIME: Final = ("day", "week", "month", "weekday", "hour")
"""Attributes that are derived from the time of a query."""

RESERVED: Final = frozenset(
    {"thread_id", "position", "query", "keywords", "thread", "group", "user", "users", "time"}
    | {"list", "element", "duckdb_schema", "spelling", "line", "record", "item", "previous_id"}
)
"""Names that published files, stages or the Parquet format use."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HOST: Final = "host:"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One declared attribute."""

    name: str
    """The published column."""

    source: str
    """The column of the source, or one of `OF_TIME`."""

    is_host: bool = False
    """Whether the values are the hosts of URLs."""

    @classmethod
    def parse(cls, text: str) -> "Attribute":
        """Parse a declaration that was checked."""
        before, equals, after = text.partition("=")
        source = after if equals else before
        is_host = source.startswith(_HOST)
        source = source.removeprefix(_HOST)
        return cls(before if equals else "host" if is_host else source, source, is_host)

    @property
    def is_of_time(self) -> bool:
        """Whether the values are derived from the time of a query, if it has one."""
        return not self.is_host and self.source in OF_TIME


@dataclass(frozen=True, slots=True)
class AttributeDeclarations:
    """Declarations of attributes with distinct names."""

    text: str = (
        "day, week, month, weekday or hour, a column of the source, host:COLUMN for the hosts of "
        f"URLs, or NAME=COLUMN to publish it as NAME; at most {MAX_ATTRIBUTES}"
    )

    def check(self, name: str, value: object) -> tuple[str, ...]:
        """Return the declarations as a tuple."""
        declared = tuple(value) if isinstance(value, list | tuple) else None
        if declared is None or not all(isinstance(each, str) for each in declared):
            raise InvalidParameterError(
                f"{name} must be a list of texts; got a value of type {type(value).__name__}."
            )
        names = attribute_names(declared)
        wrong = sum(
            not _NAME.fullmatch(published)
            or published in RESERVED
            or not Attribute.parse(each).source.strip()
            for each, published in zip(declared, names, strict=True)
        )
        if wrong:
            raise InvalidParameterError(
                f"{name} must be published as lower case letters, digits and _, and not as a "
                f"column that every release has; {wrong} are not. Write NAME=COLUMN, "
                "such as shop=Name of shop."
            )
        if len(set(names)) < len(names) or len(names) > MAX_ATTRIBUTES:
            raise InvalidParameterError(
                f"{name} must be at most {MAX_ATTRIBUTES} with different names; got {len(names)}, "
                f"of which {len(set(names))} differ."
            )
        return declared

    def schema(self) -> dict[str, Any]:
        """Return the range as JSON schema keywords."""
        return {"maxItems": MAX_ATTRIBUTES}


def attribute_names(declared: Iterable[str]) -> tuple[str, ...]:
    """The published columns.

    >>> attribute_names(["week", "host:click", "shop=Name of shop"])
    ('week', 'host', 'shop')
    """
    return tuple(Attribute.parse(each).name for each in declared)
