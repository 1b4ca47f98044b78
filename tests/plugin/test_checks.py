"""Asset checks in Dagster runs: results, blocking, metadata, Data Docs; no data in any event.

What makes a single check fail is tested without Dagster, in test_validation and test_stage_counts.
"""

import subprocess
import sys
from pathlib import Path

import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.stage_files import CANARIES, GOOD, STAGES, K, write_stages  # noqa: E402

from setanon_dagster.checks import (  # noqa: E402 - after the skip
    CLUSTER_CHECKS,
    LINE_CHECKS,
    THREAD_CHECKS,
    build_checks,
    line_outcomes,
)
from setanon_dagster.metadata_keys import LINES, OUTSIDE  # noqa: E402
from setanon_dagster.quality import validation  # noqa: E402
from setanon_dagster.quality.promises import promised_checks  # noqa: E402

PROMISES = promised_checks("queries")

READ = {LINES: 12, OUTSIDE: 7}
"""Metadata of the stage files: 12 lines were read, 7 of them are outside the partition."""

KEYS = {stage: dg.AssetKey(["trial", stage]) for stage in STAGES}


class StageFilePaths(dg.IOManager):
    """Loads the paths of given files."""

    def __init__(self, files):
        self.files = files

    def handle_output(self, context, obj):
        pass

    def load_input(self, context):
        assert context.dagster_type.typing_type is Path
        return self.files[context.asset_key.path[-1]]


def run(files, line_metadata=None, partition=None, **parameters):
    """Return whether the release was made, the check results, and all events as text."""

    days = dg.DailyPartitionsDefinition("2006-03-01") if partition else None

    @dg.multi_asset(
        outs={s: dg.AssetOut(key=KEYS[s], dagster_type=dg.Any) for s in STAGES[:2]},
        partitions_def=days,
    )
    def read():
        yield dg.Output(None, "raw_log", metadata=line_metadata or {})
        yield dg.Output(None, "rejected_rows")

    @dg.asset(key=KEYS["threads"], deps=[KEYS["raw_log"]], partitions_def=days)
    def threads():
        pass

    @dg.asset(key=KEYS["clusters"], deps=[KEYS["threads"]], partitions_def=days)
    def clusters():
        pass

    @dg.multi_asset(
        outs={s: dg.AssetOut(key=KEYS[s], dagster_type=dg.Any) for s in STAGES[4:]},
        deps=[KEYS["clusters"]],
        partitions_def=days,
    )
    def anonymized():
        yield from (dg.Output(None, stage) for stage in STAGES[4:])

    @dg.asset(deps=[KEYS["anonymized_threads"]], partitions_def=days)
    def release():
        pass

    checks = build_checks(KEYS, k=K, partitions_def=days, **parameters)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [read, threads, clusters, anonymized, release, *checks],
            instance=instance,
            resources={"io_manager": StageFilePaths(files)},
            raise_on_error=False,
            partition_key=partition,
        )
        events = instance.all_logs(result.run_id)
    released = any(
        event.asset_key == dg.AssetKey("release")
        for event in result.get_asset_materialization_events()
    )
    results = {check.check_name: check for check in result.get_asset_check_evaluations()}
    return released, results, "\n".join(map(str, events)) + str(results)


def failed(results):
    return {name for name, result in results.items() if not result.passed}


def counts(result):
    return {name: value.value for name, value in result.metadata.items()}


def test_good_stages_pass_all_checks_and_the_release_is_made(tmp_path):
    released, results, _ = run(write_stages(tmp_path), READ, docs=tmp_path / "docs")
    assert released
    assert counts(results["every_line_is_accounted_for"])["outside"] == 7
    assert set(results) == {*PROMISES, *LINE_CHECKS, *THREAD_CHECKS, *CLUSTER_CHECKS}
    assert not failed(results)
    assert all(result.severity is dg.AssetCheckSeverity.ERROR for result in results.values())
    sets = counts(results["every_set_has_k_users"])
    assert (sets["sets"], sets["threads"], sets["fewest_users"]) == (1, 3, 3)
    edits = counts(results["edits_match_the_cost_report"])
    assert (edits["additions"], edits["deletions"], edits["withdrawals"]) == (0, 2, 1)
    assert (tmp_path / "docs" / "all" / "index.html").is_file()


