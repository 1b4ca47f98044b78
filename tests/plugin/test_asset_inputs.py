"""Inputs of a release: partitions of a log, upstream assets, database tables, changed columns."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (  # noqa: E402 - after the skip
    DAYS,
    READ_STAGES,
    ROWS,
    STAGES,
    keyword_sets,
    latest_release,
    materialize,
    public_files,
    published_table,
    release_config,
    releases_folder,
    run_release,
    storage,
    stored_path,
    stored_table,
)

from setanon_core.errors import InvalidParameterError  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import partitions_definition  # noqa: E402

PARTITIONS = {
    "second day": (("day", "2006-03-01"), "2006-03-02", 4, 6),
    "first day": (("day", "2006-03-01"), "2006-03-01", 6, 4),
    "week that contains both days": (("week", "2006-03-01"), "2006-03-01", 10, 0),
    "week that ends between the days": (("week", "2006-02-23"), "2006-02-23", 6, 4),
    "month that contains both days": (("month", "2006-03-01"), "2006-03-01", 10, 0),
    "month that ends between the days": (("month", "2006-01-02"), "2006-02-02", 6, 4),
}


@pytest.mark.parametrize(
    ("parameters", "key", "inside", "outside"), PARTITIONS.values(), ids=PARTITIONS
)
def test_partition_has_the_rows_of_its_time_window(tmp_path, parameters, key, inside, outside):
    partition, start = parameters
    config = release_config(tmp_path, partition=partition, start=start)
    result = materialize(config, *READ_STAGES, partition=key)
    metadata = result.metadata["raw_log"]
    assert metadata["setanon/accepted"] == inside
    assert metadata["setanon/outside_partition"] == outside
    assert metadata["setanon/lines"] == 12
    assert len(stored_table(config, "raw_log", key)) == inside


@pytest.mark.parametrize("partition", ["day", "week", "month"])
def test_first_partition_starts_on_the_first_day(tmp_path, partition):
    config = release_config(tmp_path, partition=partition, start="2006-03-08")
    assert partitions_definition(config).get_first_partition_key() == "2006-03-08"
    with pytest.raises(InvalidParameterError, match="day 31"):
        release_config(tmp_path, partition="month", start="2006-01-31")


@pytest.mark.slow
def test_each_partition_is_a_release_and_an_empty_one_publishes_nothing(tmp_path):
    config = release_config(tmp_path, **DAYS)
    for key, rows in (("2006-03-01", 6), ("2006-03-02", 3)):
        result = materialize(config, partition=key)
        assert result.success, result.failures
        assert latest_release(config).startswith(f"trial-{key}-")
        assert len(published_table(config)) == rows
    assert len(list(releases_folder(config).glob("trial-*"))) == 2

    before = public_files(config), latest_release(config)
    with_checks = run_release(config, partition="2006-03-05")
    assert with_checks.success
    without_checks = materialize(config, partition="2006-03-05")
    assert without_checks.success
    for result in (with_checks, without_checks):
        assert result.metadata["release"]["dagster/row_count"] == 0
        assert "setanon/folder" not in result.metadata["release"]
    assert without_checks.metadata["raw_log"]["setanon/outside_partition"] == 10
    assert (public_files(config), latest_release(config)) == before


COLUMNS = {name: [row[n] for row in ROWS[:10]] for n, name in enumerate(("user", "time", "query"))}


def pandas_frame():
    import pandas as pd

    return pd.DataFrame(COLUMNS)


def arrow_table():
    return pa.table(COLUMNS)


def duckdb_relation():
    return duckdb.connect().from_arrow(pa.table(COLUMNS))


def queries_asset(value):
    @dg.asset(key=["team", "queries"])
    def queries():
        return value()

    return queries


@pytest.mark.parametrize("value", [pandas_frame, arrow_table, duckdb_relation])
@pytest.mark.parametrize("kept_in", ["memory", "parquet"])
def test_upstream_asset_is_read_as_a_source(tmp_path, value, kept_in):
    config = release_config(tmp_path, None, source=Source("unused"), upstream="team/queries")
    resources = {"io_manager": dg.mem_io_manager if kept_in == "memory" else storage(config)}
    queries = queries_asset(value)
    result = materialize(config, queries.key, *READ_STAGES, also=[queries], resources=resources)
    assert result.success, result.failures
    rows = stored_table(config, "raw_log")
    assert rows["query"].to_pylist() == COLUMNS["query"]
    assert rows["user"].to_pylist() == COLUMNS["user"]
    assert not list(config.stages.glob("tmp*")), "the temporary copy is deleted"


def test_upstream_asset_of_another_type_is_refused(tmp_path):
    config = release_config(tmp_path, None, source=Source("unused"), upstream="team/queries")
    result = materialize(
        config,
        also=[queries_asset(lambda: [1])],
        resources={"io_manager": dg.mem_io_manager},
    )
    assert not result.success
    assert "a value of type list" in result.failures[0]


@pytest.mark.slow
def test_upstream_asset_without_partitions_is_read_for_each_partition(tmp_path):
    queries = queries_asset(arrow_table)
    config = release_config(
        tmp_path, None, source=Source("unused"), upstream="team/queries", **DAYS
    )
    resources = {"io_manager": storage(config)}
    with dg.DagsterInstance.ephemeral() as instance:
        dg.materialize([queries], resources=resources, instance=instance)
    result = materialize(
        config, *STAGES, also=[queries], resources=resources, partition="2006-03-02"
    )
    assert result.success, result.failures
    metadata = result.metadata["raw_log"]
    assert (metadata["setanon/accepted"], metadata["setanon/outside_partition"]) == (4, 6)
    assert keyword_sets(published_table(config)) == [["copper", "kettle"]] * 3


def test_duckdb_table_is_read_as_a_source(tmp_path):
    path = tmp_path / "log.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pa.table(COLUMNS))
        connection.execute("CREATE TABLE typed AS FROM frame").fetchall()
    config = release_config(tmp_path, None, source=Source(str(path), table="typed"))
    result = materialize(config, *READ_STAGES)
    assert result.success, result.failures
    assert stored_table(config, "raw_log")["query"].to_pylist() == COLUMNS["query"]


@pytest.mark.parametrize("suffix", ["tsv", "parquet"])
def test_renamed_column_is_refused_without_retry_and_stored_data_stay_unchanged(
    release_copy, suffix
):
    before = public_files(release_copy), stored_path(release_copy, "raw_log").read_bytes()
    log = Path(release_copy.source.uri).with_suffix(f".{suffix}")
    config = replace(release_copy, source=Source(str(log), header=True))
    if suffix == "tsv":
        log.write_text(log.read_text().replace("query", "searched", 1))
    else:
        parquet.write_table(pa.table(COLUMNS).rename_columns(["user", "time", "searched"]), log)
    result = materialize(config)
    assert not result.success
    assert "must have each of the columns user, time, query exactly once" in result.failures[0]
    assert result.retries == 0
    assert (public_files(release_copy), stored_path(release_copy, "raw_log").read_bytes()) == before
