"""IO manager: stored tables are loaded unchanged, as the annotated type."""

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.stored_assets import (
    FULL,
    TYPES,
    asset_of,
    digest,
    files_in,
    loaded,
    metadata,
    relation_of,
    run,
    storage_in,
    stored_path,
)

from setanon_core.errors import InvalidParameterError
from setanon_dagster.io_manager import StoredFile
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet, write_parquet


def test_stored_table_equals_its_input_of_any_type(tmp_path):
    for number, value in enumerate(
        [
            FULL,
            lambda: FULL.to_reader(max_chunksize=1),
            lambda: connect().from_arrow(FULL),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        result = run(folder, asset_of(value))
        assert parquet.read_table(stored_path(folder)).to_pydict() == FULL.to_pydict()
        schema = metadata(result)["dagster/column_schema"].value
        assert [(c.name, c.type) for c in schema.columns] == list(
            zip(FULL.column_names, TYPES, strict=True)
        )
        assert metadata(result)["dagster/row_count"].value == 3
        assert metadata(result)["dagster/uri"].value == str(stored_path(folder))
        assert metadata(result)["setanon/bytes"].value == stored_path(folder).stat().st_size


def test_input_has_the_annotated_type(tmp_path):
    run(tmp_path, asset_of(FULL))
    assert (
        loaded(tmp_path, duckdb.DuckDBPyRelation).to_arrow_table().to_pydict() == FULL.to_pydict()
    )
    assert loaded(tmp_path, pa.Table).to_pydict() == FULL.to_pydict()
    reader = loaded(tmp_path, pa.RecordBatchReader)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().to_pydict() == FULL.to_pydict()
    assert loaded(tmp_path, Path) == stored_path(tmp_path)
    assert loaded(tmp_path, list[Path]) == [stored_path(tmp_path)]
    frame = loaded(tmp_path, pd.DataFrame)
    assert frame["words"].tolist() == [["pine", "straw"], [], None]
    assert frame["keys"].tolist() == FULL["keys"].to_pylist()
    assert frame["line"].tolist()[:2] == [3, 2**53 + 1]  # a float would lose the last digit
    assert frame["time"].dtype == "datetime64[us]"


def test_input_without_annotation_is_a_lazy_relation(tmp_path):
    seen = []

    @dg.asset
    def reading(table_asset):
        seen.append(table_asset)

    run(tmp_path, asset_of(FULL), reading)
    assert isinstance(seen[0], duckdb.DuckDBPyRelation)
    assert seen[0].filter("user = 'bob'").select("line").fetchall() == [(2**53 + 1,)]


def test_unsupported_annotation_is_refused_by_name(tmp_path):
    run(tmp_path, asset_of(FULL))
    with pytest.raises(
        InvalidParameterError, match=r"must be annotated as .*; got dict\."
    ) as raised:
        loaded(tmp_path, dict)
    assert "asset table_asset" in str(raised.value)


def test_value_can_be_loaded_outside_a_run(tmp_path):
    run(tmp_path, asset_of(FULL))
    definitions = dg.Definitions([asset_of(FULL)], resources={"io_manager": storage_in(tmp_path)})
    assert definitions.load_asset_value("table_asset", python_type=pa.Table).num_rows == 3


values = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
        st.one_of(
            st.none(),
            st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))),
        ),
        st.lists(st.integers(0, 2**64 - 1)),
        st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - times of logs have no zone
    ),
    max_size=5,
)


@pytest.fixture(scope="module")
def connection():
    # One for all examples: opening a database takes longer than reading a small file.
    with connect() as opened:
        yield opened


