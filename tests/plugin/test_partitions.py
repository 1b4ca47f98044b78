"""Partitions: quiet days are empty parts, and days follow the time zone of the release."""

import pytest
from support.release_runs import (
    DAYS,
    materialize,
    release_config,
    releases_folder,
    run_release,
)

DAY = "2006-03-01"
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
