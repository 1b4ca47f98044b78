"""Counts of a source that was read, stored in the Parquet file of its rejected rows."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from duckdb import DuckDBPyConnection
from pyarrow import parquet

from setanon_dagster.sources.loading import ReadResult
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import write_parquet

KEY: Final = "setanon.source"
"""Key of the counts in the metadata of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    """Lines of a source: `accepted`, `rejected` and `outside` add up to `lines`. No data."""

    lines: int
    """Lines read, without headers and blank lines; rows, if the source is a table."""

    accepted: int
    outside: int
    """Valid lines outside the partition."""

    blank: int
    rejected_by_reason: dict[str, int] = field(default_factory=dict)
    encodings: tuple[str, ...] = ()
    """Encodings of the text files; empty if the source is a table."""

    @property
    def rejected(self) -> int:
        """Number of rejected lines."""
        return sum(self.rejected_by_reason.values())


def counts_of(result: ReadResult) -> SourceCounts:
    """The counts of a source that was read."""
    return SourceCounts(
        lines=result.lines,
        accepted=result.accepted_lines,
        outside=result.outside_window,
        blank=result.blank_lines,
        rejected_by_reason=result.rejected_by_reason,
        encodings=result.encodings,
    )


def write_rejected_rows(result: ReadResult, path: Path, connection: DuckDBPyConnection) -> int:
    """Write line and reason of the rejected rows, with the counts of the source."""
    counts = json.dumps(asdict(counts_of(result)))
    return write_parquet(result.rejected, path, connection=connection, metadata={KEY: counts})


def read_source_counts(rejected_rows: Path) -> SourceCounts | None:
    """The counts in a file of rejected rows, a stage or `rejected.parquet` of a release.

    None if the file has none: it was written by an earlier version.
    """
    with redact_engine_errors("rejected_rows must be a Parquet file"):
        stored = (parquet.read_metadata(rejected_rows).metadata or {}).get(KEY.encode())
    if stored is None:
        return None
    counts = json.loads(stored)
    return SourceCounts(**counts | {"encodings": tuple(counts["encodings"])})
