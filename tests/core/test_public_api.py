"""The functions of `setanon_core`: signatures, results, and tables of several libraries."""

import inspect
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from typing import get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import setanon_core
from setanon_core import (
    Baskets,
    InvalidParameterError,
    Log,
    MalformedInputError,
    Params,
    ReleaseParams,
    anonymize,
    anonymize_baskets,
    anonymize_log,
    sweep,
    utility_of,
    verify,
)
from setanon_core.columns.times import encode_times
from setanon_core.pipeline.sweep import ReleaseOptions

SECRET = b"for tests only"
CANARY = "canary-7f3a"
LOG = {
    "user": ["ann", "bob", "cem", "ann", "bob", "dan"],
    "time": [1, 2, 3, 4, 5, 6],
    "query": ["pine straw", "pine straw", "pine straw", "zqx", "tea pot", "tea pot"],
}
BASKETS = {
    "record": [1, 1, 2, 2, 3, 3, 4],
    "item": ["tea", "milk", "tea", "milk", "tea", "rum", "rye"],
}


class Series:
    """The methods of a Polars Series that are used."""

    def __init__(self, values, dtype="String"):
        self._values, self.dtype = list(values), dtype

    def __len__(self):
        return len(self._values)

    def __getitem__(self, position):
        return self._values[position]

    def __iter__(self):
        return iter(self._values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)

    def to_list(self):
        return list(self._values)

    def to_frame(self):
        return Frame({"": self._values})


class Frame:
    """The methods of a Polars DataFrame that are used."""

    def __init__(self, columns):
        self._columns = {name: list(values) for name, values in columns.items()}

    @property
    def columns(self):
        return list(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name):
        return Series(self._columns[name])

    def to_dict(self):
        return self._columns


class LazyFrame:
    """A frame whose rows are not known yet."""

    columns = ("user", "time", "query")


def columns_of(table):
    """The table as lists by column name."""
    if isinstance(table, pd.DataFrame):
        return table.to_dict("list")
    if isinstance(table, pa.Table | pa.RecordBatch):
        return table.to_pydict()
    return table if isinstance(table, dict) else table.to_dict()


TABLES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "arrow table": pa.Table.from_pydict,
    "arrow batch": pa.RecordBatch.from_pydict,
    "polars-like": Frame,
}
constructors = pytest.mark.parametrize("build", TABLES.values(), ids=TABLES)


def release_log_of(log, **params):
    return anonymize_log(log, **{"k": 2, "secret": SECRET, **params})


def fields_with_defaults(cls):
    """The parameters except k; a default that is generated counts as None."""
    return {
        each.name: None if each.default is MISSING else each.default
        for each in fields(cls)
        if each.name != "k"
    }


def keyword_defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("function", "columns", "declared"),
    [
        (
            anonymize,
            {"users": None, "record": None, "item": None, "user": None},
            fields_with_defaults(Params),
        ),
        (
            anonymize_log,
            {"user": "user", "time": "time", "query": "query"},
            fields_with_defaults(ReleaseParams),
        ),
    ],
)
def test_keyword_parameters_and_defaults_are_those_of_the_parameter_class(
    function, columns, declared
):
    assert keyword_defaults(function) == columns | declared


def test_parameters_of_baskets_are_those_that_have_an_effect_on_sets():
    declared = fields_with_defaults(ReleaseParams)
    for name in ("identity", "spelling", "unit", "format", "measure", "tokenizer"):
        del declared[name]

    assert keyword_defaults(anonymize_baskets) == (
        {"record": "record", "item": "item", "user": None} | declared
    )


def test_options_of_sweep_and_utility_are_the_release_parameters():
    assert set(get_type_hints(ReleaseOptions)) == set(fields_with_defaults(ReleaseParams))


