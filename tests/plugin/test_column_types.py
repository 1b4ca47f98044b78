"""Types that a Parquet file cannot keep, or that nobody knows, are refused by name."""

import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from support.storing import CANARY, asset_of, files_in, loaded, metadata, relation_of, run

from setanon_core.errors import MalformedInputError
from setanon_dagster.storage.parquet import write_parquet

UNKNOWN = [
    pd.DataFrame({"words": [[], []]}),
    pd.DataFrame({"words": pd.Series([], dtype=object)}),
    pa.table({"words": pa.array([[], []])}),
    pa.table({"words": pa.nulls(2)}),
]


@pytest.mark.parametrize("data", UNKNOWN)
def test_a_column_of_unknown_type_is_refused(tmp_path, data):
    with pytest.raises(MalformedInputError, match="column 'words' of asset made must have a type"):
        run(tmp_path, asset_of(data))
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("data", UNKNOWN)
def test_a_declared_type_stands_in_for_an_unknown_one(tmp_path, data):
    declared = dg.TableSchema(columns=[dg.TableColumn("words", "VARCHAR[]")])
    run(tmp_path, asset_of(data, metadata={"dagster/column_schema": declared}))
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert [str(kind) for kind in relation.types] == ["VARCHAR[]"]
    assert relation.fetchall() == [
        (value,) for value in pa.Table.to_pydict(as_table(data))["words"]
    ]


def as_table(data):
    return data if isinstance(data, pa.Table) else pa.Table.from_pandas(data)


def test_a_declared_text_does_not_turn_lists_into_text(tmp_path):
    declared = dg.TableSchema(columns=[dg.TableColumn("words")])  # Dagster's default type: string
    with pytest.raises(MalformedInputError, match="must have a type"):
        run(tmp_path, asset_of(UNKNOWN[0], metadata={"dagster/column_schema": declared}))


def test_a_sum_that_parquet_would_round_is_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="HUGEINT would become DOUBLE"):
        write_parquet(relation_of("SELECT [sum(i)] AS n FROM range(3) t(i)"), tmp_path / "t")
    assert write_parquet(
        relation_of("SELECT sum(i)::BIGINT AS n FROM range(3) t(i)"), tmp_path / "t"
    )


def test_the_values_of_an_enum_do_not_reach_the_metadata(tmp_path):
    result = run(
        tmp_path, asset_of(lambda: relation_of(f"SELECT '{CANARY}'::ENUM('{CANARY}') AS w"))
    )
    assert metadata(result)["dagster/column_schema"].value.columns[0].type == "VARCHAR"
    assert CANARY not in repr(metadata(result))


@pytest.mark.parametrize("data", [[CANARY], CANARY, {CANARY: 1}, 7, pa.array([CANARY])])
def test_what_is_no_table_is_refused_by_its_type(tmp_path, data):
    with pytest.raises(MalformedInputError, match=f"value of type {type(data).__name__}") as seen:
        run(tmp_path, asset_of(lambda: data))
    assert CANARY not in str(seen.value)


def test_frames_with_sets_or_a_named_index_are_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="sorted lists instead of sets") as seen:
        write_parquet(pd.DataFrame({"words": [{CANARY}, set()]}), tmp_path / "t")
    assert CANARY not in str(seen.value)
    with pytest.raises(MalformedInputError, match="reset_index"):
        write_parquet(pd.DataFrame({"n": [1]}, index=pd.Index([1], name="user")), tmp_path / "t")


def test_names_that_differ_only_in_case_are_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="unique when case is ignored"):
        write_parquet(pa.table({"a": [1], "A": [2]}), tmp_path / "t")
