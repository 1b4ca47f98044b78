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
def _bench_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.stem)
def test_every_module_can_be_imported(path):
    import_module(path.stem)


def test_the_smallest_size_is_measured_end_to_end(tmp_path):
    from measure import run

    out, parts = tmp_path / "out", ("release", "methods", "optima")
    command = [sys.executable, BENCH / "run.py", "--sizes", SIZE, "--paper-log", SIZE]
    command += ["--instances", 6, "--out", out, "--parts", *parts]
    result = run(list(map(str, command)), timeout=300)

    assert result.failure == ""
    sections = json.loads((out / "benchmarks.json").read_text("utf-8"))["sections"]
    assert not [name for name in sections if name.startswith("Failed")]
    (row,) = sections["End to end"]
    assert "failed" not in row or row["failed"] == ""
    assert (row["queries"], row["violations"]) == (SIZE, 0)
    assert row["seconds"] > row["without checks"] > row["DuckDB s"] > 0
    assert row["peak MB"] > row["DuckDB peak MB"] > 0
    stages = {stage["stage"] for stage in sections["Stage by stage"]}
    assert {"threads", "threads: checks", "release"} <= stages
    assert all(row["verified"] for row in sections["Grouping methods: demo log"])
    verification = sections["Verification compared with DuckDB"]
    assert not [row for row in verification if "failed" in row]
    assert [row["part"] for row in sections["Duration of each part"]] == list(parts)
    assert "## End to end\n" in (out / "benchmarks.md").read_text("utf-8")
    assert (out / "retained.svg").stat().st_size > 0


def test_a_failed_size_is_a_row_and_the_next_size_is_measured(tmp_path, monkeypatch):
    import release_growth
    from measure import Run

    refused = Run(code=1, lines=[(0.1, "raw_log   0.1 s  3 lines"), (0.2, "Error: refused.")])
    stages = list(release_growth.stage_rows(refused))
    measured = release_growth.MeasuredRelease(refused, stages, {}, tmp_path)
    monkeypatch.setattr(release_growth, "release", lambda *_: measured)
    settings = release_growth.ReleaseSettings(tmp_path, workers=1)
    tables = dict(release_growth.measure_growth([-1, 40, 50], settings))

    assert [row["failed"] for row in tables["End to end"]] == [
        "InvalidParameterError",
        *["exit code 1: Error: refused."] * 2,
    ]
    assert [row["stage"] for row in tables["Stage by stage"]] == ["raw_log"] * 2


def test_a_command_is_killed_after_its_timeout():
    from measure import run

    assert run([sys.executable, "-c", "import time; time.sleep(60)"], 0.5).failure.startswith(
        "ended by SIGKILL"
    )


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_memory_and_time_of_child_processes_are_included():
    from measure import run

    busy = "import subprocess, sys; sum(range(3_000_000)); " + PARENT
    result = run([sys.executable, "-c", busy])

    assert 80 < result.peak < 200
    assert result.cpu > 0
    assert result.between(0, result.wall) == (pytest.approx(result.cpu, abs=0.2), result.peak)


@pytest.mark.parametrize("name", ["script_lsh_index", "script_hash_keys"])
def test_baseline_scripts_publish_sets_of_k_users(name):
    from setanon_core import verify

    script = import_module(name)
    assert script.threads_of(["pine straw", "caffeine", "pine straw mulch", "pine straw"]) == [
        {"pine", "straw", "mulch"},
        {"caffeine"},
    ]
    threads = [{"a", "b"}, {"a", "b"}, {"a", "b", "rare"}, {"c"}, {"c"}, {"a", "b"}]
    users = ["1", "2", "3", "4", "4", "1"]
    published = script.anonymize(threads, users, 3)

    assert published == [{"a", "b"}] * 3 + [None, None] + [{"a", "b"}]
    assert verify(published, 3, users=users).ok


def test_each_thread_is_in_one_cluster_with_its_unassigned_neighbours():
    from script_lsh_index import clusters_of

    threads = [{"a", "b", "c", "d"}, {"a", "b", "c", "e"}, set(), {"x", "y"}, {"a", "b", "c", "d"}]

    assert list(clusters_of(threads)) == [[0, 1, 4], [3]]


def test_releases_and_baseline_scripts_are_verified(tmp_path):
    import baseline_scripts
    import release_growth

    best, _, paper, _, lsh_index, hash_keys = baseline_scripts.compare(
        SIZE, release_growth.ReleaseSettings(tmp_path, workers=1)
    )

    assert [row["verified"] for row in (best, paper, lsh_index, hash_keys)] == [True] * 4
    assert lsh_index["threads"] == hash_keys["threads"] >= best["threads"] > 0
    assert "speedup over the LSH script" in best
    assert "speedup over the hash key script" in paper


def test_baseline_grouping_methods_withdraw_sets_of_too_few_users():
    from grouping_methods import chunks, duplicates

    from setanon_core import Records
    from setanon_core.model.groups import WITHDRAWN

    records = Records.from_sets([["a"]] * 4 + [["b"]] * 2, ["1", "2", "2", "2", "3", "4"])

    assert (duplicates(records, 3) == WITHDRAWN).all()
    assert len(np.unique(duplicates(records, 2))) == 2
    assert (chunks(records, 5) == WITHDRAWN).all()
    assert len(np.unique(chunks(records, 3))) == 1


def test_pasted_tables_replace_sections_of_the_same_name(tmp_path):
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


def test_the_format_of_data_files_is_detected(tmp_path):
    from data_files import read

    log, baskets = tmp_path / "a.log", tmp_path / "b.csv"
    log.write_text("u1\t970916\tpine straw\nu1\t970917\t\nu2\t970918\ttea\n", encoding="utf-8")
    baskets.write_text("milk,whole bread\ntea\n", encoding="utf-8")

    assert [(len(records), records.n_users, k) for records, k in map(read, (log, baskets))] == [
        (2, 2, 3),
        (2, 2, 5),
    ]
    assert read(baskets)[0].vocabulary == ("milk", "tea", "whole bread")