@pytest.mark.parametrize(
    ("function", "data"),
    [
        (anonymize, "records"),
        (anonymize_log, "log"),
        (anonymize_baskets, "baskets"),
        (verify, "records"),
        (sweep, "data"),
        (utility_of, "data"),
    ],
)
def test_every_function_takes_data_then_k_then_keywords(function, data):
    parameters = list(inspect.signature(function).parameters.values())

    assert [each.name for each in parameters[:2]] == [data, "k"]
    assert {each.kind for each in parameters[:2]} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert {each.kind for each in parameters[2:]} <= {
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    }


def test_all_public_names_are_importable_and_have_a_docstring():
    for name in setanon_core.__all__:
        assert getattr(setanon_core, name).__doc__


@constructors
def test_release_and_ledger_of_a_log_are_tables_of_the_kind_passed_in(build):
    expected = release_log_of(LOG)
    result = release_log_of(build(LOG))

    assert result == expected
    for noun, names in (
        ("release", {"thread_id", "position", "query"}),
        ("ledger", {"thread_id", "thread", "user"}),
    ):
        table = getattr(result, noun).to_frame()
        assert type(table) is type(build(LOG))
        assert columns_of(table) == getattr(expected, noun).to_frame()
        assert set(columns_of(table)) == names
    assert columns_of(result.to_frame()) == columns_of(result.release.to_frame())


@constructors
def test_release_of_baskets_is_a_table_of_the_kind_passed_in(build):
    table = anonymize_baskets(build(BASKETS), k=2).to_frame()

    assert type(table) is type(build(BASKETS))
    assert list(map(list, columns_of(table)["keywords"])) == [["milk", "tea"]] * 3


@constructors
def test_sweep_and_utility_are_tables_of_the_kind_passed_in(build):
    costs = sweep(build(LOG), k=[2, 3])
    utility = utility_of(build(BASKETS), k=2, item="item")

    assert [point.k for point in costs] == columns_of(costs.to_frame())["k"] == [2, 3]
    assert len(costs) == 2
    assert type(costs.to_frame()) is type(utility.to_frame()) is type(build(LOG))
    names = [measure.name for measure in utility]
    assert columns_of(utility.to_frame())["measure"] == names
    assert len(utility) == len(names)


def test_another_constructor_may_build_the_table():
    result = release_log_of(LOG)

    assert isinstance(result.release.to_frame(pd.DataFrame), pd.DataFrame)
    assert isinstance(result.ledger.to_frame(pa.table), pa.Table)
    assert isinstance(sweep(LOG, k=[2]).to_frame(pd.DataFrame), pd.DataFrame)
    assert isinstance(anonymize([{"a"}] * 2, 2).to_frame(pd.DataFrame), pd.DataFrame)


def test_a_sweep_costs_the_same_as_each_release():
    costs = sweep(LOG, k=iter([2, 3]), method="paper")
    baskets = sweep(BASKETS, k=[2], item="item")

    assert costs.points == tuple(release_log_of(LOG, k=k, method="paper").cost for k in (2, 3))
    assert baskets.points == (anonymize_baskets(BASKETS, k=2).cost,)
    assert sweep(Baskets(BASKETS["record"], BASKETS["item"]), k=[2]) == baskets
    assert sweep(LOG, k=2).points == sweep(LOG, k=[2]).points
    assert sweep(LOG, k=[]).to_frame()["k"] == []


@pytest.mark.parametrize("k", [1, [2, 1], "23", None, [2.0]])
def test_a_sweep_refuses_invalid_k(k):
    with pytest.raises(InvalidParameterError, match=r"^k must be"):
        sweep(LOG, k=k)


def test_columns_may_have_any_names():
    renamed = {"who": LOG["user"], "when": LOG["time"], "what": LOG["query"], "other": [CANARY] * 6}
    names = {"user": "who", "time": "when", "query": "what"}
    baskets = {"id": BASKETS["record"], "product": BASKETS["item"], "who": BASKETS["record"]}

    assert release_log_of(pd.DataFrame(renamed), **names) == release_log_of(LOG)
    assert sweep(renamed, k=[2], **names) == sweep(LOG, k=[2])
    result = anonymize_baskets(baskets, 2, record="id", item="product", user="who", secret=SECRET)
    assert result == anonymize_baskets(BASKETS, 2, secret=SECRET)


