"""Dagster runs that bypass or fail the checks: a release that is not k-anonymous is not published.

One run per way to bypass a check; what the gate refuses is tested in test_publish without Dagster.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (  # noqa: E402 - after the skip
    STAGES,
    K,
    latest_release,
    materialize,
    modify_stage,
    public_files,
    release_config,
    releases_folder,
    run_job,
    run_release,
    stored_path,
)

from setanon_core.errors import SetanonError  # noqa: E402
from setanon_dagster import assets  # noqa: E402
from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.gate.publish import publish  # noqa: E402
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles  # noqa: E402

ANONYMIZED = dg.AssetKey(["trial", "anonymized_threads"])


def one_user_fewer(table):
    """Replace the set of one of its k threads by another set, which k users share."""
    queries = table["query"].to_pylist()
    queries[queries.index("copper kettle")] = "pine straw"
    return table.set_column(table.column_names.index("query"), "query", [queries])


def threads_per_set(table):
    return Counter(map(frozenset, (text.split() for text in table["query"].to_pylist())))


@pytest.fixture
def bad_stage(release_copy):
    """Config with stored threads that are not k-anonymous; asserts that nothing is published."""
    modify_stage(release_copy, "anonymized_threads", one_user_fewer)
    before, link = public_files(release_copy), latest_release(release_copy)
    assert link
    yield release_copy
    assert latest_release(release_copy) == link
    assert public_files(release_copy) == before
    assert {path.name for path in releases_folder(release_copy).iterdir()} == {link, "latest"}


@pytest.fixture
def bad_anonymizer(monkeypatch):
    """An anonymizer that publishes a set of k - 1 users."""
    original = assets.anonymize_clusters

    def anonymize(clusters, params, *_):
        result = original(clusters, params)
        threads = one_user_fewer(result.threads.read_all())
        assert min(threads_per_set(threads).values()) == K - 1
        return replace(result, threads=threads.to_reader())

    monkeypatch.setattr(assets, "anonymize_clusters", anonymize)


def refused(result):
    """Whether the release asset itself refused."""
    return not result.success and any("must be k-anonymous" in text for text in result.failures)


@pytest.mark.usefixtures("bad_anonymizer")
def test_failed_check_stops_the_release_of_the_same_run(bad_stage):
    result = run_release(bad_stage)
    assert not result.success
    assert not result.checks["every_set_has_k_users"]
    assert "release" not in result.metadata
    assert not any("must be k-anonymous" in text for text in result.failures), (
        "the gate was not reached"
    )


def test_release_alone_in_a_later_run_is_refused(bad_stage):
    result = materialize(bad_stage, "release")
    assert refused(result)
    assert "1 sets have fewer users, with 2 threads" in result.failures[0]


@pytest.mark.usefixtures("bad_anonymizer")
def test_job_without_checks_is_refused_and_not_retried(bad_stage):
    keys = [dg.AssetKey(["trial", stage]) for stage in STAGES]
    defs = dg.Definitions.merge(
        build_setanon_definitions(bad_stage),
        dg.Definitions(
            jobs=[
                dg.define_asset_job(
                    "bare",
                    dg.AssetSelection.assets(*keys).without_checks(),
                    op_retry_policy=dg.RetryPolicy(max_retries=3),
                )
            ]
        ),
    )
    result = run_job(defs.resolve_job_def("bare"))
    assert refused(result)
    assert not result.checks
    assert result.retries == 0


def test_run_that_skips_the_middle_stages_is_refused(bad_stage):
    assert refused(materialize(bad_stage, "raw_log", "rejected_rows", "release"))


def test_run_with_new_clusters_and_old_threads_is_refused(bad_stage):
    assert refused(materialize(bad_stage, "clusters", "release"))


@dg.asset_check(asset=ANONYMIZED, blocking=True)
def warns(anonymized_threads: Path) -> dg.AssetCheckResult:  # noqa: ARG001 - the asset's name
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec("silent", asset=ANONYMIZED, blocking=True)], can_subset=True
)
def yields_nothing():
    yield from ()


@dg.asset_check(asset=ANONYMIZED, blocking=True)
def raises() -> dg.AssetCheckResult:
    raise RuntimeError


@pytest.mark.slow
@pytest.mark.usefixtures("bad_anonymizer")
@pytest.mark.parametrize("check", [warns, yields_nothing], ids=["warns", "yields nothing"])
def test_check_that_does_not_block_does_not_weaken_the_gate(bad_stage, check):
    assert refused(materialize(bad_stage, also=[check]))


@pytest.mark.slow
@pytest.mark.usefixtures("bad_anonymizer")
def test_check_that_raises_blocks_the_release(bad_stage):
    result = materialize(bad_stage, also=[raises])
    assert not result.success
    assert "release" not in result.metadata


def without_words(table):
    column = table.column_names.index("words")
    return table.set_column(column, "words", pa.array([[]] * len(table), table["words"].type))


def with_users(table, users):
    return table.set_column(table.column_names.index("user"), "user", [users])


FAULTS = {
    "one user for all": ("ledger", lambda table: with_users(table, ["ann"] * len(table))),
    "an invented user per thread": (
        "ledger",
        lambda table: with_users(table, [f"ann{n}" for n in range(len(table))]),
    ),
    "an empty ledger": ("ledger", lambda table: table.slice(0, 0)),
    "no user column": ("ledger", lambda table: table.drop_columns("user")),
    "keywords that no user typed": ("clusters", without_words),
    "no clusters": ("clusters", lambda table: table.slice(0, 0)),
    "the number of the group as thread": (
        "anonymized_threads",
        lambda table: table.set_column(0, "thread", table["group"]),
    ),
    "cost of another k": ("cost_report", lambda t: t.set_column(0, "k", [[2] * len(t)])),
}


def publish_stored(config):
    """Publish the stored stages without Dagster."""
    stages = [stage for stage in STAGES if stage != "release"]
    spec = ReleaseSpec(
        name=config.name, k=config.k, format=config.format, parameters={"method": config.method}
    )
    files = StageFiles(**{stage: stored_path(config, stage) for stage in stages})
    return publish(files, spec, config.folder)


@pytest.mark.parametrize(("stage", "change"), FAULTS.values(), ids=FAULTS.keys())
def test_faulty_stage_is_not_published(release_copy, stage, change):
    before = public_files(release_copy)
    modify_stage(release_copy, stage, change)
    with pytest.raises(SetanonError):
        publish_stored(release_copy)
    assert public_files(release_copy) == before


@pytest.mark.parametrize("stage", sorted({*STAGES} - {"release", "rejected_rows"}))
@pytest.mark.parametrize("fault", ["missing", "truncated"])
def test_missing_or_truncated_stage_is_not_published(release_copy, stage, fault):
    before = public_files(release_copy)
    path = stored_path(release_copy, stage)
    if fault == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises((SetanonError, OSError)):
        publish_stored(release_copy)
    assert public_files(release_copy) == before


def test_run_with_a_truncated_stage_fails_without_retries(release_copy):
    before = public_files(release_copy)
    path = stored_path(release_copy, "ledger")
    path.write_bytes(path.read_bytes()[:100])
    result = materialize(release_copy, "release")
    assert (result.success, result.retries) == (False, 0)
    assert public_files(release_copy) == before


def test_as_typed_spellings_that_are_not_k_anonymous_are_refused(tmp_path):
    # One item by its Min-Hashes, with three spellings.
    words = ("strawberries", "strawberris", "strawberriess")
    rows = [
        (user, "2006-03-01 08:00:00", f"{word} pie")
        for user, word in zip(("ann", "bob", "cem"), words, strict=True)
    ]
    as_typed = {"identity": "minhash", "spelling": "as_typed", "format": "edited"}
    config = release_config(tmp_path, rows, min_owners=0, **as_typed)
    result = materialize(config)
    assert result.metadata["anonymized_threads"]["setanon/threads"] == len(rows), "all in one group"
    assert refused(result)
    assert latest_release(config) is None


def requested(config, instance, cursor=None):
    """Number of releases that automation requests, and its next cursor."""
    defs = build_setanon_definitions(config)
    result = dg.evaluate_automation_conditions(defs, instance, cursor=cursor)
    return result.get_num_requested(dg.AssetKey(["trial", "release"])), result.cursor


def without_release(config, instance):
    """Run all stages and checks except the release."""
    keys = [dg.AssetKey(["trial", stage]) for stage in STAGES[:-1]]
    job = dg.define_asset_job("before", dg.AssetSelection.assets(*keys))
    defs = dg.Definitions.merge(build_setanon_definitions(config), dg.Definitions(jobs=[job]))
    return run_job(defs.resolve_job_def("before"), instance=instance)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # of evaluate_automation_conditions
def test_automation_requests_a_release_after_all_checks_passed(tmp_path):
    config = release_config(tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        none, cursor = requested(config, instance)
        assert without_release(config, instance).success
        assert (none, requested(config, instance, cursor)[0]) == (0, 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
@pytest.mark.usefixtures("bad_anonymizer")
def test_automation_requests_no_release_after_a_failed_check(tmp_path):
    config = release_config(tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        _, cursor = requested(config, instance)
        assert not without_release(config, instance).success
        assert requested(config, instance, cursor)[0] == 0


def failing_read(monkeypatch, *errors):
    """Reading the source raises these errors, then succeeds."""
    pending = list(errors)
    original = assets.read_source

    def read(*args, **kwargs):
        if pending:
            raise pending.pop(0)
        return original(*args, **kwargs)

    monkeypatch.setattr(assets, "read_source", read)
    monkeypatch.setattr(assets, "READ_RETRIES", dg.RetryPolicy(max_retries=2))


def test_reading_is_retried_after_an_oserror(tmp_path, monkeypatch):
    failing_read(monkeypatch, OSError("out of reach"), TimeoutError())
    result = materialize(release_config(tmp_path), "raw_log", "rejected_rows")
    assert (result.success, result.retries) == (True, 2)


def test_source_that_cannot_be_opened_once_is_retried(tmp_path, monkeypatch):
    config = release_config(tmp_path)
    monkeypatch.setattr(assets, "READ_RETRIES", dg.RetryPolicy(max_retries=2))
    original, refused_paths = Path.open, []

    def open_on_second_try(path, *args, **kwargs):
        if path.name == "log.tsv" and not refused_paths:
            refused_paths.append(path)
            raise PermissionError
        return original(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_on_second_try)
    result = materialize(config, "raw_log", "rejected_rows")
    assert (result.success, result.retries) == (True, 1)


def test_source_without_usable_rows_is_not_retried(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "READ_RETRIES", dg.RetryPolicy(max_retries=2))
    result = materialize(
        release_config(tmp_path, [("ann", "never", "straw")]), "raw_log", "rejected_rows"
    )
    assert (result.success, result.retries) == (False, 0)
    assert "must have a usable row" in result.failures[0]


def test_good_release_is_published_again_under_the_same_name(release_copy):
    before, link = public_files(release_copy), latest_release(release_copy)
    assert materialize(release_copy, "release").success
    assert (public_files(release_copy), latest_release(release_copy)) == (before, link)
