"""Concurrent and killed runs: `latest` is always a complete, verified release."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (
    DAYS,
    EXPECTED_SETS,
    K,
    keyword_sets,
    latest_release,
    materialize,
    published_table,
    release_config,
    releases_folder,
)
from support.scripts import run_script
from support.signing import public_keys, write_keys

from setanon_dagster.config import SECRET
from setanon_dagster.gate.signing import SIGNING_KEY
from setanon_dagster.verifier.release_folder import verify_folder
from setanon_dagster.verifier.signature import SIGNATURE

pytestmark = pytest.mark.slow

CONCURRENT_RUNS = """
import gc, os, sys
from pathlib import Path
from support.release_runs import DAYS, materialize, release_config

folder, runs, partitions = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
children = []
gc.freeze()
for n, partition in enumerate(partitions):
    # One forked process each, so that nothing is imported again.
    children.append(os.fork())
    if children[-1] == 0:
        config = release_config(folder, None, **(DAYS if partition else {}))
        for _ in range(runs):
            result = materialize(config, partition=partition or None)
            name = result.metadata.get("release", {}).get("setanon/release")
            line = name if result.success else result.failures[0]
            with (folder / f"results{n}").open("a") as file:
                file.write(line.replace("\\n", " ") + "\\n")
        os._exit(0)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def run_concurrently(folder, partitions, runs, **env):
    """For each process, the release name or error message of each of its runs."""
    run_script(CONCURRENT_RUNS, folder, runs, *partitions, timeout=120, **env)
    return [(folder / f"results{n}").read_text().splitlines() for n in range(len(partitions))]


def assert_complete(config, name, keys=None):
    folder = releases_folder(config) / name
    private = Path(config.out) / "private" / name
    names = {"threads.parquet", "certificate.json", "DATASHEET.md"}
    assert {path.name for path in folder.iterdir()} == names | ({SIGNATURE} if keys else set())
    assert verify_folder(folder, K, private=private, keys=keys).failures == []


def test_concurrent_runs_with_one_secret_publish_the_same_release(tmp_path):
    config = release_config(tmp_path)
    environment = {SECRET: "made up for this test", SIGNING_KEY: str(write_keys(tmp_path)[0])}
    results = run_concurrently(tmp_path, ["", ""], 1, **environment)
    names = {name for lines in results for name in lines}
    assert [len(lines) for lines in results] == [1, 1]
    assert names == {latest_release(config)}, "the same release from both runs"
    assert_complete(config, latest_release(config), public_keys())
    assert keyword_sets(published_table(config)) == EXPECTED_SETS
    assert {path.name for path in releases_folder(config).iterdir()} == {
        latest_release(config),
        "latest",
    }


def test_concurrent_runs_with_random_secrets_publish_complete_releases_or_none(tmp_path):
    config = release_config(tmp_path)
    results = run_concurrently(tmp_path, ["", ""], 2)
    names = {line for lines in results for line in lines if line.startswith("trial-")}
    refused = [line for lines in results for line in lines if not line.startswith("trial-")]
    # A run that reads the other run's threads with its own ledger publishes nothing.
    assert all("a release must be k-anonymous" in line for line in refused), refused
    assert latest_release(config) in names
    for name in names:
        assert_complete(config, name)
    assert {path.name for path in releases_folder(config).glob("trial-*")} == names


def test_concurrent_partitions_are_independent(tmp_path):
    days = [f"2006-03-{day:02d}" for day in range(1, 5)]
    users = ("ann", "bob", "cem")
    rows = [
        (user, f"{day} 08:00:00", f"pine straw{n}") for n, day in enumerate(days) for user in users
    ]
    config = release_config(tmp_path, rows, **DAYS)
    results = run_concurrently(tmp_path, days, 1)
    for day, [name] in zip(days, results, strict=True):
        assert name.startswith(f"trial-{day}-"), name
        assert_complete(config, name)
    assert latest_release(config) in {name for [name] in results}


KILLED = """
import shutil, sys
from pathlib import Path
from setanon_dagster import assets
from support.killed_calls import count_changes, exit_at_change, exit_code_of
from support.release_runs import materialize, release_config

def publish(*args, real=assets.publish, **kwargs):
    exit_at_change(point)
    return real(*args, **kwargs)

count_changes()
assets.publish = publish
root = Path(sys.argv[1])
for point in range(1, 200, 15):
    folder = root / "killed" / str(point)
    shutil.copytree(root / "start", folder, symlinks=True)

    def release():
        assert materialize(release_config(folder, None), "release").success

    code = exit_code_of(release)
    print(point, code, flush=True)
    if code == 0:
        break
"""


@pytest.mark.usefixtures("release_copy")
def test_killed_publish_leaves_latest_complete(tmp_path):
    start = tmp_path / "start"
    start.mkdir()
    for name in ("log.tsv", "out"):
        (tmp_path / name).rename(start / name)
    config = release_config(start, None)
    first = latest_release(config)
    stages = ("raw_log", "rejected_rows", "threads", "clusters")
    assert materialize(config, *stages, "anonymized_threads", "ledger", "cost_report").success
    shutil.copytree(start, tmp_path / "complete", symlinks=True)
    complete = release_config(tmp_path / "complete", None)
    assert materialize(complete, "release").success
    second = latest_release(complete)
    codes = dict(map(int, line.split()) for line in run_script(KILLED, tmp_path))
    assert list(codes.values())[-1] == 0
    assert len(codes) > 4, "number of calls at which it was killed"
    latest_names = set()
    for point, code in codes.items():
        killed = release_config(tmp_path / "killed" / str(point), None)
        latest_names.add(latest_release(killed))
        assert_complete(killed, latest_release(killed))
        assert_complete(killed, first)
        names = {path.name for path in releases_folder(killed).glob("[!.]*")}
        assert names <= {first, second, "latest"}
        assert code in {0, 9}
    assert latest_names == {first, second}
