"""Values of attributes in SQL: derived from the time of a query, or from a cell of its row.

A value is trimmed, and has one blank in place of control characters and of several blanks. A cell
without text, or without a host, has no value.
"""

from collections.abc import Sequence
from typing import Final

from setanon_core.attribute_names import Attribute
from setanon_dagster.sources.source import Kind
from setanon_dagster.sources.times import in_timezone
from setanon_dagster.storage.attribute_columns import stage_column

FORMATS_OF_TIME: Final = {
    "day": "%Y-%m-%d",
    "week": "%G-W%V",
    "month": "%Y-%m",
    "weekday": "%A",
    "hour": "%H",
}
"""The text of each part of a time; weeks are those of ISO 8601."""

_LABEL: Final = r"[\p{L}\p{M}\p{N}_-]+"
_HOST: Final = (
    # Browsers read \ as /; what precedes the last @ is a user name, and may have dots.
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#\\]*@)?(?:www\.)?"
    rf"({_LABEL}(?:\.{_LABEL})+)\.?(?:[:/?#\\]|$)"
)
"""The host and what may follow it: with other characters, such as ;id=7, a text has no host."""


def attribute_columns(declared: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """The columns of the source that attributes are read from, each once."""
    return tuple(
        dict.fromkeys(
            each.source for each in map(Attribute.parse, declared) if not _is_of_time(each, kind)
        )
    )


def attribute_values(declared: Sequence[str], kind: Kind, timezone: str) -> dict[str, str]:
    """SQL for each attribute, by the name of its column in the stages.

    The columns of `attribute_columns` are cells from c3 on, and the time is `moment`, in UTC.
    """
    cells = {column: f"c{3 + n}" for n, column in enumerate(attribute_columns(declared, kind))}
    values = {}
    for each in map(Attribute.parse, declared):
        if _is_of_time(each, kind):
            local = in_timezone("moment", timezone)
            value = f"strftime({local}, '{FORMATS_OF_TIME[each.source]}')"
        else:
            text = f"CAST({cells[each.source]} AS VARCHAR)"
            value = _host(text) if each.is_host else _clean(text)
        values[stage_column(each.name)] = value
    return values


def _is_of_time(attribute: Attribute, kind: Kind) -> bool:
    return kind == "log" and attribute.is_of_time


def _clean(text: str) -> str:
    blanks = r"'[\p{Z}\s\x00-\x1f\x7f-\x{9f}]+'"
    return f"nullif(trim(regexp_replace(nfc_normalize({text}), {blanks}, ' ', 'g')), '')"


def _host(text: str) -> str:
    return f"nullif(regexp_extract(nfc_normalize(lower(trim({text}))), '{_HOST}', 1), '')"
