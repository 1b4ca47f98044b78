"""Columns of unknown type, or of a type that Parquet lacks, are refused by name."""

import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.stored_assets import CANARY, asset_of, files_in, loaded, metadata, relation_of, run

from setanon_core.errors import MalformedInputError
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet, write_parquet

UNKNOWN_TYPE = [
    pd.DataFrame({"words": [[], []]}),
    pd.DataFrame({"words": pd.Series([], dtype=object)}),
    pa.table({"words": pa.array([[], []])}),
    pa.table({"words": pa.nulls(2)}),
]
DECLARED = dg.TableSchema(columns=[dg.TableColumn("words", "VARCHAR[]")])


@pytest.mark.parametrize("data", UNKNOWN_TYPE)
def test_a_column_of_unknown_type_is_refused(tmp_path, data):
    with pytest.raises(MalformedInputError, match="column 'words' of the log must have a type"):
        write_parquet(data, tmp_path / "t.parquet", name="the log")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("data", UNKNOWN_TYPE)
def test_a_declared_type_replaces_an_unknown_one(tmp_path, data):
    path = tmp_path / "t.parquet"
    table = data if isinstance(data, pa.Table) else pa.Table.from_pandas(data)
    write_parquet(data, path, types={"words": "VARCHAR[]"})
    with connect() as connection:
        relation = read_parquet(path, connection)
        assert [str(column_type) for column_type in relation.types] == ["VARCHAR[]"]
        assert relation.fetchall() == [(value,) for value in table.to_pydict()["words"]]


def test_the_type_of_an_asset_is_declared_in_its_metadata(tmp_path):
    with pytest.raises(
        MalformedInputError, match="column 'words' of asset table_asset must have a type"
    ):
        run(tmp_path, asset_of(UNKNOWN_TYPE[0]))
    run(tmp_path, asset_of(UNKNOWN_TYPE[0], metadata={"dagster/column_schema": DECLARED}))
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert [str(column_type) for column_type in relation.types] == ["VARCHAR[]"]


def test_lists_are_not_cast_to_a_declared_text_type(tmp_path):
    declared = dg.TableSchema(columns=[dg.TableColumn("words")])  # Dagster's default type: string
    with pytest.raises(MalformedInputError, match="must have a type"):
        run(tmp_path, asset_of(UNKNOWN_TYPE[0], metadata={"dagster/column_schema": declared}))


def test_hugeint_sums_are_refused_because_parquet_would_round_them(tmp_path):
    path = tmp_path / "t.parquet"
    with pytest.raises(MalformedInputError, match="HUGEINT would become DOUBLE"):
        write_parquet(relation_of("SELECT [sum(i)] AS n FROM range(3) t(i)"), path)
    assert write_parquet(relation_of("SELECT sum(i)::BIGINT AS n FROM range(3) t(i)"), path) == 1
    assert parquet.read_table(path).to_pydict() == {"n": [3]}


def test_values_of_an_enum_are_not_in_the_metadata(tmp_path):
    result = run(
        tmp_path, asset_of(lambda: relation_of(f"SELECT '{CANARY}'::ENUM('{CANARY}') AS w"))
    )
    assert metadata(result)["dagster/column_schema"].value.columns[0].type == "VARCHAR"
    assert CANARY not in repr(metadata(result))


@pytest.mark.parametrize("data", [[CANARY], CANARY, {CANARY: 1}, 7, pa.array([CANARY])])
def test_other_values_than_tables_are_refused_by_their_type(tmp_path, data):
    with pytest.raises(MalformedInputError, match=f"value of type {type(data).__name__}") as seen:
        write_parquet(data, tmp_path / "t.parquet")
    assert CANARY not in str(seen.value)


def test_frames_with_sets_or_a_named_index_are_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="sorted lists instead of sets") as seen:
        write_parquet(pd.DataFrame({"words": [{CANARY}, set()]}), tmp_path / "t")
    assert CANARY not in str(seen.value)
    with pytest.raises(MalformedInputError, match="reset_index"):
        write_parquet(pd.DataFrame({"n": [1]}, index=pd.Index([1], name="user")), tmp_path / "t")


def test_column_names_that_differ_only_in_case_are_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="unique when case is ignored"):
        write_parquet(pa.table({"a": [1], "A": [2]}), tmp_path / "t")
