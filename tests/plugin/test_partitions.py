"""Partitions: quiet days are empty parts, and days follow the time zone of the release."""
# ruff: noqa: DTZ001 - times are stored in UTC, without a zone

from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg
import duckdb
import pytest
from pyarrow import parquet
from support.release_runs import (
    DAYS,
    materialize,
    release_config,
    releases_folder,
    run_release,
    storage,
)

from setanon_core.errors import InvalidParameterError
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.translator import asset_specs, partitions_definition

DAY = "2006-03-01"
BERLIN = "Europe/Berlin"
TWO_USERS = [(user, f"{DAY} 08:00:00", "pine straw") for user in ("ann", "bob")]
RARE = [(user, f"{DAY} 08:00:00", f"{user}s kettle") for user in ("ann", "bob")]
RARE += [("cem", f"{DAY} 08:00:00", "hose")]


@pytest.mark.parametrize("rows", [[], TWO_USERS, RARE], ids=["no rows", "two users", "none left"])
def test_quiet_day_is_an_empty_part_and_publishes_nothing(tmp_path, rows):
    config = release_config(tmp_path, rows, **DAYS)
    result = materialize(config, partition=DAY)
    assert result.success
    assert result.metadata["release"]["setanon/state"].startswith("empty")
    assert result.metadata["release"]["dagster/row_count"] == 0
    assert not releases_folder(config).exists()


@pytest.mark.slow
def test_quiet_day_passes_all_checks_of_the_job(tmp_path):
    config = release_config(tmp_path, **DAYS)
    assert run_release(config, partition=DAY).metadata["release"]["setanon/state"] == "published"
    published = {path.name for path in releases_folder(config).iterdir()}
    result = run_release(config, partition="2006-03-07")
    assert result.success
    assert all(result.checks.values())
    assert {path.name for path in releases_folder(config).iterdir()} == published


@pytest.mark.parametrize("rows", [[], TWO_USERS], ids=["no rows", "two users"])
def test_empty_source_without_partitions_is_an_error(tmp_path, rows):
    assert not materialize(release_config(tmp_path, rows)).success


SPRING = {
    "2026-03-28": ["2026-03-28T00:00:00", "2026-03-28T22:59:59Z", "2026-03-28 23:59:59"],
    "2026-03-29": [
        "2026-03-28T23:00:00Z",
        "2026-03-29 00:00:00",
        "2026-03-29 01:59:59",
        "2026-03-29 02:30:00",  # skipped by the clocks
        "2026-03-29 03:00:00",
        "1774821599000",
        "2026-03-29T23:59:59+02:00",
    ],
    "2026-03-30": ["2026-03-29T22:00:00Z", "1774821600000", "2026-03-30 00:00:00"],
}
AUTUMN = {
    "2026-10-24": ["2026-10-24T21:59:59Z", "2026-10-24 23:59:59"],
    "2026-10-25": [
        "2026-10-24T22:00:00Z",
        "2026-10-25 02:30:00",  # repeated by the clocks
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T22:59:59Z",
        "2026-10-25 23:59:59",
    ],
    "2026-10-26": ["2026-10-25T23:00:00Z", "2026-10-26 00:00:00"],
}


@pytest.mark.parametrize("times", [SPRING, AUTUMN], ids=["spring", "autumn"])
def test_every_row_is_in_the_day_of_its_time_zone(tmp_path, times):
    rows = [(time, time, "pine") for day in times.values() for time in day]
    days = {"partition": "day", "start": min(times), "timezone": BERLIN}
    config = release_config(tmp_path, rows, **days)
    for day, expected in times.items():
        result = materialize(config, "raw_log", "rejected_rows", partition=day)
        counts = result.metadata["raw_log"]
        assert counts["setanon/outside_partition"] == len(rows) - len(expected)
        table = parquet.read_table(storage(config).path(config_key(config), day))
        assert sorted(table["user"].to_pylist()) == sorted(expected)


def config_key(config):
    return asset_specs(config)["raw_log"].key


@pytest.mark.parametrize("column", ["TIMESTAMP", "VARCHAR", "DATE"])
def test_times_of_tables_without_an_offset_are_local(tmp_path, column):
    query = f"SELECT 'u' AS user, '2026-07-01'::{column} AS time, 'q' AS query"
    duckdb.sql(query).write_parquet(str(tmp_path / "t.parquet"))
    result = read_source(Source(str(tmp_path / "t.parquet")), timezone=BERLIN)
    assert result.accepted.fetchall()[0][1] == datetime(2026, 6, 30, 22)


@pytest.mark.parametrize(
    ("time_format", "text", "moment"),
    [
        ("%d/%m/%Y %H:%M", "01/07/2026 12:00", datetime(2026, 7, 1, 10)),
        ("%d/%m/%Y %H:%M %z", "01/07/2026 12:00 +0000", datetime(2026, 7, 1, 12)),
        ("iso", "2026-07-01 12:00 +00:00", datetime(2026, 7, 1, 12)),
        ("iso", "2026-01-01", datetime(2025, 12, 31, 23)),
        ("yymmddhhmmss", "260701120000", datetime(2026, 7, 1, 10)),
        ("epoch", "1782907200", datetime(2026, 7, 1, 12)),
    ],
)
def test_only_times_without_an_offset_are_local(tmp_path, time_format, text, moment):
    (tmp_path / "log.tsv").write_text(f"u\t{text}\tq\n")
    source = Source(str(tmp_path / "log.tsv"), time_format=time_format)
    assert read_source(source, timezone=BERLIN).accepted.fetchall()[0][1] == moment


def test_partitions_and_schedule_follow_the_time_zone(tmp_path):
    config = release_config(
        tmp_path, partition="day", start="2026-03-28", timezone=BERLIN, cron="30 0 * * *"
    )
    window = partitions_definition(config).time_window_for_partition_key("2026-03-29")
    assert (window.end.timestamp() - window.start.timestamp()) / 3600 == 23
    definitions = build_setanon_definitions(config)
    schedule = definitions.resolve_schedule_def("trial_schedule")
    assert schedule.execution_timezone == BERLIN
    # 00:30 in Berlin: the day before has ended there, but not in UTC.
    context = dg.build_schedule_context(
        scheduled_execution_time=datetime(2026, 3, 30, 0, 30, tzinfo=ZoneInfo(BERLIN)),
        repository_def=definitions.get_repository_def(),
    )
    [request] = schedule.evaluate_tick(context).run_requests
    assert request.partition_key == "2026-03-29"


@pytest.mark.parametrize("name", ["", "Berlin", "../etc/passwd", "Europe", "localtime", "+02:00"])
def test_unknown_time_zones_are_refused(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="timezone must be a time zone such as UTC"):
        release_config(tmp_path, timezone=name)
