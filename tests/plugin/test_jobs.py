"""What runs by itself is off until somebody switches it on; then it does no more than it says."""

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

from support.trial import (  # noqa: E402 - after the skip
    DAYS,
    K,
    asked,
    latest,
    make,
    public_files,
    recorded,
    releases,
    run_job,
)

from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.jobs import verify_job  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402


@dg.asset(key=["team", "queries"])
def queries():
    """For releases that are made from an asset."""


def defined(config):
    return dg.Definitions.merge(build_setanon_definitions(config), dg.Definitions([queries]))


def struck(config, now):
    """The schedule, and what it does at this time."""
    defs = defined(config)
    schedule = defs.resolve_schedule_def(f"{config.name}_schedule")
    with dg.build_schedule_context(
        scheduled_execution_time=now, repository_def=defs.get_repository_def()
    ) as context:
        return schedule, schedule.evaluate_tick(context)


def looked(config, cursor=None):
    """What the sensor asks for, why not, and its cursor afterwards."""
    defs = defined(config)
    sensor = defs.resolve_sensor_def(f"{config.name}_source_sensor")
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    with dg.build_sensor_context(
        cursor=cursor, repository_def=defs.get_repository_def()
    ) as context:
        found = sensor.evaluate_tick(context)
    return found.run_requests, found.skip_message, found.cursor


def test_the_schedule_is_off_and_has_the_cron_asked_for(tmp_path):
    schedule, found = struck(asked(tmp_path, cron="15 3 * * 1"), datetime.now(UTC))
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == "15 3 * * 1"
    assert schedule.job_name == "trial_release_job"
    [asked_for] = found.run_requests
    assert asked_for.partition_key is None


@pytest.mark.parametrize(
    ("part", "now", "last"),
    [
        ("day", datetime(2006, 3, 10, 6, tzinfo=UTC), "2006-03-09"),
        ("week", datetime(2006, 3, 10, 6, tzinfo=UTC), "2006-03-01"),
        ("month", datetime(2006, 4, 10, 6, tzinfo=UTC), "2006-03-01"),
        ("month", datetime(2006, 3, 10, 6, tzinfo=UTC), None),
    ],
)
def test_the_schedule_of_a_log_in_parts_has_the_cron_too_and_takes_the_last(
    tmp_path, part, now, last
):
    config = asked(tmp_path, partition=part, start="2006-03-01", cron="15 3 * * 1")
    schedule, found = struck(config, now)
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == "15 3 * * 1"
    if last is None:
        assert not found.run_requests
        assert found.skip_message == "No partition has ended yet."
    else:
        [asked_for] = found.run_requests
        assert (asked_for.partition_key, asked_for.run_key) == (last, last)


def test_the_sensor_is_off_and_asks_for_one_run_when_the_file_changes(tmp_path):
    config = asked(tmp_path)
    [first], _, cursor = looked(config)
    none, why, kept = looked(config, cursor)
    assert (none, why, kept) == ([], "The source has not changed.", cursor)
    [again], _, _ = looked(config)
    assert again.run_key == first.run_key, "the same file, the same key"
    with Path(config.source.uri).open("a") as file:
        file.write("ivy\t2006-03-02 12:00:00\tpine straw\n")
    [second], _, changed = looked(config, cursor)
    assert second.run_key != first.run_key
    assert changed != cursor
    os.utime(config.source.uri, (1, 1))
    assert looked(config, changed)[0]


def test_the_sensor_waits_for_a_file_that_is_not_there(tmp_path):
    config = asked(tmp_path, None)
    none, why, cursor = looked(config)
    assert (none, cursor) == ([], None)
    assert why == "The source is not available (MalformedInputError)."
    asked(tmp_path)
    assert looked(config, cursor)[0]


def test_the_sensor_sees_one_more_file_of_a_pattern(tmp_path):
    config = asked(tmp_path, source=Source(str(tmp_path / "*.tsv")))
    [first], _, cursor = looked(config)
    (tmp_path / "more.tsv").write_text((tmp_path / "log.tsv").read_text())
    [second], _, _ = looked(config, cursor)
    assert first.run_key != second.run_key
    assert len(first.run_key) == len(second.run_key)


