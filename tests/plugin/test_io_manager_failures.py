"""IO manager: a failed write keeps the old file and reveals no data."""

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
from support.stored_assets import (
    CANARY,
    FULL,
    asset_of,
    digest,
    files_in,
    loaded,
    relation_of,
    run,
    stored_path,
)

from setanon_core.errors import SetanonError
from setanon_dagster.storage.parquet import write_parquet


def failing_reader(error):
    def batches():
        yield pa.record_batch({"word": [CANARY] * 200_000})
        raise error

    return pa.RecordBatchReader.from_batches(pa.schema([("word", pa.string())]), batches())


FAILING = {
    "cast error": lambda: relation_of(f"SELECT '{CANARY}'::INT AS n"),
    "reader that fails": lambda: failing_reader(ValueError(CANARY)),
    "reader with a disk error": lambda: failing_reader(OSError(CANARY)),
    "frame with mixed types": lambda: pd.DataFrame({"n": pd.Series([CANARY, 1], dtype=object)}),
    "invalid Unicode": lambda: pd.DataFrame({"n": pd.Series([CANARY + "\ud800"], dtype=object)}),
    "SQL error": lambda: relation_of(f"SELECT error('{CANARY}')::INT AS n"),
}


@pytest.mark.parametrize("cause", FAILING)
def test_failed_write_keeps_the_old_file_and_reveals_no_data(tmp_path, cause, capfd):
    run(tmp_path, asset_of(FULL))
    before = digest(stored_path(tmp_path))
    instance = dg.DagsterInstance.ephemeral()
    with pytest.raises(SetanonError, match="asset table_asset could not be written") as raised:
        run(tmp_path, asset_of(FAILING[cause]), instance=instance)
    assert digest(stored_path(tmp_path)) == before
    assert files_in(tmp_path) == ["store/table_asset/all.parquet"]
    assert CANARY not in str(raised.value)
    assert CANARY not in str(pickle.loads(pickle.dumps(raised.value)))  # noqa: S301 - our own error
    (failed_run,) = instance.get_runs()
    assert all(CANARY not in str(event) for event in instance.all_logs(failed_run.run_id))
    assert CANARY not in "".join(capfd.readouterr())


def test_disk_error_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_parquet(FULL, path)
    before = digest(path)

    def disk_full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", disk_full)
        with pytest.raises(SetanonError, match=r"it is full.* Free space"):
            write_parquet(FULL.slice(0, 1), path)
    assert digest(path) == before
    assert files_in(tmp_path) == ["t.parquet"]


def test_interrupted_write_leaves_no_file(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(FULL, tmp_path / "t.parquet")
    assert files_in(tmp_path) == []


def test_killed_write_leaves_only_a_hidden_private_file(tmp_path):
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
    killed = subprocess.run(  # noqa: S603 - the code above
        [sys.executable, "-c", code, stored_path(tmp_path)], check=False, timeout=60
    )
    assert killed.returncode == 9
    (remaining,) = set(files_in(tmp_path)) - {"store/table_asset/all.parquet"}
    assert not list((tmp_path / "store").rglob("*.parquet*"))[1:]
    assert Path(remaining).name.startswith(".")
    assert stat.S_IMODE((tmp_path / remaining).stat().st_mode) == 0o600
    assert loaded(tmp_path, pa.Table).num_rows == 3


def test_files_and_folders_are_private_regardless_of_the_umask(tmp_path):
    old = os.umask(0)
    try:
        run(tmp_path, asset_of(FULL, key_prefix=["team", "log"]))
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes.pop("store/team/log/table_asset/all.parquet") == 0o600
    assert {"store", "store/team/log/table_asset"} <= set(modes)
    assert set(modes.values()) == {0o700}


def test_public_file_has_its_mode(tmp_path):
    write_parquet(FULL, tmp_path / "t.parquet", mode=0o644)
    assert stat.S_IMODE((tmp_path / "t.parquet").stat().st_mode) == 0o644


def test_new_columns_replace_the_old_ones(tmp_path):
    run(tmp_path, asset_of(FULL))
    run(tmp_path, asset_of(pa.table({"line": ["one"], "extra": [1]})))
    assert parquet.read_table(stored_path(tmp_path)).to_pydict() == {"line": ["one"], "extra": [1]}
