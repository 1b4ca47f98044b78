"""Errors of disk, memory and processes have sentences that say what to do."""

import errno
import os
import signal
import subprocess
import sys

import dagster as dg
import duckdb
import pyarrow as pa
import pytest

from setanon_core.errors import SetanonError
from setanon_dagster.engines.process_pool import map_bounded, start_processes
from setanon_dagster.redaction import redact_errors
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.resource_errors import (
    DISK_FULL,
    MEMORY,
    NOT_WRITABLE,
    WORKER_ENDED,
    resource_sentence,
)

CANARY = "canaryword"


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, DISK_FULL),
        (errno.EDQUOT, DISK_FULL),
        (errno.EFBIG, DISK_FULL),
        (errno.EROFS, NOT_WRITABLE),
        (errno.EACCES, NOT_WRITABLE),
        (errno.ENOENT, None),
    ],
)
def test_errors_of_the_operating_system_and_of_duckdb_have_the_same_sentence(number, sentence):
    text = os.strerror(number)
    assert resource_sentence(OSError(number, text)) == sentence
    assert resource_sentence(duckdb.IOException(f'Could not write "{CANARY}": {text}')) == sentence


def test_a_full_disk_is_recognized_in_an_error_of_arrow_and_of_duckdb():
    with pytest.raises(OSError, match="28") as arrow, pa.OSFile("/dev/full", "wb") as file:
        file.write(b"x" * 100_000)
    assert resource_sentence(arrow.value) == DISK_FULL
    copy = "COPY (SELECT range AS i FROM range(100000)) TO '/dev/full' (FORMAT csv)"
    with duckdb.connect() as connection, pytest.raises(duckdb.Error) as error:
        connection.execute(copy)
    assert resource_sentence(error.value) == DISK_FULL


def test_memory_limits_are_recognized():
    sql = "CREATE TABLE t AS SELECT range AS i FROM range(10000000)"
    with connect("1MB") as connection, pytest.raises(duckdb.OutOfMemoryException) as error:
        connection.execute(sql)
    assert resource_sentence(error.value) == MEMORY
    assert resource_sentence(MemoryError()) == MEMORY


@pytest.mark.parametrize("boundary", [redact_engine_errors, None])
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, CANARY), DISK_FULL),
        (duckdb.IOException(f"{CANARY}: Read-only file system"), NOT_WRITABLE),
        (duckdb.OutOfMemoryException(CANARY), MEMORY),
    ],
)
def test_boundaries_replace_the_message(boundary, error, sentence):
    context = redact_errors() if boundary is None else boundary(CANARY)
    with pytest.raises((SetanonError, dg.Failure)) as caught, context:
        raise error
    message = caught.value.description if boundary is None else str(caught.value)
    assert message == sentence
    assert CANARY not in message


def test_other_errors_of_files_are_unchanged():
    missing = FileNotFoundError(errno.ENOENT, "missing")
    with pytest.raises(FileNotFoundError), redact_engine_errors("t"):
        raise missing


@pytest.mark.slow
def test_a_killed_worker_process_has_a_sentence():
    with start_processes(1) as pool, pytest.raises(Exception) as caught:  # noqa: PT011
        list(map_bounded(pool, signal.raise_signal, [signal.SIGKILL], 1))
    assert resource_sentence(caught.value) == WORKER_ENDED


ORPHANS = """
import os, signal, sys
from setanon_dagster.engines.process_pool import start_processes

if __name__ == "__main__":
    pool = start_processes(1)
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_worker_processes_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # The worker has inherited the pipe of the output: `run` returns when the worker has ended.
    result = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert result.returncode == -signal.SIGKILL
    assert int(result.stdout) > 0
