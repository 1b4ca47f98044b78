import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[1] / "bench"
SIZE = 2_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BENCH.is_dir(), reason="needs the benchmarks"),
]

CHILD = "b = bytearray(80 << 20); import time; time.sleep(1)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}], check=True)"


@pytest.fixture(autouse=True)
def of_the_bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def test_the_smallest_size_is_measured_from_end_to_end(tmp_path):
    from measure import run

    out, parts = tmp_path / "out", ("release", "ways", "optima")
    command = [sys.executable, BENCH / "run.py", "--sizes", SIZE, "--paper-log", SIZE]
    command += ["--instances", 6, "--out", out, "--parts", *parts]
    done = run(list(map(str, command)), timeout=300)

    assert done.failure == ""
    sections = json.loads((out / "benchmarks.json").read_text("utf-8"))["sections"]
    assert not [name for name in sections if name.startswith("Failed")]
    (whole,) = sections["From end to end"]
    assert "failed" not in whole or whole["failed"] == ""
    assert (whole["queries"], whole["violations"]) == (SIZE, 0)
    assert whole["seconds"] > whole["without checks"] > whole["DuckDB s"] > 0
    assert whole["peak MB"] > whole["DuckDB peak MB"] > 0
    assert {"threads", "release"} <= {row["stage"] for row in sections["Stage by stage"]}
    assert all(row["verified"] for row in sections["Ways: demo log"])
    assert [row["part"] for row in sections["How long it took"]] == list(parts)
    assert "## From end to end\n" in (out / "benchmarks.md").read_text("utf-8")
    assert (out / "retained.svg").stat().st_size > 0


def test_a_size_that_fails_is_a_row_and_the_next_one_is_measured(tmp_path, monkeypatch):
    import scale
    from measure import Run

    refused = Run(code=1, lines=[(0.1, "raw_log   0.1 s  3 lines"), (0.2, "Error: refused.")])
    monkeypatch.setattr(
        scale,
        "release",
        lambda *_: scale.Released(refused, list(scale.stages(refused)), {}, tmp_path),
    )
    asked = scale.Asked(tmp_path, workers=1)
    tables = dict(scale.grow([-1, 40, 50], asked))

    assert [row["failed"] for row in tables["From end to end"]] == [
        "InvalidParameterError",
        *["exit code 1: Error: refused."] * 2,
    ]
    assert [row["stage"] for row in tables["Stage by stage"]] == ["raw_log"] * 2


def test_a_command_that_takes_too_long_has_failed():
    from measure import run

    assert run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5).failure.startswith(
        "ended by SIGKILL"
    )


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_the_memory_and_time_of_children_count():
    from measure import run

    busy = "import subprocess, sys; sum(range(3_000_000)); " + PARENT
    done = run([sys.executable, "-c", busy])

    assert 80 < done.peak < 200
    assert done.cpu > 0
    assert done.between(0, done.wall) == (pytest.approx(done.cpu, abs=0.2), done.peak)


@pytest.mark.parametrize("script", ["naive", "dictionary"])
def test_what_one_would_write_promises_what_a_release_promises(script):
    from setanon_core import verify

    way = import_module(script)
    assert way.threads_of(["pine straw", "caffeine", "pine straw mulch", "pine straw"]) == [
        {"pine", "straw", "mulch"},
        {"caffeine"},
    ]
    threads = [{"a", "b"}, {"a", "b"}, {"a", "b", "rare"}, {"c"}, {"c"}, {"a", "b"}]
    users = ["1", "2", "3", "4", "4", "1"]
    published = way.anonymized(threads, users, 3)

    assert published == [{"a", "b"}] * 3 + [None, None] + [{"a", "b"}]
    assert verify(published, 3, users=users).ok


def test_each_thread_is_in_one_cluster_with_neighbours_that_were_left():
    from naive import clusters_of

    near = [{"a", "b", "c", "d"}, {"a", "b", "c", "e"}, set(), {"x", "y"}, {"a", "b", "c", "d"}]

    assert list(clusters_of(near)) == [[0, 1, 4], [3]]


def test_a_log_is_published_in_all_ways_and_verified_by_one(tmp_path):
    import instead
    import scale

    ours, _, alike, _, script, other = instead.compare(SIZE, scale.Asked(tmp_path, workers=1))

    assert [row["verified"] for row in (ours, alike, script, other)] == [True] * 4
    assert script["threads"] == other["threads"] >= ours["threads"] > 0
    assert "times as fast as the script" in ours
    assert "as that with a dictionary" in alike


def test_every_way_of_the_bench_withdraws_what_too_few_users_hold():
    from methods import chunks, duplicates

    from setanon_core import Records
    from setanon_core.model.groups import WITHDRAWN

    same = Records.from_sets([["a"]] * 4 + [["b"]] * 2, ["1", "2", "2", "2", "3", "4"])

    assert (duplicates(same, 3) == WITHDRAWN).all()
    assert len(np.unique(duplicates(same, 2))) == 2
    assert (chunks(same, 5) == WITHDRAWN).all()
    assert len(np.unique(chunks(same, 3))) == 1


def test_a_table_takes_the_place_of_the_one_of_its_name(tmp_path):
    from report import Report

    document = tmp_path / "benchmarks.md"
    document.write_text("# B\n\nText.\n\n## One\n\nold\n\n## Two\n\nkept\n", encoding="utf-8")
    report = Report(tmp_path / "out", {})
    report.add("One", [{"a": 1_000, "b": ""}])
    report.add("Three", [{"c": True}])
    report.paste(document)

    assert document.read_text(encoding="utf-8") == (
        "# B\n\nText.\n\n## One\n\n| a |\n|---|\n| 1,000 |\n\n## Two\n\nkept\n\n"
        "## Three\n\n| c |\n|---|\n| True |\n"
    )


def test_a_log_and_baskets_are_told_apart(tmp_path):
    from files import read

    log, baskets = tmp_path / "a.log", tmp_path / "b.csv"
    log.write_text("u1\t970916\tpine straw\nu1\t970917\t\nu2\t970918\ttea\n", encoding="utf-8")
    baskets.write_text("milk,whole bread\ntea\n", encoding="utf-8")

    assert [(len(records), records.n_users, k) for records, k in map(read, (log, baskets))] == [
        (2, 2, 3),
        (2, 2, 5),
    ]
    assert read(baskets)[0].vocabulary == ("milk", "tea", "whole bread")