def test_rows_a_log_and_a_table_give_the_same_release():
    rows = list(zip(*LOG.values(), strict=True))

    assert release_log_of(rows) == release_log_of(Log(*LOG.values())) == release_log_of(LOG)
    assert utility_of(rows, k=2) is not None


TIMES = [datetime(2006, 3, 1, hour, tzinfo=UTC) for hour in (3, 1, 2)]
NAIVE = [time.replace(tzinfo=None) for time in TIMES]


@pytest.mark.parametrize(
    "times",
    [
        pd.Series(NAIVE),
        pd.Series(TIMES),
        pd.Series(TIMES).dt.tz_convert("Asia/Tokyo"),
        pd.Series(NAIVE).astype("datetime64[s]"),
        pd.Series(NAIVE, dtype=pd.ArrowDtype(pa.timestamp("us"))),
        pd.Series(TIMES, dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))),
        pd.Series([3, 1, 2]),
        pd.Series([3, 1, 2], dtype="Int64"),
        pa.array(NAIVE),
        pa.array(TIMES, pa.timestamp("ns", "Europe/Oslo")),
        pa.chunked_array([pa.array([3, 1]), pa.array([2])]),
        Series(NAIVE, "Datetime(time_unit='us', time_zone=None)"),
        np.array(NAIVE, "datetime64[s]"),
        NAIVE,
        TIMES,
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_times_may_be_any_column_of_integers_or_datetimes(times):
    queries = ["pine straw c", "pine straw a", "pine straw b"]

    log = Log.from_data({"user": ["ann"] * 3, "time": times, "query": queries})

    assert np.argsort(encode_times(log.times)).tolist() == [1, 2, 0]


@constructors
@pytest.mark.parametrize("parameter", ["user", "time", "query"])
def test_a_missing_column_is_refused_by_parameter_and_name(build, parameter):
    with pytest.raises(MalformedInputError, match=f"^{parameter} must name a column") as error:
        anonymize_log(build(LOG), 2, **{parameter: "no such column"})

    assert "'no such column'" in str(error.value)
    assert "pine" not in str(error.value)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (anonymize_baskets, {"item": "product"}),
        (anonymize_baskets, {"user": "product"}),
        (sweep, {"k": [2], "item": "product"}),
        (utility_of, {"k": 2, "item": "product"}),
    ],
)
def test_a_missing_column_of_baskets_is_refused(function, options):
    with pytest.raises(MalformedInputError, match="it has no column 'product'"):
        function(pd.DataFrame(BASKETS), **{"k": 2, **options})


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame(LOG)
    twice = pd.concat([frame, frame[["user"]]], axis=1)

    with pytest.raises(MalformedInputError, match="2 are named 'user'"):
        anonymize_log(twice, 2)


@pytest.mark.parametrize("log", [LazyFrame(), 5, None])
def test_what_is_not_a_table_is_refused_by_its_type(log):
    with pytest.raises(MalformedInputError, match=f"of type {type(log).__name__}"):
        anonymize_log(log, 2)
    with pytest.raises(MalformedInputError, match=f"type {type(log).__name__}"):
        anonymize_baskets(log, 2)


def test_a_column_that_is_not_a_sequence_is_refused():
    with pytest.raises(MalformedInputError, match="must be a sequence of values"):
        anonymize_log(LOG | {"time": 5}, 2)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("column", ["user", "time", "query"])
@pytest.mark.parametrize("build", [pd.DataFrame, dict, Frame])
def test_missing_values_of_a_table_are_refused(build, column, missing):
    values = [*LOG[column][:-1], missing]

    with pytest.raises(MalformedInputError) as error:
        anonymize_log(build(LOG | {column: values}), 2)

    assert "pine" not in str(error.value)


