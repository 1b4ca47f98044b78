"""Runs at once, and runs that are killed: `latest` is always a whole, verified release."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import DAYS, K, asked, latest, make, published, releases, sets_of
from support.trial import SETS as DUE

from setanon_dagster.config import SECRET
from setanon_dagster.verifier.release_file import verify_file

pytestmark = pytest.mark.slow

HERE = str(Path(__file__).parents[1])

AT_ONCE = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.trial import DAYS, asked, make

folder, runs, parts = Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
children = []
for n, part in enumerate(parts):
    # A process for each: forked, so that nothing is imported again.
    children.append(os.fork())
    if children[-1] == 0:
        config = asked(folder, None, **(DAYS if part else {}))
        for _ in range(runs):
            ran = make(config, partition=part or None)
            said = ran.metadata["release"]["setanon/release"] if ran.success else ran.failures[0]
            with (folder / f"said{n}").open("a") as file:
                file.write(said.replace("\\n", " ") + "\\n")
        os._exit(0)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def at_once(folder, parts, runs, **env):
    """What each of several processes says of its runs, a line each."""
    subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-c", AT_ONCE, HERE, folder, str(runs), *parts],
        check=True,
        capture_output=True,
        timeout=120,
        env={**os.environ, **env},
    )
    return [(folder / f"said{n}").read_text().splitlines() for n in range(len(parts))]


def assert_whole(config, name):
    folder = releases(config) / name
    ledger = Path(config.out) / "private" / name / "ledger.parquet"
    assert {path.name for path in folder.iterdir()} == {
        "threads.parquet", "certificate.json", "DATASHEET.md",
    }  # fmt: skip
    assert verify_file(folder / "threads.parquet", K, ledger).ok


def test_two_runs_at_once_with_one_secret_both_succeed(tmp_path):
    config = asked(tmp_path)
    told = at_once(tmp_path, ["", ""], 1, **{SECRET: "made up for this test"})
    names = {name for lines in told for name in lines}
    assert [len(lines) for lines in told] == [1, 1]
    assert names == {latest(config)}, "the same release each time"
    assert_whole(config, latest(config))
    assert sets_of(published(config)) == DUE
    assert {path.name for path in releases(config).iterdir()} == {latest(config), "latest"}


def test_two_runs_at_once_with_ids_of_their_own_publish_whole_releases_or_none(tmp_path):
    config = asked(tmp_path)
    told = at_once(tmp_path, ["", ""], 2)
    names = {line for lines in told for line in lines if line.startswith("trial-")}
    refused = [line for lines in told for line in lines if not line.startswith("trial-")]
    # Who finds the other's threads beside the own ledger publishes nothing.
    assert all("a release must be k-anonymous" in line for line in refused), refused
    assert latest(config) in names
    for name in names:
        assert_whole(config, name)
    assert {path.name for path in releases(config).glob("trial-*")} == names


def test_four_parts_at_once_do_not_meet(tmp_path):
    days = [f"2006-03-{day:02d}" for day in range(1, 5)]
    users = ("ann", "bob", "cem")
    rows = [
        (user, f"{day} 08:00:00", f"pine straw{n}") for n, day in enumerate(days) for user in users
    ]
    config = asked(tmp_path, rows, **DAYS)
    told = at_once(tmp_path, days, 1)
    for day, [name] in zip(days, told, strict=True):
        assert name.startswith(f"trial-{day}-"), name
        assert_whole(config, name)
    assert latest(config) in {name for [name] in told}


KILLED = """
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from setanon_dagster import assets
from support.trial import asked, make

left = 0
def dying(real):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return real(*args, **kwargs)
    return call

def publish(*args, real=assets.publish, **kwargs):
    global left
    left = point
    return real(*args, **kwargs)

for name in ("fsync", "rename", "replace", "symlink", "chmod", "mkdir", "rmdir", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
assets.publish = publish
root = Path(sys.argv[2])
for point in range(1, 200, 15):
    folder = root / "killed" / str(point)
    shutil.copytree(root / "start", folder, symlinks=True)
    child = os.fork()
    if child == 0:
        os._exit(0 if make(asked(folder, None), "release").success else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(point, code, flush=True)
    if code == 0:
        break
"""


def test_latest_is_whole_wherever_the_release_is_killed(stored, tmp_path):
    start = tmp_path / "start"
    start.mkdir()
    for name in ("log.tsv", "out"):
        (tmp_path / name).rename(start / name)
    config = asked(start, None)
    first = latest(config)
    stages = ("raw_log", "rejected_rows", "threads", "clusters")
    assert make(config, *stages, "anonymized_threads", "ledger", "cost_report").success
    shutil.copytree(start, tmp_path / "whole", symlinks=True)
    whole = asked(tmp_path / "whole", None)
    assert make(whole, "release").success
    due = latest(whole)
    told = subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-c", KILLED, HERE, tmp_path], check=True, capture_output=True, text=True
    ).stdout.split("\n")
    codes = dict(map(int, line.split()) for line in told if line)
    assert list(codes.values())[-1] == 0
    assert len(codes) > 4, "points at which it was killed"
    seen = set()
    for point, code in codes.items():
        killed = asked(tmp_path / "killed" / str(point), None)
        seen.add(latest(killed))
        assert_whole(killed, latest(killed))
        assert_whole(killed, first)
        names = {path.name for path in releases(killed).glob("[!.]*")}
        assert names <= {first, due, "latest"}
        assert code in {0, 9}
    assert seen == {first, due}
    assert stored.name == config.name