def test_the_sensor_of_a_log_in_parts_asks_for_the_last_part(tmp_path):
    config = asked(tmp_path, **DAYS)
    [asked_for], _, _ = looked(config)
    assert asked_for.partition_key >= "2026-01-01"
    none, why, _ = looked(asked(tmp_path, partition="day", start="2999-01-01"))
    assert (none, why) == ([], "No partition has ended yet.")


def test_the_sensor_of_an_upstream_asset_leaves_it_to_automation(tmp_path):
    none, why, _ = looked(asked(tmp_path, None, upstream="team/queries"))
    assert (none, why) == ([], "The source is an asset; automation conditions apply.")


def verified(config):
    return run_job(verify_job(config))


def test_verifying_good_releases_passes_and_publishes_nothing(stored):
    before = public_files(stored), latest(stored)
    assert make(stored).success, "one more, with other ids"
    after = public_files(stored), latest(stored)
    assert after != before
    ran = verified(stored)
    assert ran.success, ran.failures
    assert ran.told.count("9 threads, 3 groups, smallest group: 3 users.") >= 2
    assert (public_files(stored), latest(stored)) == after


def changed(path, change):
    table = parquet.read_table(path)
    path.chmod(0o644)
    parquet.write_table(change(table), path)


TAMPERED = {
    "a thread less": ("releases", "threads", lambda table: table.slice(1)),
    "another set": (
        "releases",
        "threads",
        lambda table: table.set_column(2, "query", [["pine", *table["query"].to_pylist()[1:]]]),
    ),
    "a user": ("releases", "threads", lambda t: t.append_column("user", [["ann"] * len(t)])),
    "one user": ("private", "ledger", lambda t: t.set_column(2, "user", [["ann"] * len(t)])),
    "an empty file": ("releases", "threads", lambda table: table.slice(0, 0)),
    "no ledger": ("private", "ledger", lambda _: pa.table({"nothing": [1]})),
}


@pytest.mark.parametrize(("where", "what", "change"), TAMPERED.values(), ids=TAMPERED.keys())
def test_verifying_a_tampered_release_fails_at_once(stored, where, what, change):
    link = latest(stored)
    changed(Path(stored.out) / where / link / f"{what}.parquet", change)
    before = public_files(stored)
    ran = verified(stored)
    assert not ran.success
    assert ran.retries == 0
    assert (public_files(stored), latest(stored)) == (before, link)
    assert "ann" not in ran.failures[0].replace("cannot", "")


def test_a_release_is_verified_for_what_its_certificate_says_not_for_what_is_asked_today(stored):
    ran = verified(replace(stored, k=K + 1, min_owners=K + 1))
    assert ran.success, ran.failures
    certificate = Path(stored.out) / "releases" / latest(stored) / "certificate.json"
    told = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(told | {"k": K + 1}))
    ran = verified(stored)
    assert not ran.success
    assert f"at least k = {K + 1} users must share every set; 3 sets have fewer" in ran.failures[0]


def test_other_bytes_than_the_certified_ones_fail_though_they_are_k_anonymous(stored):
    folder = Path(stored.out) / "releases" / latest(stored)
    changed(folder / "threads.parquet", lambda table: table)
    ran = verified(stored)
    assert not ran.success
    assert "must have the digest of its certificate" in ran.failures[0]


@pytest.mark.parametrize("told", [None, "{", "[]", "{}", '{"k": "3", "min_owners": 3}'])
def test_a_release_without_a_certificate_fails(stored, told):
    certificate = Path(stored.out) / "releases" / latest(stored) / "certificate.json"
    certificate.unlink()
    if told is not None:
        certificate.write_text(told)
    ran = verified(stored)
    assert not ran.success
    assert ran.retries == 0
    assert "must have a certificate" in ran.failures[0]


def test_a_failed_verification_is_not_retried_even_where_the_job_retries(stored):
    (Path(stored.out) / "private" / latest(stored) / "ledger.parquet").unlink()
    with dg.DagsterInstance.ephemeral() as instance:
        job = verify_job(stored).with_hooks(set())
        patient = dg.JobDefinition(
            graph_def=job.graph,
            executor_def=dg.in_process_executor,
            op_retry_policy=dg.RetryPolicy(max_retries=2),
        )
        ran = recorded(
            patient.execute_in_process(instance=instance, raise_on_error=False), instance
        )
    assert (ran.success, ran.retries) == (False, 0)


def test_verifying_where_nothing_is_published_passes(tmp_path):
    config = asked(tmp_path)
    assert verified(config).success
    assert not releases(config).exists()