@pytest.mark.parametrize("column", ["user", "time"])
def test_masked_values_of_a_column_are_refused(column):
    masked = np.ma.array(range(6), mask=[False, True] * 3)
    with pytest.raises(MalformedInputError, match="masked; 3 are"):
        anonymize_log({**LOG, column: masked}, k=2)


@pytest.mark.parametrize("column", ["record", "item"])
def test_masked_values_of_baskets_are_refused(column):
    masked = np.ma.array(range(7), mask=[True] + [False] * 6)
    with pytest.raises(MalformedInputError, match="masked; 1 are"):
        anonymize_baskets({**BASKETS, column: masked}, k=2)


def test_masked_users_of_records_are_refused():
    users = np.ma.array([1, 2, 3], mask=[False, True, True])
    with pytest.raises(MalformedInputError, match="masked; 2 are"):
        anonymize([["tea"]] * 3, k=2, users=users)


def test_a_set_is_refused_as_a_column_because_it_has_no_order():
    with pytest.raises(MalformedInputError, match="sequence of values; got a value of type set"):
        anonymize_log({**LOG, "user": set("abcdef")}, k=2)


def test_a_list_of_times_with_nat_is_refused():
    times = [*pd.date_range("2026-03-01", periods=5), pd.NaT]
    with pytest.raises(MalformedInputError, match="every query must have a time; 1 have none"):
        anonymize_log({**LOG, "time": times}, k=2)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_dates_as_items_are_published_as_dates_in_any_unit(unit):
    dates = pd.Series(pd.to_datetime(["2026-03-01"] * 2)).astype(f"datetime64[{unit}]")
    result = anonymize_baskets(pd.DataFrame({"record": [1, 2], "item": dates}), k=2)
    assert set(result.release.keywords) == {("2026-03-01 00:00:00",)}


@pytest.mark.parametrize("pack", [tuple, frozenset])
def test_users_that_contain_nan_are_refused(pack):
    users = [pack(["site", float("nan")]) for _ in range(2)]
    with pytest.raises(MalformedInputError, match="must have a user; 2 have none"):
        anonymize([["tea"]] * 2, k=2, users=users)
    with pytest.raises(MalformedInputError, match="record 0 has none"):
        verify([["tea"]] * 2, k=2, users=users)


def test_a_tuple_with_none_is_one_user():
    users = [("site", None)] * 2
    assert anonymize([["tea"]] * 2, k=2, users=users).groups == ()
    assert verify([["tea"]] * 2, k=2, users=users).violations == 2


def test_verify_refuses_a_table_as_users():
    with pytest.raises(MalformedInputError, match="users must be one column"):
        verify([["tea"]] * 2, k=2, users=pd.DataFrame({"a": [1, 1], "b": [1, 1]}))


@pytest.mark.parametrize("column", ["user", "time", "query"])
def test_nulls_of_an_arrow_table_are_refused(column):
    values = pa.array([*LOG[column][:-1], None])

    with pytest.raises(MalformedInputError):
        anonymize_log(pa.table(LOG | {column: values}), 2)


