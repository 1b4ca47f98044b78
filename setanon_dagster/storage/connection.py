"""DuckDB connections: private, in memory, within limits."""

import os
from pathlib import Path
from secrets import token_hex

import duckdb
from duckdb import DuckDBPyConnection

from setanon_core.errors import InvalidParameterError
from setanon_dagster.storage.folders import private_folder


def connect(
    memory_limit: str | None = None,
    cores: int | None = None,
    temp_folder: str | os.PathLike[str] | None = None,
) -> DuckDBPyConnection:
    """Open a private database in memory; without a `temp_folder` it spills nothing to disk."""
    spill = ""  # DuckDB's default is `.tmp` in the working folder, for all to read
    if temp_folder is not None:
        # In a folder of our own, as the given one may be open to others; DuckDB removes the last.
        own = private_folder(Path(temp_folder).absolute() / "setanon-spill")
        if own.stat().st_uid != os.geteuid() or own.stat().st_mode & 0o077:
            raise InvalidParameterError(
                f"{own} must be this user's alone (0700), for private rows are spilled there."
            )
        spill = str(own / token_hex(8))
    settings = {
        # Otherwise the name of a table that is missing finds a Python variable of that name.
        "python_enable_replacements": False,
        # Ours tells of the stage, and goes where the rest goes.
        "enable_progress_bar": False,
        # Files are read once; what is kept of them would only be in the way.
        "enable_external_file_cache": False,
        "temp_directory": spill,
        "memory_limit": memory_limit,
        "threads": cores,
    }
    connection = duckdb.connect()
    for name, value in settings.items():
        if value is None:
            continue
        try:
            connection.execute(f"SET {name} = ?", [value])
        except duckdb.Error:
            connection.close()
            raise InvalidParameterError(
                f"{name} must be a value that DuckDB takes, such as '2GB' for memory_limit or 2 "
                f"for cores; got {value!r}."
            ) from None
    return connection
