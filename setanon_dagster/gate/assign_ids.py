"""Assign the thread ids of a release, and write its threads and its ledger with them.

The thread numbers of the stages are not published: they are in the order of users and times. Rows
are sorted by the ids, so that their order contains nothing of the stages either.

Guarantee:  an id is part of a keyed hash; without the key it is a random number. Ids of two
            releases are unrelated unless secret, parameters and keywords are equal; then the bytes
            of the releases are equal, too.
Complexity: one join and one sort of the published rows; memory of the ledger.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from typing import Final

import duckdb
import pyarrow as pa

from setanon_core.errors import InvalidParameterError
from setanon_core.pipeline.thread_ids import thread_ids
from setanon_dagster.stages.anonymize import LEDGER as STAGE_LEDGER
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.parquet import read_parquet, write_parquet
from setanon_dagster.storage.temporary import temporary_file
from setanon_dagster.verifier.sql import Limits

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "sets": ("thread_id", "keywords"),
    "queries": ("thread_id", "position", "query"),
    "edited": ("thread_id", "position", "query"),
}
"""The published columns by format; separate from the verifier's list, so that it refuses an error
in this one."""

KEY_FILE: Final = "thread_ids.key"
"""Private file with the secret of releases for which none was set."""

KEY_BYTES: Final = 32

HEXADECIMAL: Final = "replace(_id::VARCHAR, '-', '')"
"""SQL expression for the published text of an id: DuckDB sorts the 16 bytes of a UUID faster, and
in less memory, than their 32 digits."""


@dataclass(frozen=True, slots=True)
class UnmatchedRows:
    """Rows of a stage whose thread has not exactly one entry in the ledger; they are refused."""

    without_entry: int
    with_several: int

    @property
    def failures(self) -> list[str]:
        """Messages with counts."""
        sentence = "the ledger must have one entry for the thread of each row; {} rows have {}"
        counts = {"none": self.without_entry, "several": self.with_several}
        return [sentence.format(count, name) for name, count in counts.items() if count]


def id_key(secret: bytes, parameters: Mapping[str, object], clusters_digest: str) -> bytes:
    """The key of one release's ids: it changes with the parameters and with the keywords.

    If the secret were the key, a thread would have the same id in every release, so that releases
    could be linked.
    """
    if not 0 < len(secret) <= blake2b.MAX_KEY_SIZE:
        raise InvalidParameterError(
            f"secret must have 1 to {blake2b.MAX_KEY_SIZE} bytes; it has {len(secret)}."
        )
    content = repr((sorted(parameters.items()), clusters_digest)).encode()
    return blake2b(content, key=secret, digest_size=KEY_BYTES, person=b"setanon gate").digest()


def stored_secret(folder: Path) -> bytes:
    """The secret in a private folder, created at first use.

    With it, a release that is published again from the same stages has the same ids, although no
    secret was set. It reveals no more than the ledgers in this folder.
    """
    path = folder / KEY_FILE
    if not path.exists():
        with temporary_file(folder) as (new, handle):
            os.write(handle, token_bytes(KEY_BYTES))
            os.fsync(handle)
            # Fails if another process has created the file in the meantime; that one is used.
            with suppress(FileExistsError):
                os.link(new, path)
    secret = path.read_bytes()
    if len(secret) != KEY_BYTES:
        raise InvalidParameterError(
            f"{KEY_FILE} must have {KEY_BYTES} bytes; it has {len(secret)}. Delete it: the next "
            "release gets other thread ids."
        )
    return secret


def write_with_ids(  # noqa: PLR0913 - two files to read and two to write
    threads: Path,
    ledger: Path,
    key: bytes,
    form: str,
    limits: Limits,
    *,
    attributes: Sequence[str] = (),
    public: Path,
    private: Path,
) -> UnmatchedRows:
    """Write the rows of the stage `threads` to `public`, and those of `ledger` to `private`.

    `attributes` are the columns that follow those of the format. Both get ids and are sorted by
    them. The id of a thread depends on its position among the threads of the ledger, and on the
    key.
    """
    with connect(limits["memory"], limits["cores"], limits["spill"]) as connection:
        connection.register("ids", _with_ids(connection, ledger, key))
        stored = ", ".join(f'"{name}"' for name in STAGE_LEDGER.names)
        entries = connection.sql(
            f"SELECT {HEXADECIMAL} AS thread_id, {stored} FROM ids ORDER BY _id"  # noqa: S608
        )
        write_parquet(entries, private, name="the ledger", connection=connection)
        stage = read_parquet(threads, connection, "anonymized_threads")
        stage.create_view("stage")
        columns = ", ".join([*COLUMNS[form][1:], *(f'"{name}"' for name in attributes)])
        order = "ids._id, position" if "position" in COLUMNS[form] else "ids._id"
        with redact_engine_errors("anonymized_threads must have the columns of its format"):
            (before,) = stage.aggregate("count(*)").fetchall()[0]
            rows = connection.sql(
                f"""SELECT {HEXADECIMAL} AS thread_id, {columns}
                FROM (SELECT ids._id, {columns} FROM stage LEFT JOIN ids USING (thread)
                    ORDER BY {order})"""  # noqa: S608 - constants
            )
        written = write_parquet(rows, public, mode=0o644, name="the release", connection=connection)
        (with_id,) = read_parquet(public, connection).aggregate("count(thread_id)").fetchall()[0]
    return UnmatchedRows(written - with_id, written - before)


def _with_ids(connection: duckdb.DuckDBPyConnection, ledger: Path, key: bytes) -> pa.Table:
    """The entries of a ledger, sorted, with their ids: thread, user, id."""
    relation = read_parquet(ledger, connection, "ledger")
    with redact_engine_errors("ledger must have the columns thread and user"):
        entries = (
            relation.select(*map(duckdb.ColumnExpression, STAGE_LEDGER.names))
            .order("ALL")
            .to_arrow_table()
        )
    ids = thread_ids(len(entries), key)
    stored = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(ids.shape[1]), len(ids), [None, pa.py_buffer(ids)]
    )
    return entries.append_column("_id", pa.ExtensionArray.from_storage(pa.uuid(), stored))
