"""Where the rows come from: parts of a log, assets, tables; and what changes under way."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import (  # noqa: E402 - after the skip
    DAYS,
    ROWS,
    SETS,
    STAGES,
    asked,
    latest,
    make,
    path_of,
    public_files,
    published,
    releases,
    run,
    sets_of,
    storage,
    table_of,
)

from setanon_core.errors import InvalidParameterError  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import partitions_definition  # noqa: E402

PARTS = {
    "a day": (("day", "2006-03-01"), "2006-03-02", 4, 6),
    "the day before": (("day", "2006-03-01"), "2006-03-01", 6, 4),
    "a week from its first day": (("week", "2006-03-01"), "2006-03-01", 10, 0),
    "a week that ends between": (("week", "2006-02-23"), "2006-02-23", 6, 4),
    "a month": (("month", "2006-03-01"), "2006-03-01", 10, 0),
    "a month that ends between": (("month", "2006-01-02"), "2006-02-02", 6, 4),
}


@pytest.mark.parametrize(("asking", "key", "inside", "outside"), PARTS.values(), ids=PARTS)
def test_a_part_has_the_rows_of_its_times(tmp_path, asking, key, inside, outside):
    part, start = asking
    config = asked(tmp_path, partition=part, start=start)
    ran = make(config, "raw_log", "rejected_rows", partition=key)
    told = ran.metadata["raw_log"]
    assert (told["setanon/accepted"], told["setanon/outside_partition"], told["setanon/lines"]) == (
        inside,
        outside,
        12,
    )
    assert len(table_of(config, "raw_log", key)) == inside


@pytest.mark.parametrize("part", ["day", "week", "month"])
def test_parts_begin_with_the_first_day(tmp_path, part):
    config = asked(tmp_path, partition=part, start="2006-03-08")
    assert partitions_definition(config).get_first_partition_key() == "2006-03-08"
    with pytest.raises(InvalidParameterError, match="day 31"):
        asked(tmp_path, partition="month", start="2006-01-31")


def test_every_part_has_a_release_of_its_own(tmp_path):
    config = asked(tmp_path, **DAYS)
    for key, count in (("2006-03-01", 6), ("2006-03-02", 3)):
        ran = make(config, partition=key)
        assert ran.success, ran.failures
        assert latest(config).startswith(f"trial-{key}-")
        assert len(published(config)) == count
    assert len(list(releases(config).glob("trial-*"))) == 2


def test_an_empty_part_is_an_error_and_publishes_nothing(tmp_path):
    config = asked(tmp_path, **DAYS)
    assert make(config, partition="2006-03-02").success
    before = public_files(config), latest(config)
    checked = run(config, partition="2006-03-05")
    assert not checked.success
    assert not checked.checks["some_rows_are_usable"]
    bare = make(config, partition="2006-03-05")
    assert "must leave something to publish" in bare.failures[0]
    assert (public_files(config), latest(config)) == before
    assert bare.metadata["raw_log"]["setanon/outside_partition"] == 10


FRAME = {"user": [], "time": [], "query": []} | {
    name: [row[n] for row in ROWS[:10]] for n, name in enumerate(("user", "time", "query"))
}


def of_pandas():
    import pandas as pd

    return pd.DataFrame(FRAME)


def of_duckdb():
    return duckdb.connect().from_arrow(pa.table(FRAME))


@pytest.mark.parametrize("value", [of_pandas, lambda: pa.table(FRAME), of_duckdb, lambda: [1]])
@pytest.mark.parametrize("keeper", ["memory", "parquet"])
def test_an_asset_may_be_the_source(tmp_path, value, keeper):
    @dg.asset(key=["team", "queries"])
    def queries():
        return value()

    config = asked(tmp_path, None, source=Source("unused"), upstream="team/queries")
    keep = dg.mem_io_manager if keeper == "memory" else storage(config)
    ran = make(config, also=[queries], resources={"io_manager": keep})
    if isinstance(value(), list):
        assert not ran.success
        assert "a value of type list" in ran.failures[0]
        return
    assert ran.success, ran.failures
    assert sets_of(published(config)) == SETS
    assert not list(config.stages.glob("tmp*")), "the copy is gone"


def test_an_asset_may_be_the_source_of_parts(tmp_path):
    @dg.asset(key=["team", "queries"])
    def queries():
        return pa.table(FRAME)

    config = asked(tmp_path, None, source=Source("unused"), upstream="team/queries", **DAYS)
    keep = {"io_manager": storage(config)}
    with dg.DagsterInstance.ephemeral() as instance:
        dg.materialize([queries], resources=keep, instance=instance)
    ran = make(config, *STAGES, also=[queries], resources=keep, partition="2006-03-02")
    assert ran.success, ran.failures
    told = ran.metadata["raw_log"]
    assert (told["setanon/accepted"], told["setanon/outside_partition"]) == (4, 6)
    assert sets_of(published(config)) == [["copper", "kettle"]] * 3


def test_a_duckdb_table_may_be_the_source(tmp_path):
    path = tmp_path / "log.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pa.table(FRAME))
        connection.execute("CREATE TABLE typed AS FROM frame").fetchall()
    config = asked(tmp_path, None, source=Source(str(path), table="typed"))
    ran = make(config)
    assert ran.success, ran.failures
    assert sets_of(published(config)) == SETS


@pytest.mark.parametrize("suffix", ["tsv", "parquet"])
def test_a_renamed_column_is_a_clear_error_and_the_old_data_are_whole(stored, suffix):
    before = public_files(stored), path_of(stored, "raw_log").read_bytes()
    log = Path(stored.source.uri).with_suffix(f".{suffix}")
    config = replace(stored, source=Source(str(log), header=True))
    if suffix == "tsv":
        log.write_text(log.read_text().replace("query", "searched", 1))
    else:
        parquet.write_table(pa.table(FRAME).rename_columns(["user", "time", "searched"]), log)
    ran = make(config)
    assert not ran.success
    assert "must have each of the columns user, time, query exactly once" in ran.failures[0]
    assert ran.retries == 0
    assert (public_files(stored), path_of(stored, "raw_log").read_bytes()) == before
