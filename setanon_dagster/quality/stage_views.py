"""The Parquet files of stages as views of one DuckDB connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet
from setanon_dagster.storage.temporary import temporary_folder
from setanon_dagster.verifier.sql import Connection

Files = Mapping[str, Path]
"""Parquet files by the names of their stages."""


@contextmanager
def open_stages(
    files: Files,
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> Iterator[Connection]:
    """Open an in-memory database with a view per file, named after its stage.

    `cores` and `memory` ("1GB") limit DuckDB, which spills into a private folder in `spill`.
    """
    # Spilled data is private and must not go to the working directory, DuckDB's default.
    if spill is not None:
        private_folder(spill)
    with (
        temporary_folder(spill) as folder,
        connect(memory, cores, folder) as connection,
        redact_engine_errors("the stage files must have the columns of their stage"),
    ):
        for stage, path in files.items():
            read_parquet(path, connection, stage).create_view(stage)
        yield connection