@pytest.mark.parametrize(
    "numbers",
    [
        pa.array([1, 2, 3, 4, 5, None]),
        pa.chunked_array([[1, 2, 3, 4], [5, None]]),
        pd.Series([1, 2, 3, 4, 5, None], dtype="Int64"),
        pd.Series([1, 2, 3, 4, 5, None]),
        pd.Series([1, 2, 3, 4, 5, None], dtype=pd.ArrowDtype(pa.int64())),
    ],
    ids=["arrow", "chunked", "nullable", "float", "arrow-backed"],
)
def test_missing_numbers_of_users_are_refused(numbers):
    with pytest.raises(MalformedInputError, match="1 have none"):
        anonymize_log(LOG | {"user": numbers}, 2)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([["a", "b"], ["a", "b"], ["c"]]),
        pd.Series([np.array(["a", "b"]), np.array(["a", "b"]), np.array(["c"])], index=[7, 7, 9]),
        pd.Series([{"a", "b"}, ("b", "a"), frozenset("c")]),
        Series([["a", "b"], ["a", "b"], ["c"]]),
        pa.array([["a", "b"], ["a", "b"], ["c"]]),
    ],
    ids=["lists", "arrays", "sets", "polars-like", "arrow"],
)
def test_a_column_of_lists_is_anonymized(column):
    result = anonymize(column, 2)

    assert result.records == (frozenset("ab"), frozenset("ab"), None)
    assert verify(column, 2).violations == 1
    table = columns_of(result.to_frame())
    assert table == {"record": [0, 1], "group": [0, 0], "items": [["a", "b"], ["a", "b"]]}


def test_the_table_of_a_series_is_a_frame_of_its_library():
    assert isinstance(anonymize(pd.Series([["a"], ["a"]]), 2).to_frame(), pd.DataFrame)
    assert isinstance(anonymize(Series([["a"], ["a"]]), 2).to_frame(), Frame)
    assert isinstance(anonymize([["a"], ["a"]], 2).to_frame(), dict)


def test_items_of_numpy_arrays_are_published_as_plain_values():
    result = anonymize(pd.Series([np.array([1, 2]), np.array([2, 1])]), 2)

    assert {type(item) for item in result.vocabulary} == {int}


@constructors
def test_a_table_is_not_a_column_of_lists(build):
    with pytest.raises(MalformedInputError, match="one row per item"):
        anonymize(build(LOG), 2)


@pytest.mark.parametrize("users", [pd.Series(["u", "u", "v"], index=[5, 5, 5]), Series("uuv")])
def test_users_may_be_a_series(users):
    result = anonymize([["a"]] * 3, 2, users=users)

    assert None not in result.records
    assert verify(result.records, 2, users=users).smallest_group == 2


def test_reprs_show_counts_and_no_data():
    result = release_log_of({**LOG, "user": [CANARY, "bob", CANARY, "ann", "bob", "dan"]})

    assert repr(result.release) == "QueryRelease(4 threads, 6 queries)"
    assert repr(result.ledger) == "Ledger(4 threads, 3 users)"
    assert repr(result.cost) == ("ReleaseCost(k=2, 5 threads, 9 keywords, cost 1, retained 88.9%)")
    assert repr(Log(*LOG.values())) == "Log(6 queries)"
    assert repr(sweep(LOG, k=[2, 5])) == "Sweep(k=[2, 5])"
    for noun in (result, anonymize([[CANARY]] * 2, 2), utility_of(LOG, k=2)):
        assert CANARY not in repr(noun)
        assert "pine" not in repr(noun)
        assert SECRET.decode() not in repr(noun)


def test_polars_frames_and_series_are_read_and_returned():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(LOG)
    times = frame.with_columns(pl.Series("time", TIMES + TIMES).dt.convert_time_zone("Asia/Tokyo"))

    result = release_log_of(frame)
    assert result == release_log_of(LOG)
    assert isinstance(result.to_frame(), pl.DataFrame)
    assert Log.from_data(times).times.dtype.kind == "M"
    assert release_log_of(times).release == release_log_of(LOG | {"time": TIMES + TIMES}).release
    assert isinstance(anonymize_baskets(pl.DataFrame(BASKETS), k=2).to_frame(), pl.DataFrame)
    column = pl.Series([["a", "b"], ["b", "a"], ["c"]])
    assert anonymize(column, 2).records == (frozenset("ab"), frozenset("ab"), None)
    assert isinstance(anonymize(column, 2).to_frame(), pl.DataFrame)
    assert verify(pl.Series([["a"], ["a"], None]), 2).records == 2
    with pytest.raises(MalformedInputError, match="LazyFrame"):
        anonymize_log(frame.lazy(), 2)
