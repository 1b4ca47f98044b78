"""A write that fails leaves the old file whole, and nothing of the data anywhere."""

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.storing import (
    CANARY,
    FULL,
    asset_of,
    digest,
    files_in,
    loaded,
    relation_of,
    run,
    stored,
)

from setanon_core.errors import SetanonError
from setanon_dagster.storage.parquet import write_parquet


def failing_reader(error):
    def batches():
        yield pa.record_batch({"word": [CANARY] * 200_000})
        raise error

    return pa.RecordBatchReader.from_batches(pa.schema([("word", pa.string())]), batches())


FAILING = {
    "a cell that cannot be cast": lambda: relation_of(f"SELECT '{CANARY}'::INT AS n"),
    "a reader that breaks off": lambda: failing_reader(ValueError(CANARY)),
    "a reader whose disk fails": lambda: failing_reader(OSError(CANARY)),
    "a frame of two kinds": lambda: pd.DataFrame({"n": pd.Series([CANARY, 1], dtype=object)}),
    "a text that is not unicode": lambda: pd.DataFrame(
        {"n": pd.Series([CANARY + "\ud800"], dtype=object)}
    ),
    "an error in SQL": lambda: relation_of(f"SELECT error('{CANARY}')::INT AS n"),
}


@pytest.mark.parametrize("why", FAILING)
def test_a_failed_write_leaves_the_old_file_whole_and_says_nothing_of_the_data(
    tmp_path, why, capfd
):
    run(tmp_path, asset_of(FULL))
    before = digest(stored(tmp_path))
    instance = dg.DagsterInstance.ephemeral()
    with pytest.raises(SetanonError, match="asset made could not be written") as seen:
        run(tmp_path, asset_of(FAILING[why]), instance=instance)
    assert digest(stored(tmp_path)) == before
    assert files_in(tmp_path) == ["store/made/all.parquet"]
    assert CANARY not in str(seen.value)
    assert CANARY not in str(pickle.loads(pickle.dumps(seen.value)))  # noqa: S301 - our own
    (past,) = instance.get_runs()
    assert all(CANARY not in str(event) for event in instance.all_logs(past.run_id))
    assert CANARY not in "".join(capfd.readouterr())


def test_an_error_of_the_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_parquet(FULL, path)
    before = digest(path)

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_parquet(FULL.slice(0, 1), path)
    assert digest(path) == before
    assert files_in(tmp_path) == ["t.parquet"]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(FULL, tmp_path / "t.parquet")
    assert files_in(tmp_path) == []


def test_what_a_killed_process_leaves_is_no_data(tmp_path):
    code = (
        "import os, sys, pyarrow as pa\n"
        "from pathlib import Path\n"
        "from setanon_dagster.storage.parquet import write_parquet\n"
        "def batches():\n"
        "    for _ in range(20): yield pa.record_batch({'n': list(range(100_000))})\n"
        "    os._exit(9)\n"
        "schema = pa.schema([('n', pa.int64())])\n"
        "write_parquet(pa.RecordBatchReader.from_batches(schema, batches()), Path(sys.argv[1]))\n"
    )
    run(tmp_path, asset_of(FULL))
    killed = subprocess.run([sys.executable, "-c", code, stored(tmp_path)], check=False, timeout=60)  # noqa: S603
    assert killed.returncode == 9
    (left,) = set(files_in(tmp_path)) - {"store/made/all.parquet"}
    assert not list((tmp_path / "store").rglob("*.parquet*"))[1:]
    assert Path(left).name.startswith(".")
    assert stat.S_IMODE((tmp_path / left).stat().st_mode) == 0o600
    assert loaded(tmp_path, pa.Table).num_rows == 3


def test_files_and_folders_are_private_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        run(tmp_path, asset_of(FULL, key_prefix=["team", "log"]))
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes.pop("store/team/log/made/all.parquet") == 0o600
    assert {"store", "store/team/log/made"} <= set(modes)
    assert set(modes.values()) == {0o700}


def test_a_file_for_the_public_gets_its_mode_with_its_name(tmp_path):
    write_parquet(FULL, tmp_path / "t.parquet", mode=0o644)
    assert stat.S_IMODE((tmp_path / "t.parquet").stat().st_mode) == 0o644


def test_other_columns_replace_the_old_ones(tmp_path):
    run(tmp_path, asset_of(FULL))
    run(tmp_path, asset_of(pa.table({"line": ["one"], "extra": [1]})))
    assert parquet.read_table(stored(tmp_path)).to_pydict() == {"line": ["one"], "extra": [1]}
