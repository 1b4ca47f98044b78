"""DuckDB connections: in memory, with limits on memory, cores and temporary files."""

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
    """Open an in-memory database; without a `temp_folder`, nothing is spilled to disk."""
    spill = ""  # DuckDB's default is `.tmp` in the working directory, readable by everybody
    if temp_folder is not None:
        # A private subfolder, because others may read `temp_folder`; DuckDB deletes the last part.
        private = private_folder(Path(temp_folder).absolute() / "setanon-spill")
        if private.stat().st_uid != os.geteuid() or private.stat().st_mode & 0o077:
            raise InvalidParameterError(
                f"{private} must be owned by this user with mode 0700, because private rows are "
                "spilled there. Change its owner and mode, or delete it."
            )
        spill = str(private / token_hex(8))
    settings = {
        # Otherwise an unknown table name resolves to a Python variable of that name.
        "python_enable_replacements": False,
        # Progress is reported per stage by the caller.
        "enable_progress_bar": False,
        # Each file is read once: caching it would only use memory.
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
            parameter = "cores" if name == "threads" else name
            raise InvalidParameterError(
                f"{parameter} must be a value that DuckDB accepts, such as '2GB' for memory_limit "
                f"or 2 for cores; got {value!r}."
            ) from None
    return connection