@settings(max_examples=25)  # each example calls fsync
@given(values)
def test_values_are_read_back_unchanged(tmp_path_factory, connection, rows):
    schema = pa.schema(
        [
            ("text", pa.string()),
            ("words", pa.list_(pa.string())),
            ("keys", pa.list_(pa.uint64())),
            ("time", pa.timestamp("us")),
        ]
    )
    table = pa.Table.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema
    )
    path = tmp_path_factory.getbasetemp() / "values.parquet"
    assert write_parquet(table, path) == len(rows)
    stored = read_parquet(path, connection)
    assert stored.to_arrow_table().to_pylist() == table.to_pylist()
    assert [str(kind) for kind in stored.types] == [
        "VARCHAR",
        "VARCHAR[]",
        "UBIGINT[]",
        "TIMESTAMP",
    ]


def test_pandas_frame_is_loaded_unchanged_with_lists(tmp_path):
    frame = pd.DataFrame(
        {
            "user": ["ann", None],
            "words": [["pine"], []],
            "time": pd.to_datetime(["2024-05-01 12:00", None]),
            "key": pd.Series([2**64 - 1, 1], dtype="uint64"),
        },
        index=[7, 3],
    )
    run(tmp_path, asset_of(frame))
    pd.testing.assert_frame_equal(loaded(tmp_path, pd.DataFrame), frame.reset_index(drop=True))


def test_empty_table_keeps_its_schema(tmp_path):
    result = run(tmp_path, asset_of(FULL.slice(0, 0)))
    assert metadata(result)["dagster/row_count"].value == 0
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert relation.columns == FULL.column_names
    assert [str(kind) for kind in relation.types] == TYPES


def test_empty_lists_keep_their_declared_type(tmp_path):
    run(tmp_path, asset_of(lambda: relation_of("SELECT []::VARCHAR[] AS words FROM range(3)")))
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert [str(kind) for kind in relation.types] == ["VARCHAR[]"]
    assert relation.fetchall() == [([],)] * 3


def test_stored_file_is_moved_to_its_final_path(tmp_path):
    file = tmp_path / "temporary.parquet"
    rows = write_parquet(pa.table({"line": [1, 2]}), file)
    result = run(tmp_path / "stages", asset_of(StoredFile(file, rows)))
    assert metadata(result)["dagster/row_count"].value == 2
    assert parquet.read_table(stored_path(tmp_path / "stages"))["line"].to_pylist() == [1, 2]
    assert not file.exists()


@pytest.mark.parametrize("sizes", [[10], [1, 9], [3, 3, 4], [1] * 10])
def test_bytes_do_not_depend_on_batch_sizes(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr("setanon_dagster.storage.parquet.ROW_GROUP_SIZE", 4096)
    table = pa.table({"line": range(10_000), "query": [f"query {n % 7}" for n in range(10_000)]})
    write_parquet(table, tmp_path / "table.parquet")
    ends = [1000 * sum(sizes[: n + 1]) for n in range(len(sizes))]
    pieces = [table.slice(end - 1000 * n, 1000 * n) for end, n in zip(ends, sizes, strict=True)]
    batches = [batch for piece in pieces for batch in piece.to_batches()]
    reader = pa.RecordBatchReader.from_batches(table.schema, batches)
    write_parquet(reader, tmp_path / "reader.parquet")
    groups = parquet.ParquetFile(tmp_path / "reader.parquet").num_row_groups
    assert groups == 3
    assert digest(tmp_path / "reader.parquet") == digest(tmp_path / "table.parquet")


def test_none_and_materialize_result_store_nothing(tmp_path):
    run(tmp_path, asset_of(FULL))
    before = digest(stored_path(tmp_path))
    assert "dagster/row_count" not in metadata(run(tmp_path, asset_of(None)))
    run(tmp_path, asset_of(lambda: dg.MaterializeResult(metadata={"k": 3})))
    assert digest(stored_path(tmp_path)) == before
    assert files_in(tmp_path) == ["store/table_asset/all.parquet"]


def test_parquet_module_imports_neither_dagster_nor_pandas():
    code = (
        "import sys, setanon_dagster.storage.parquet\n"
        "sys.exit('dagster' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0  # noqa: S603
