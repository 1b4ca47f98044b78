"""Columns and thread ids of a published file."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Final

from setanon_dagster.verifier.sql import Columns

RELEASE_COLUMNS: Final[Mapping[str, Columns]] = {
    "sets": (("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")),
    "queries": (("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")),
}
"""The only columns of a published file, by format, in this order."""

WELL_FORMED_ID: Final = "regexp_full_match(thread_id, '[0-9a-f]{32}')"
"""SQL condition: a thread id is a keyed hash in hexadecimal."""


def closest_format(columns: Columns) -> tuple[str, int]:
    """Return the format with the fewest differing columns, and how many differ."""
    wrong, form = min(
        (sum(seen != due for seen, due in zip_longest(columns, expected)), form)
        for form, expected in RELEASE_COLUMNS.items()
    )
    return form, wrong
