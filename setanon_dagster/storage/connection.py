"""DuckDB connections: in memory, with limits on memory, cores and temporary files."""

import os
import weakref
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex

import duckdb
from duckdb import DuckDBPyConnection

from setanon_core.errors import InvalidParameterError
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import enter_temporary_folder


def connect(
    memory_limit: str | None = None,
    cores: int | None = None,
    temp_folder: str | os.PathLike[str] | None = None,
) -> DuckDBPyConnection:
    """Open an in-memory database; without a `temp_folder`, nothing is spilled to disk."""
    spill = ""  # DuckDB's default is `.tmp` in the working directory, readable by everybody
    resources = ExitStack()
    if temp_folder is not None:
        # A private subfolder, because others may read `temp_folder`; DuckDB deletes the last part.
        parent = private_folder(Path(temp_folder).absolute())
        spill = str(enter_temporary_folder(resources, parent) / "duckdb")
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
            resources.close()
            parameter = "cores" if name == "threads" else name
            raise InvalidParameterError(
                f"{parameter} must be a value that DuckDB accepts, such as '2GB' for memory_limit "
                f"or 2 for cores; got {value!r}."
            ) from None
    if spill:
        import pyarrow as pa  # not needed by `setanon verify`

        # A registered table lives as long as the database; then the temporary folder is removed.
        pin = pa.table({"spill": [spill]})
        connection.register(f"spill_{token_hex(8)}", pin)
        weakref.finalize(pin, resources.close)
    return connection
