"""Facts for the decision about a release: people, period, and how many users share each list.

Complexity: one pass over the rows of the source, and one over the published rows.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of the verifier

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from duckdb import DuckDBPyConnection

from setanon_dagster.quality.release_tables import STAGE_ROWS
from setanon_dagster.sources.source_counts import SourceCounts
from setanon_dagster.verifier.attribute_tokens import create_file_view
from setanon_dagster.verifier.release_format import layout_of, sorted_thread_spellings

RAW: Final = "raw"
"""Name of the view of `raw_log` or `raw_baskets`."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Lists that this many users share, and people whose least shared list is one of these.

    A list is all that is published of a thread: its list of queries, or its set.
    """

    users: int
    lists: int
    people: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """Facts about the source and the release; counts, times and the name of the source."""

    source: str
    people: int
    """Users of the source; records, if it has no users."""

    rows: int
    """Queries of the source; pairs of record and item of baskets."""

    published_rows: int
    """Published queries; 0 if only sets are published."""

    sharing: tuple[Sharing, ...] = ()
    first: datetime | None = None
    last: datetime | None = None
    counts: SourceCounts | None = None
    """Lines, rejected lines and encodings; None if an earlier version read the source."""

    @property
    def published_people(self) -> int:
        """Users with at least one published thread."""
        return sum(each.people for each in self.sharing)


def read_facts(
    connection: DuckDBPyConnection,
    form: str,
    source: str,
    counts: SourceCounts | None,
    *,
    attributes: Sequence[str] = (),
) -> ReleaseFacts:
    """Count the facts; `connection` is of `open_stages`, with the source as the view `raw`.

    With attributes, a list of queries is shared by those who have the same values, too.
    """
    columns = connection.view(RAW).columns
    person = "user" if "user" in columns else "record"
    times = "min(time), max(time)" if "time" in columns else "NULL, NULL"
    ((rows, people, first, last),) = connection.execute(
        f'SELECT count(*), count(DISTINCT "{person}"), {times} FROM {RAW}'
    ).fetchall()
    published = 0
    if layout_of(form) == "queries":
        ((published,),) = connection.execute("SELECT count(*) FROM anonymized_threads").fetchall()
    return ReleaseFacts(
        source=source,
        people=people,
        rows=rows,
        published_rows=published,
        sharing=_sharing(connection, form, attributes),
        first=first,
        last=last,
        counts=counts,
    )


def _sharing(
    connection: DuckDBPyConnection, form: str, attributes: Sequence[str]
) -> tuple[Sharing, ...]:
    """Lists and people by the number of users who share a list, with its attributes."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW published_rows AS FROM {STAGE_ROWS}")
    create_file_view(connection, layout_of(form), attributes)
    rows = connection.execute(
        f"""
        WITH pairs AS MATERIALIZED (SELECT DISTINCT spelling, "user"
            FROM ({sorted_thread_spellings(layout_of(form), "file")}) AS published
            JOIN ledger ON ledger.thread = published.thread_id),
        lists AS MATERIALIZED (SELECT spelling, count(*) AS users FROM pairs GROUP BY spelling),
        least AS (SELECT min(users) AS users FROM pairs JOIN lists USING (spelling)
            GROUP BY "user"),
        people AS (SELECT users, count(*) AS people FROM least GROUP BY users)
        SELECT users, count(*), coalesce(any_value(people), 0)
        FROM lists LEFT JOIN people USING (users) GROUP BY users ORDER BY users"""
    ).fetchall()
    return tuple(Sharing(*row) for row in rows)


def worst_chance(sharing: Sequence[Sharing]) -> float:
    """Chance of a right guess who has a list, for the list that the fewest users share.

    >>> worst_chance([Sharing(4, 1, 4), Sharing(5, 1, 5)])
    0.25
    """
    return max((1 / each.users for each in sharing), default=0.0)


def mean_chance_of_lists(sharing: Sequence[Sharing]) -> float:
    """Mean chance of a right guess over all lists.

    >>> mean_chance_of_lists([Sharing(4, 1, 4), Sharing(2, 3, 6)])
    0.4375
    """
    lists = sum(each.lists for each in sharing)
    return sum(each.lists / each.users for each in sharing) / max(lists, 1)


def mean_chance_of_people(sharing: Sequence[Sharing]) -> float:
    """Mean over all published people of the chance for their least shared list.

    >>> mean_chance_of_people([Sharing(4, 1, 4), Sharing(2, 2, 4)])
    0.375
    """
    people = sum(each.people for each in sharing)
    return sum(each.people / each.users for each in sharing) / max(people, 1)


def lists_of_exactly(sharing: Sequence[Sharing], k: int) -> int:
    """Number of lists that exactly k users share."""
    return sum(each.lists for each in sharing if each.users == k)
