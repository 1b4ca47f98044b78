"""The demo as a release: where it is, and a log that is written when it is first read."""

import os
from pathlib import Path
from typing import Final

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet

DEMO: Final = "SETANON_DEMO"
"""The environment variable with the folder of the demo."""

FOLDER: Final = ".setanon-demo"
LOG: Final = "demo_log.tsv"
USERS: Final = 10_000

LOOK: Final = """
    WITH threads AS (
        SELECT thread_id, string_agg(query, ' / ' ORDER BY position) AS queries,
            list_sort(list_distinct(string_split(string_agg(query, ' '), ' '))) AS keywords
        FROM published GROUP BY thread_id)
    SELECT thread_id, queries, shared
    FROM (SELECT *, count(*) OVER (PARTITION BY keywords) AS shared FROM threads)
    WHERE len(keywords) > 1 ORDER BY thread_id LIMIT ?"""
"""Threads of one keyword alone would show little."""


class DemoSource(Source):
    """A log that is there as soon as somebody asks for its files; to name it writes nothing."""

    @property
    def paths(self) -> list[Path]:
        """The file of the log, made up now if it is missing."""
        path = Path(str(self.uri))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_demo_log(path, USERS)
        return super().paths


def demo_folder() -> Path:
    """The folder that the environment names, or one where the process runs."""
    return Path(os.environ.get(DEMO) or FOLDER).absolute()


def demo_config(folder: Path, k: int = 3) -> ReleaseConfig:
    """What is asked of the demo."""
    # Its users are made up: their words may be shown.
    return ReleaseConfig(
        name="demo",
        source=DemoSource(str(folder / LOG)),
        k=k,
        out=str(folder),
        report="full",
        show_threads=True,
    )


def published_threads(path: Path, most: int) -> list[tuple[str, str, int]]:
    """Some threads of a published file of queries: id, queries, and threads of the same keywords.

    For made-up data only: a terminal is no place for other people's queries.
    """
    with connect() as connection:
        read_parquet(path, connection, "the release").create_view("published")
        found: list[tuple[str, str, int]] = connection.execute(LOOK, [most]).fetchall()
    return found