def test_broken_promises_block_the_release_and_show_no_data(tmp_path):
    # A readable id, a column with the time, and a set of two users.
    files = write_stages(
        tmp_path,
        anonymized_threads=GOOD["anonymized_threads"]
        .replace("md5(line::VARCHAR)", "'canaryuser' || line")
        .replace("SELECT", "SELECT time AS canarycolumn,"),
        ledger=GOOD["ledger"]
        .replace("md5(line::VARCHAR)", "'canaryuser' || line")
        .replace(", user", ", replace(user, '3', '2') AS user"),
    )
    released, results, events = run(files, docs=tmp_path / "docs")
    assert not released
    broken = {
        "every_list_has_k_users",
        "every_set_has_k_users",
        "threads_are_unique",
        "no_user_or_time_column",
    }
    assert failed(results) == broken
    assert all(counts(results[name])["violations"] for name in broken)
    pages = [page.read_text() for page in (tmp_path / "docs").rglob("*.html")]
    assert pages
    for canary in CANARIES:
        assert canary not in events
        assert not any(canary in page for page in pages)


def test_broken_stage_blocks_the_release_and_shows_no_data(tmp_path):
    files = write_stages(tmp_path, threads=GOOD["threads"].replace("line - 1", "0"))
    released, results, events = run(files)
    assert not released
    assert "no_thread_mixes_users" in failed(results)
    assert not any(canary in events for canary in CANARIES)


def test_lines_are_compared_with_the_metadata_of_the_partition(tmp_path):
    docs = tmp_path / "docs"
    released, results, _ = run(write_stages(tmp_path), READ, "2006-03-02", docs=docs)
    assert (released, failed(results)) == (True, set())
    assert counts(results["every_line_is_accounted_for"])["outside"] == 7
    assert (docs / "2006-03-02" / "index.html").is_file()


@pytest.mark.parametrize(
    ("metadata", "passed"),
    [({}, True), ({"lines": 5}, True), ({"lines": 6}, False), ({"lines": 6, "outside": 1}, True)],
)
def test_line_that_is_neither_accepted_nor_rejected_nor_outside_fails(metadata, passed):
    lines = {"rows": 4, "accepted": 4, "rejected": 1, "doubtful": 0, "empty": 0}
    outcome = line_outcomes(lines, metadata)["every_line_is_accounted_for"]
    assert outcome.passed is passed
    assert metadata.items() <= outcome.counts.items()


def test_checks_fail_if_a_file_cannot_be_read(tmp_path):
    files = write_stages(tmp_path)
    files["ledger"].write_text("canaryuser")
    released, results, events = run(files, docs=tmp_path / "docs")
    assert not released
    assert failed(results) == set(PROMISES)
    assert "ledger could not be read" in results["every_set_has_k_users"].description
    assert "canary" not in events
    assert not (tmp_path / "docs" / "all").exists()
    index = (tmp_path / "docs" / "all~failed" / "index.html").read_text()
    assert "could not be checked (ledger could not be read" in index
    assert counts(results["every_set_has_k_users"])["setanon/data_docs"].endswith(
        "docs/all~failed/index.html"
    )


def test_check_that_raises_fails_without_the_message_of_the_error(tmp_path, monkeypatch):
    def broken(*_):
        raise LookupError("canaryuser")

    monkeypatch.setattr(validation, "_validate", broken)
    released, results, events = run(write_stages(tmp_path))
    assert not released
    assert failed(results) == set(PROMISES)
    assert all("LookupError" in results[name].description for name in PROMISES)
    assert "canary" not in events


def test_importing_the_checks_does_not_import_great_expectations():
    script = (
        "import sys, setanon_dagster.checks as checks, dagster as dg\n"
        f"keys = {{stage: dg.AssetKey(stage) for stage in {STAGES!r}}}\n"
        "checks.build_checks(keys, k=3)\n"
        "assert 'great_expectations' not in sys.modules, 'run python -X importtime to find out'\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - our own script
