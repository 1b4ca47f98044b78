"""Jobs, schedule and sensor: initially off; verification publishes nothing."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (  # noqa: E402 - after the skip
    DAYS,
    K,
    collect_result,
    latest_release,
    materialize,
    public_files,
    release_config,
    releases_folder,
    run_job,
)

from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.jobs import verify_job  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402


@dg.asset(key=["team", "queries"])
def queries():
    """Upstream asset of a release."""


def definitions_of(config):
    return dg.Definitions.merge(build_setanon_definitions(config), dg.Definitions([queries]))


def evaluate_schedule(config, now):
    """The schedule, and its result at this time."""
    defs = definitions_of(config)
    schedule = defs.resolve_schedule_def(f"{config.name}_schedule")
    with dg.build_schedule_context(
        scheduled_execution_time=now, repository_def=defs.get_repository_def()
    ) as context:
        return schedule, schedule.evaluate_tick(context)


def evaluate_sensor(config, cursor=None):
    """Run requests, skip message and new cursor of the sensor."""
    defs = definitions_of(config)
    sensor = defs.resolve_sensor_def(f"{config.name}_source_sensor")
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    with dg.build_sensor_context(
        cursor=cursor, repository_def=defs.get_repository_def()
    ) as context:
        tick = sensor.evaluate_tick(context)
    return tick.run_requests, tick.skip_message, tick.cursor


def test_schedule_is_initially_off_and_has_the_configured_cron(tmp_path):
    schedule, tick = evaluate_schedule(
        release_config(tmp_path, cron="15 3 * * 1"), datetime.now(UTC)
    )
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == "15 3 * * 1"
    assert schedule.job_name == "trial_release_job"
    [request] = tick.run_requests
    assert request.partition_key is None


@pytest.mark.parametrize(
    ("partition", "now", "last"),
    [
        ("day", datetime(2006, 3, 10, 6, tzinfo=UTC), "2006-03-09"),
        ("week", datetime(2006, 3, 10, 6, tzinfo=UTC), "2006-03-01"),
        ("month", datetime(2006, 4, 10, 6, tzinfo=UTC), "2006-03-01"),
        ("month", datetime(2006, 3, 10, 6, tzinfo=UTC), None),
    ],
)
def test_schedule_with_partitions_requests_the_last_one_that_has_ended(
    tmp_path, partition, now, last
):
    config = release_config(tmp_path, partition=partition, start="2006-03-01", cron="15 3 * * 1")
    schedule, tick = evaluate_schedule(config, now)
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == "15 3 * * 1"
    if last is None:
        assert not tick.run_requests
        assert tick.skip_message == "No partition has ended yet."
    else:
        [request] = tick.run_requests
        assert (request.partition_key, request.run_key) == (last, last)


def test_sensor_is_initially_off_and_requests_one_run_per_change(tmp_path):
    config = release_config(tmp_path)
    [first], _, cursor = evaluate_sensor(config)
    requests, message, kept = evaluate_sensor(config, cursor)
    assert (requests, message, kept) == ([], "The source has not changed.", cursor)
    [again], _, _ = evaluate_sensor(config)
    assert again.run_key == first.run_key, "unchanged file, same key"
    with Path(config.source.uri).open("a") as file:
        file.write("ivy\t2006-03-02 12:00:00\tpine straw\n")
    [second], _, changed = evaluate_sensor(config, cursor)
    assert second.run_key != first.run_key
    assert changed != cursor
    os.utime(config.source.uri, (1, 1))
    assert evaluate_sensor(config, changed)[0]


def test_sensor_waits_for_a_missing_file(tmp_path):
    config = release_config(tmp_path, None)
    requests, message, cursor = evaluate_sensor(config)
    assert (requests, cursor) == ([], None)
    assert message == "The source is not available (MalformedInputError)."
    release_config(tmp_path)
    assert evaluate_sensor(config, cursor)[0]


def test_sensor_detects_a_new_file_of_a_glob_pattern(tmp_path):
    config = release_config(tmp_path, source=Source(str(tmp_path / "*.tsv")))
    [first], _, cursor = evaluate_sensor(config)
    (tmp_path / "more.tsv").write_text((tmp_path / "log.tsv").read_text())
    [second], _, _ = evaluate_sensor(config, cursor)
    assert first.run_key != second.run_key
    assert len(first.run_key) == len(second.run_key)


def test_sensor_with_partitions_requests_the_last_one(tmp_path):
    config = release_config(tmp_path, **DAYS)
    [request], _, _ = evaluate_sensor(config)
    assert request.partition_key >= "2026-01-01"
    requests, message, _ = evaluate_sensor(
        release_config(tmp_path, partition="day", start="2999-01-01")
    )
    assert (requests, message) == ([], "No partition has ended yet.")


def test_release_of_an_upstream_asset_has_no_sensor(tmp_path):
    defs = definitions_of(release_config(tmp_path, None, upstream="team/queries"))
    assert not defs.sensors


def run_verify_job(config):
    return run_job(verify_job(config))


def test_verify_job_accepts_good_releases_and_publishes_nothing(release_copy):
    before = public_files(release_copy), latest_release(release_copy)
    (Path(release_copy.out) / "private" / "thread_ids.key").unlink()
    assert materialize(release_copy, "release").success, "a second release with other ids"
    after = public_files(release_copy), latest_release(release_copy)
    assert after != before
    result = run_verify_job(release_copy)
    assert result.success, result.failures
    assert result.events.count("9 threads, 3 groups, smallest group: 3 users.") >= 2
    assert (public_files(release_copy), latest_release(release_copy)) == after


def rewrite(path, change):
    table = parquet.read_table(path)
    path.chmod(0o644)
    parquet.write_table(change(table), path)


TAMPERED = {
    "missing thread": ("releases", "threads", lambda table: table.slice(1)),
    "changed set": (
        "releases",
        "threads",
        lambda table: table.set_column(2, "query", [["pine", *table["query"].to_pylist()[1:]]]),
    ),
    "user column": ("releases", "threads", lambda t: t.append_column("user", [["ann"] * len(t)])),
    "ledger with one user": (
        "private",
        "ledger",
        lambda t: t.set_column(2, "user", [["ann"] * len(t)]),
    ),
    "empty file": ("releases", "threads", lambda table: table.slice(0, 0)),
    "ledger without columns": ("private", "ledger", lambda _: pa.table({"nothing": [1]})),
}


@pytest.mark.parametrize(("root", "file", "change"), TAMPERED.values(), ids=TAMPERED.keys())
def test_verify_job_refuses_a_tampered_release_without_retry(release_copy, root, file, change):
    name = latest_release(release_copy)
    [folder] = (Path(release_copy.out) / root).glob(f"**/{name}")
    rewrite(folder / f"{file}.parquet", change)
    before = public_files(release_copy)
    result = run_verify_job(release_copy)
    assert not result.success
    assert result.retries == 0
    assert (public_files(release_copy), latest_release(release_copy)) == (before, name)
    assert "ann" not in result.failures[0].replace("cannot", "")


def test_release_is_verified_against_its_certificate_not_the_current_config(release_copy):
    result = run_verify_job(replace(release_copy, k=K + 1, min_owners=K + 1))
    assert result.success, result.failures
    certificate = releases_folder(release_copy) / latest_release(release_copy) / "certificate.json"
    claims = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(claims | {"k": K + 1}, indent=2) + "\n")
    result = run_verify_job(release_copy)
    assert not result.success
    assert f"at least k = {K + 1} users must share every list of queries" in result.failures[0]


def test_file_with_another_digest_is_refused_even_if_k_anonymous(release_copy):
    folder = releases_folder(release_copy) / latest_release(release_copy)
    rewrite(folder / "threads.parquet", lambda table: table)
    result = run_verify_job(release_copy)
    assert not result.success
    assert "must have the digest of its certificate" in result.failures[0]


@pytest.mark.parametrize("certificate_text", [None, "{", "[]", "{}", '{"k": "3", "min_owners": 3}'])
def test_release_without_valid_certificate_is_refused(release_copy, certificate_text):
    certificate = releases_folder(release_copy) / latest_release(release_copy) / "certificate.json"
    certificate.unlink()
    if certificate_text is not None:
        certificate.write_text(certificate_text)
    result = run_verify_job(release_copy)
    assert not result.success
    assert result.retries == 0
    assert "must have a certificate" in result.failures[0]


def test_failed_verification_is_not_retried_even_with_a_retry_policy(release_copy):
    (Path(release_copy.out) / "private" / latest_release(release_copy) / "ledger.parquet").unlink()
    with dg.DagsterInstance.ephemeral() as instance:
        job = verify_job(release_copy).with_hooks(set())
        retrying = dg.JobDefinition(
            graph_def=job.graph,
            executor_def=dg.in_process_executor,
            op_retry_policy=dg.RetryPolicy(max_retries=2),
        )
        result = collect_result(
            retrying.execute_in_process(instance=instance, raise_on_error=False), instance
        )
    assert (result.success, result.retries) == (False, 0)


def test_verify_job_succeeds_if_nothing_is_published(tmp_path):
    config = release_config(tmp_path)
    assert run_verify_job(config).success
    assert not releases_folder(config).exists()
