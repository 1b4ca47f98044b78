import gc
import hashlib
import os
import pickle
import stat
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

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError
from setanon_dagster.parquet import LEVEL, QUICK, connect, read_parquet, write_parquet
from setanon_dagster.storage import DuckDBParquetStorage, Made, _file_name, _partition_name

CANARY = "zyzzogeton"

FULL = pa.table(
    {
        "user": pa.array(["ann", "bob", None]),
        "time": pa.array(
            [
                datetime.fromisoformat("2024-05-01T12:00"),
                None,
                datetime.fromisoformat("1999-01-01"),
            ],
            pa.timestamp("us"),
        ),
        "words": pa.array([["pine", "straw"], [], None], pa.list_(pa.string())),
        "lengths": pa.array([[2], [], [1, 1]], pa.list_(pa.int32())),
        "keys": pa.array([[2**64 - 1, 0], [], [7]], pa.list_(pa.uint64())),
        "line": pa.array([3, 2**53 + 1, None], pa.int64()),
    }
)
TYPES = ["VARCHAR", "TIMESTAMP", "VARCHAR[]", "INTEGER[]", "UBIGINT[]", "BIGINT"]

DAYS = dg.StaticPartitionsDefinition(["10", "9", "all", "a/b"])


def storage_in(folder, **settings):
    return DuckDBParquetStorage(folder=str(folder / "store"), **settings)


def run(folder, *assets, partition=None, selection=None, instance=None, **settings):
    return dg.materialize(
        list(assets),
        resources={"io_manager": storage_in(folder, **settings)},
        partition_key=partition,
        selection=selection,
        instance=instance or dg.DagsterInstance.ephemeral(),
        raise_on_error=True,
    )


def asset_of(data, **arguments):
    @dg.asset(name="made", **arguments)
    def made():
        return data() if callable(data) else data

    return made


def relation_of(sql):
    return connect().sql(sql)


def metadata(result):
    return result.asset_materializations_for_node("made")[0].metadata


def stored(folder, name="all"):
    return folder / "store" / "made" / f"{name}.parquet"


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def loaded(folder, annotation, *, upstream=None):
    seen = []

    @dg.asset
    def reading(made: annotation):
        seen.append(made)

    run(folder, upstream or asset_of(FULL), reading, selection=[reading])
    return seen[0]


def test_a_table_comes_back_as_it_was_whatever_it_is_given_as(tmp_path):
    for number, given_as in enumerate(
        [
            FULL,
            lambda: FULL.to_reader(max_chunksize=1),
            lambda: connect().from_arrow(FULL),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        result = run(folder, asset_of(given_as))
        assert parquet.read_table(stored(folder)).to_pydict() == FULL.to_pydict()
        schema = metadata(result)["dagster/column_schema"].value
        assert [(c.name, c.type) for c in schema.columns] == list(
            zip(FULL.column_names, TYPES, strict=True)
        )
        assert metadata(result)["dagster/row_count"].value == 3
        assert metadata(result)["dagster/uri"].value == str(stored(folder))
        assert metadata(result)["setanon/bytes"].value == stored(folder).stat().st_size


def test_an_input_is_what_its_annotation_says(tmp_path):
    run(tmp_path, asset_of(FULL))
    assert (
        loaded(tmp_path, duckdb.DuckDBPyRelation).to_arrow_table().to_pydict() == FULL.to_pydict()
    )
    assert loaded(tmp_path, pa.Table).to_pydict() == FULL.to_pydict()
    reader = loaded(tmp_path, pa.RecordBatchReader)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().to_pydict() == FULL.to_pydict()
    assert loaded(tmp_path, Path) == stored(tmp_path)
    assert loaded(tmp_path, list[Path]) == [stored(tmp_path)]
    frame = loaded(tmp_path, pd.DataFrame)
    assert frame["words"].tolist() == [["pine", "straw"], [], None]
    assert frame["keys"].tolist() == FULL["keys"].to_pylist()
    assert frame["line"].tolist()[:2] == [3, 2**53 + 1]  # a float would have lost the one
    assert frame["time"].dtype == "datetime64[us]"


def test_an_input_without_annotation_is_a_lazy_relation(tmp_path):
    seen = []

    @dg.asset
    def reading(made):
        seen.append(made)

    run(tmp_path, asset_of(FULL), reading)
    assert isinstance(seen[0], duckdb.DuckDBPyRelation)
    assert seen[0].filter("user = 'bob'").select("line").fetchall() == [(2**53 + 1,)]


def test_another_annotation_is_refused_by_name(tmp_path):
    run(tmp_path, asset_of(FULL))
    with pytest.raises(InvalidParameterError, match=r"must be annotated as .*; got dict\.") as seen:
        loaded(tmp_path, dict)
    assert "asset made" in str(seen.value)


def test_dagster_loads_a_value_outside_a_run(tmp_path):
    run(tmp_path, asset_of(FULL))
    definitions = dg.Definitions([asset_of(FULL)], resources={"io_manager": storage_in(tmp_path)})
    assert definitions.load_asset_value("made", python_type=pa.Table).num_rows == 3


values = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
        st.one_of(
            st.none(),
            st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))),
        ),
        st.lists(st.integers(0, 2**64 - 1)),
        st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - logs have no zone
    ),
    max_size=5,
)


