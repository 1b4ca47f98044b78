"""Shares of `memory_limit`, the memory of all processes of a release: DuckDB, workers, grouping."""

from dataclasses import dataclass
from typing import Final

from setanon_core.errors import InvalidParameterError

UNITS: Final = {"MB": 1_000_000, "GB": 1_000_000_000, "MiB": 1 << 20, "GiB": 1 << 30}

LEAST: Final = "1GB"
"""Least limit: Python, Dagster and Great Expectations alone need 0.6 GB."""

PROGRAMS: Final = 600_000_000
"""Python, Dagster and Arrow in the process of the release, and Great Expectations in another."""

WORKER: Final = 200_000_000
"""A worker process of the embedded engine, with its chunk of rows."""

PLACE: Final = 450_000_000
"""A worker process that groups the records of one place."""

THREAD_OF_PLACES: Final = 120
"""Bytes per thread that the process of the release holds while places are grouped and bounded: the
peak of all processes was 4.6 GB for 27 million threads, with two workers."""

THREAD_OF_ONE_PLACE: Final = 700
"""Bytes per thread while records are grouped all at once."""

THREAD_OF_AGREEMENT: Final = 250
"""Bytes per thread, instead of those of places, while groups are split by attributes."""

THREAD_OF_ATTRIBUTE: Final = 60
"""Further bytes per thread for each attribute, if threads have one value of it."""


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """How `limit` bytes are divided, for at most `workers` worker processes.

    The shares follow from peaks that were measured for logs of 4 to 100 million queries. They never
    change a release: only DuckDB's buffers and the number of processes depend on them.
    """

    limit: int
    workers: int

    @property
    def duckdb(self) -> str:
        """Limit of DuckDB: a quarter; it writes to disk what does not fit.

        Sorting very many rows took up to twice the limit that was set.
        """
        return f"{self.limit // 4 // 1_000_000}MB"

    @property
    def processes(self) -> int:
        """Processes of the embedded engine: as many as fit beside twice DuckDB's limit."""
        return self._fitting(self.limit // 2 - PROGRAMS, WORKER)

    def group_processes(self, threads: int, places: int, attributes: int = 0) -> int:
        """Processes that group this many threads in places; refuse if even one does not fit."""
        of_places = THREAD_OF_AGREEMENT if attributes else THREAD_OF_PLACES
        per_thread = THREAD_OF_ONE_PLACE if places == 1 else of_places
        one = 0 if places == 1 else PLACE
        columns = PROGRAMS + (per_thread + attributes * THREAD_OF_ATTRIBUTE) * threads
        if columns + one > self.limit and threads:
            raise InvalidParameterError(
                f"memory_limit must be at least {_rounded_up(columns + one)} to group {threads:,} "
                f"threads; got {self.limit // 1_000_000}MB. Set a higher limit, or release the log "
                "in partitions."
            )
        return self._fitting(self.limit - columns, PLACE)

    def _fitting(self, free: int, each: int) -> int:
        return min(max(free // each, 1), self.workers)


def parse_memory(text: str) -> int:
    """The bytes of a size such as 500MB or 2 GiB.

    >>> parse_memory("2GB"), parse_memory("500 MiB")
    (2000000000, 524288000)
    """
    number = text.rstrip("MGiB ")
    return int(number) * UNITS[text[len(number) :].strip()]


def _rounded_up(size: int) -> str:
    """A tenth of a GB or more, as a value that the parameter accepts: it has whole numbers only."""
    return f"{-(-size // 100_000_000) * 100}MB"
