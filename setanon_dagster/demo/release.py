"""Configuration of the demo release; its log is generated when it is first read."""

import os
from pathlib import Path
from typing import Final

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.connection import connect

DEMO: Final = "SETANON_DEMO"
"""Environment variable with the folder of the demo."""

FOLDER: Final = ".setanon-demo"
LOG: Final = "demo_log.tsv"
USERS: Final = 10_000

SAMPLE: Final = """
    WITH threads AS (
        SELECT thread_id, string_agg(query, ' / ' ORDER BY position) AS queries,
            bool_or(contains(query, ' ')) AS several_words
        FROM published GROUP BY thread_id)
    SELECT thread_id, queries, sharing
    FROM (SELECT *, count(*) OVER (PARTITION BY queries) AS sharing FROM threads)
    WHERE several_words ORDER BY thread_id LIMIT ?"""
"""Threads with a query of several words, and the number of threads with the same list."""


class DemoSource(Source):
    """The synthetic log; created when its paths are requested, not when it is configured."""

    @property
    def paths(self) -> list[Path]:
        """Path of the log, which is generated if it does not exist."""
        path = Path(str(self.uri))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_demo_log(path, USERS)
        return super().paths


def demo_folder() -> Path:
    """Folder of the demo: `SETANON_DEMO`, or `.setanon-demo` in the working directory."""
    return Path(os.environ.get(DEMO) or FOLDER).absolute()


def demo_config(folder: Path, k: int = 3) -> ReleaseConfig:
    """Configuration of the demo release; its users are synthetic, so threads may be shown."""
    return ReleaseConfig(
        name="demo",
        source=DemoSource(str(folder / LOG)),
        k=k,
        out=str(folder),
        report="full",
        show_threads=True,
    )


def published_threads(path: Path, limit: int) -> list[tuple[str, str, int]]:
    """Sample of a published file of queries: thread id, queries, threads with the same list.

    For synthetic data only: queries of real users must not be printed.
    """
    # Imported here: `setanon verify` imports this module without pyarrow.
    from setanon_dagster.storage.parquet import read_parquet

    with connect() as connection:
        read_parquet(path, connection, "the release").create_view("published")
        rows: list[tuple[str, str, int]] = connection.execute(SAMPLE, [limit]).fetchall()
    return rows