@settings(max_examples=25)  # each flushes the disk
@given(values)
def test_every_value_survives(tmp_path_factory, rows):
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
    with connect() as connection:
        back = read_parquet(path, connection)
        assert back.to_arrow_table().to_pylist() == table.to_pylist()
        assert [str(kind) for kind in back.types] == [
            "VARCHAR",
            "VARCHAR[]",
            "UBIGINT[]",
            "TIMESTAMP",
        ]


def test_a_frame_comes_back_with_its_lists(tmp_path):
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


def test_an_empty_table_keeps_its_schema(tmp_path):
    result = run(tmp_path, asset_of(FULL.slice(0, 0)))
    assert metadata(result)["dagster/row_count"].value == 0
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert relation.columns == FULL.column_names
    assert [str(kind) for kind in relation.types] == TYPES


def test_empty_lists_of_a_known_type_stay_lists_of_that_type(tmp_path):
    run(tmp_path, asset_of(lambda: relation_of("SELECT []::VARCHAR[] AS words FROM range(3)")))
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation)
    assert [str(kind) for kind in relation.types] == ["VARCHAR[]"]
    assert relation.fetchall() == [([],)] * 3


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
    with pytest.raises(MalformedInputError, match="upper and lower case"):
        write_parquet(pa.table({"a": [1], "A": [2]}), tmp_path / "t")


def test_a_file_that_was_made_is_taken_away_whole(tmp_path):
    made = tmp_path / "made.parquet"
    rows = write_parquet(pa.table({"line": [1, 2]}), made)
    result = run(tmp_path / "stages", asset_of(Made(made, rows)))
    assert metadata(result)["dagster/row_count"].value == 2
    assert parquet.read_table(stored(tmp_path / "stages"))["line"].to_pylist() == [1, 2]
    assert not made.exists()


@pytest.mark.parametrize("sizes", [[10], [1, 9], [3, 3, 4], [1] * 10])
def test_the_sizes_of_batches_do_not_change_a_byte(tmp_path, monkeypatch, sizes):
    monkeypatch.setattr("setanon_dagster.parquet.ROW_GROUP_SIZE", 4096)
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


def test_none_and_a_materialize_result_store_nothing(tmp_path):
    run(tmp_path, asset_of(FULL))
    before = digest(stored(tmp_path))
    assert "dagster/row_count" not in metadata(run(tmp_path, asset_of(None)))
    run(tmp_path, asset_of(lambda: dg.MaterializeResult(metadata={"k": 3})))
    assert digest(stored(tmp_path)) == before
    assert files_in(tmp_path) == ["store/made/all.parquet"]


def failing_reader(error):
    def batches():
        yield pa.record_batch({"word": [CANARY] * 200_000})
        raise error

    return pa.RecordBatchReader.from_batches(pa.schema([("word", pa.string())]), batches())


FAILING = {
    "a cell that cannot be cast": lambda: relation_of(f"SELECT '{CANARY}'::INT AS n"),
    "a reader that breaks off": lambda: failing_reader(ValueError(CANARY)),
    "a reader whose disk fails": lambda: failing_reader(OSError(CANARY)),
    "a frame of two kinds": lambda: pd.DataFrame({"n": pd.Series([CANARY, 1], dtype=object)}),
    "a text that is not unicode": lambda: pd.DataFrame(
        {"n": pd.Series([CANARY + "\ud800"], dtype=object)}
    ),
    "an error in SQL": lambda: relation_of(f"SELECT error('{CANARY}')::INT AS n"),
}


@pytest.mark.parametrize("why", FAILING)
def test_a_failed_write_leaves_the_old_file_whole_and_says_nothing_of_the_data(
    tmp_path, why, capfd
):
    run(tmp_path, asset_of(FULL))
    before = digest(stored(tmp_path))
    instance = dg.DagsterInstance.ephemeral()
    with pytest.raises(SetanonError, match="asset made could not be written") as seen:
        run(tmp_path, asset_of(FAILING[why]), instance=instance)
    assert digest(stored(tmp_path)) == before
    assert files_in(tmp_path) == ["store/made/all.parquet"]
    assert CANARY not in str(seen.value)
    assert CANARY not in str(pickle.loads(pickle.dumps(seen.value)))  # noqa: S301 - our own
    (past,) = instance.get_runs()
    assert all(CANARY not in str(event) for event in instance.all_logs(past.run_id))
    assert CANARY not in "".join(capfd.readouterr())


def test_an_error_of_the_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_parquet(FULL, path)
    before = digest(path)

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_parquet(FULL.slice(0, 1), path)
    assert digest(path) == before
    assert files_in(tmp_path) == ["t.parquet"]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(FULL, tmp_path / "t.parquet")
    assert files_in(tmp_path) == []


def test_what_a_killed_process_leaves_is_no_data(tmp_path):
    code = (
        "import os, sys, pyarrow as pa\n"
        "from pathlib import Path\n"
        "from setanon_dagster.parquet import write_parquet\n"
        "def batches():\n"
        "    for _ in range(20): yield pa.record_batch({'n': list(range(100_000))})\n"
        "    os._exit(9)\n"
        "schema = pa.schema([('n', pa.int64())])\n"
        "write_parquet(pa.RecordBatchReader.from_batches(schema, batches()), Path(sys.argv[1]))\n"
    )
    run(tmp_path, asset_of(FULL))
    killed = subprocess.run([sys.executable, "-c", code, stored(tmp_path)], check=False, timeout=60)  # noqa: S603
    assert killed.returncode == 9
    (left,) = set(files_in(tmp_path)) - {"store/made/all.parquet"}
    assert not list((tmp_path / "store").rglob("*.parquet*"))[1:]
    assert Path(left).name.startswith(".")
    assert stat.S_IMODE((tmp_path / left).stat().st_mode) == 0o600
    assert loaded(tmp_path, pa.Table).num_rows == 3


def test_files_and_folders_are_private_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        run(tmp_path, asset_of(FULL, key_prefix=["team", "log"]))
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes.pop("store/team/log/made/all.parquet") == 0o600
    assert {"store", "store/team/log/made"} <= set(modes)
    assert set(modes.values()) == {0o700}


def test_a_file_for_the_public_gets_its_mode_with_its_name(tmp_path):
    write_parquet(FULL, tmp_path / "t.parquet", mode=0o644)
    assert stat.S_IMODE((tmp_path / "t.parquet").stat().st_mode) == 0o644


def test_other_columns_replace_the_old_ones(tmp_path):
    run(tmp_path, asset_of(FULL))
    run(tmp_path, asset_of(pa.table({"line": ["one"], "extra": [1]})))
    assert parquet.read_table(stored(tmp_path)).to_pydict() == {"line": ["one"], "extra": [1]}


def partitioned(make):
    @dg.asset(name="made", partitions_def=DAYS)
    def made(context: dg.AssetExecutionContext):
        return make(context.partition_key)

    return made


def test_all_partitions_are_one_table_in_key_order(tmp_path):
    made = partitioned(lambda key: pa.table({"day": [key] * 2, "n": [1, 2]}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, made, partition=key)
    assert files_in(tmp_path) == [
        f"store/made/{name}.parquet" for name in ("%61ll", "10", "9", "a%2Fb")
    ]
    expected = [(key, n) for key in ("10", "9", "a/b", "all") for n in (1, 2)]
    assert loaded(tmp_path, duckdb.DuckDBPyRelation, upstream=made).fetchall() == expected
    frame = loaded(tmp_path, pd.DataFrame, upstream=made)
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert [path.stem for path in loaded(tmp_path, list[Path], upstream=made)] == [
        "10", "9", "a%2Fb", "%61ll",
    ]  # fmt: skip
    with pytest.raises(InvalidParameterError, match=r"has 4 partitions here.*list\[Path\]"):
        loaded(tmp_path, Path, upstream=made)


def test_a_partition_downstream_gets_its_own_partition(tmp_path):
    seen = {}

    @dg.asset(partitions_def=DAYS)
    def reading(context: dg.AssetExecutionContext, made: pa.Table):
        seen[context.partition_key] = made["day"].to_pylist()

    made = partitioned(lambda key: pa.table({"day": [key]}))
    for key in ("10", "a/b"):
        run(tmp_path, made, reading, partition=key)
    assert seen == {"10": ["10"], "a/b": ["a/b"]}


def test_a_time_window_loads_the_days_it_maps_to(tmp_path):
    days = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-04")
    window = dg.TimeWindowPartitionMapping(start_offset=-1)
    seen = []

    @dg.asset(partitions_def=days)
    def made(context: dg.AssetExecutionContext):
        return pa.table({"day": [context.partition_key]})

    @dg.asset(partitions_def=days, ins={"made": dg.AssetIn(partition_mapping=window)})
    def reading(made):
        seen.append(made.fetchall())

    for key in ("2024-01-02", "2024-01-03"):
        run(tmp_path, made, partition=key)
    run(tmp_path, made, reading, selection=[reading], partition="2024-01-03")
    assert seen == [[("2024-01-02",), ("2024-01-03",)]]


def test_a_partition_of_two_dimensions_has_one_file(tmp_path):
    both = dg.MultiPartitionsDefinition(
        {
            "day": dg.DailyPartitionsDefinition("2024-01-01"),
            "land": dg.StaticPartitionsDefinition(["x"]),
        }
    )
    key = dg.MultiPartitionKey({"day": "2024-01-01", "land": "x"})
    run(tmp_path, asset_of(FULL, partitions_def=both), partition=key)
    assert files_in(tmp_path) == ["store/made/2024-01-01%7Cx.parquet"]


def test_partitions_of_different_schemas_are_not_mixed(tmp_path):
    tables = {
        "10": pa.table({"n": [1]}),
        "9": pa.table({"n": [CANARY]}),
        "a/b": pa.table({"m": [1]}),
    }
    made = partitioned(lambda key: tables.get(key, tables["10"]))
    for key in DAYS.get_partition_keys():
        run(tmp_path, made, partition=key)
    with pytest.raises(MalformedInputError, match="2 of 4 differ from the first") as seen:
        loaded(tmp_path, pa.Table, upstream=made)
    assert "asset made" in str(seen.value)
    assert CANARY not in str(seen.value)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(SetanonError, match=r"asset made must be stored.*Materialize it first"):
        loaded(tmp_path, pa.Table)
    made = partitioned(lambda key: pa.table({"day": [key]}))
    run(tmp_path, made, partition="10")
    with pytest.raises(SetanonError, match=r"no file was found for partition 9, a/b, all\."):
        loaded(tmp_path, pa.Table, upstream=made)


def test_a_run_over_several_partitions_is_refused(tmp_path):
    made = asset_of(FULL, partitions_def=DAYS)
    with pytest.raises(InvalidParameterError, match="it was started for 2"):
        dg.materialize(
            [made],
            resources={"io_manager": storage_in(tmp_path)},
            tags={
                "dagster/asset_partition_range_start": "10",
                "dagster/asset_partition_range_end": "9",
            },
        )
    assert files_in(tmp_path) == []


def test_a_file_that_is_no_parquet_is_an_error_without_contents(tmp_path):
    run(tmp_path, asset_of(FULL))
    stored(tmp_path).write_text(CANARY)
    with pytest.raises(SetanonError, match="asset made could not be read") as seen:
        loaded(tmp_path, pa.Table)
    assert CANARY not in str(seen.value)


@given(st.sets(st.text(), min_size=2, max_size=2))
def test_no_two_keys_share_a_file_name(keys):
    one, other = keys
    assert _partition_name(one) != _partition_name(other)
    assert _partition_name(one) != "all"
    assert _file_name(one) != _file_name(other)


@pytest.mark.parametrize(
    "key", ["x" * 300, "é" * 200, "..", "", ".", "a/../b", "%2E", "*", "a\0b", "\ud800"]
)
def test_every_key_is_the_name_of_one_file(tmp_path, key):
    name = _partition_name(key)
    assert name != _partition_name(key + "x")
    assert len(name) < 250
    path = tmp_path / f"{name}.parquet"
    assert path.parent.resolve() == tmp_path.resolve()
    assert write_parquet(FULL, path) == 3
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_looks_like_a_pattern_is_a_folder(tmp_path):
    for name in ("a*b", "axb", "[x]", "x", "h=1", "it's"):
        (tmp_path / name).mkdir()
        write_parquet(pa.table({"from": [name]}), tmp_path / name / "t.parquet")
    with connect() as connection:
        for name in ("a*b", "[x]", "h=1", "it's"):
            assert read_parquet(tmp_path / name / "t.parquet", connection).fetchall() == [(name,)]


def test_the_folder_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DuckDBParquetStorage(folder="here").path(dg.AssetKey(["a", "b.c"]), "1")
    assert path == tmp_path / "here" / "a" / "b%2Ec" / "1.parquet"


BIG = "SELECT i, 'w' || hash(i) % 977 AS w, ['a' || i % 7, 'b'] AS l FROM range(300000) t(i)"


@pytest.mark.parametrize("order_by", [None, "w, i"])
@pytest.mark.parametrize("kind", ["relation", "table", "reader"])
def test_the_same_rows_give_the_same_bytes_on_any_number_of_threads(tmp_path, order_by, kind):
    digests = set()
    for threads in (1, 2, 4):
        with connect(threads=threads) as connection:
            relation = connection.sql(BIG)
            data = {
                "relation": lambda relation=relation: relation,
                "table": relation.to_arrow_table,
                "reader": relation.to_arrow_table().to_reader,
            }[kind]()
            path = tmp_path / f"{threads}.parquet"
            assert write_parquet(data, path, order_by=order_by, connection=connection) == 300_000
            digests.add(digest(path))
    assert len(digests) == 1


def test_settings_reach_duckdb_and_wrong_ones_are_named(tmp_path):
    storage = storage_in(tmp_path, memory_limit="300MiB", threads=1)
    ask = "SELECT current_setting('threads'), current_setting('memory_limit'), "
    with storage.connect() as connection:
        seen = connection.sql(ask + "current_setting('temp_directory')").fetchall()[0]
    assert seen[:2] == (1, "300.0 MiB")
    assert seen[2].startswith(str(tmp_path / "store"))
    with pytest.raises(InvalidParameterError, match=r"memory_limit must be .*got 'much'"):
        connect(memory_limit="much")
    with pytest.raises(InvalidParameterError, match=r"threads must be .*got 0"):
        connect(threads=0)


def test_a_connection_does_not_look_among_python_variables():
    secret = pa.table({"a": [1]})
    with connect() as connection, pytest.raises(duckdb.CatalogException):
        connection.sql("SELECT * FROM secret").fetchall()
    assert secret.num_rows == 1


def test_rows_that_do_not_fit_in_memory_are_spilled_in_private(tmp_path):
    sql = "SELECT i, hash(i)::VARCHAR || i AS s FROM range(1500000) t(i)"
    spill = tmp_path / "spill"
    with connect("60MB", 1, spill) as connection:
        connection.sql(sql).order("s").select("count(*)").fetchall()
        connection.execute(f"CREATE TABLE sorted AS {sql} ORDER BY s")
        assert any(path.is_file() for path in spill.rglob("*"))
        assert stat.S_IMODE((spill / "setanon-spill").stat().st_mode) == 0o700
    assert files_in(spill) == []
    with connect("60MB", 1) as connection, pytest.raises(duckdb.OutOfMemoryException):
        connection.execute(f"CREATE TABLE sorted AS {sql} ORDER BY s")


WRITER = """
import sys
import dagster as dg, pyarrow as pa
from setanon_dagster.storage import DuckDBParquetStorage

folder, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
storage = DuckDBParquetStorage(folder=folder, threads=1)
parts = dg.StaticPartitionsDefinition(["same", "a", "b", "c"])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(times):
    rows = 20_000 + turn
    table = pa.table({"writer": [name] * rows, "words": [[name, str(turn)]] * rows})
    for partition in ("same", name):
        context = dg.build_output_context(
            asset_key=dg.AssetKey("made"), partition_key=partition, asset_partitions_def=parts
        )
        storage.handle_output(context, table)
"""


def test_processes_that_write_at_once_never_fail_and_never_tear_a_file(tmp_path):
    store = tmp_path / "store"
    writers = [
        subprocess.Popen(  # noqa: S603 - our own script
            [sys.executable, "-c", WRITER, store, name, "6"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    path, looks = store / "made" / "same.parquet", 0
    torn = 0
    while any(writer.poll() is None for writer in writers):
        if not path.exists():
            continue
        with connect(threads=1) as connection:
            relation = read_parquet(path, connection)
            found = relation.aggregate(
                "count(*), count(DISTINCT writer), count(DISTINCT words), min(words[2]::INT)"
            ).fetchall()[0]
        torn += found != (20_000 + found[3], 1, 1, found[3])
        looks += 1
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    assert looks > 0
    assert torn == 0
    assert files_in(store) == [f"made/{name}.parquet" for name in ("a", "b", "same")]
    assert {parquet.read_table(store / "made" / f"{n}.parquet").num_rows for n in "ab"} == {20_005}


def open_files():
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - names are enough


def test_a_relation_goes_on_reading_the_files_it_was_made_of(tmp_path):
    made = partitioned(lambda key: pa.table({"day": [key] * 100_000}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, made, partition=key)
    before = open_files()
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation, upstream=made)
    other = partitioned(lambda _: pa.table({"day": ["new"], "more": [1]}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, other, partition=key)
    for _ in range(2):
        assert relation.aggregate("count(*), count(DISTINCT day)").fetchall() == [(400_000, 4)]
    reader = relation.to_arrow_reader(1000)
    del relation
    gc.collect()
    assert sum(batch.num_rows for batch in reader) == 400_000
    del reader
    gc.collect()
    assert open_files() <= before


def test_the_functions_for_files_do_not_import_dagster():
    code = (
        "import sys, setanon_dagster.parquet\n"
        "sys.exit('dagster' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0  # noqa: S603


def test_a_quicker_level_changes_the_bytes_and_not_the_rows(tmp_path):
    table = pa.table({"query": [f"pine straw {line * line % 997}" for line in range(20_000)]})
    paths = [tmp_path / f"{level}.parquet" for level in (LEVEL, QUICK)]
    for path, level in zip(paths, (LEVEL, QUICK), strict=True):
        assert write_parquet(table, path, level=level) == len(table)
    assert parquet.read_table(paths[0]) == parquet.read_table(paths[1])
    assert paths[0].read_bytes() != paths[1].read_bytes()
