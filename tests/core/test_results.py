"""Results as tables of pandas, Polars and Arrow and as sparse matrices; reprs of one line."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import setanon_core
from setanon_core import (
    InvalidParameterError,
    MalformedInputError,
    MissingPackageError,
    Records,
    anonymize,
    anonymize_baskets,
    anonymize_log,
    sweep,
    utility_of,
    verify,
)
from setanon_core.columns.times import encode_times

CANARY = "canary-7f3a"
SETS = [{"tea", "milk"}, {CANARY}, {"tea", "milk"}]
MATRIX = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 1, 0, 1]])
LOG = [(user, 1, f"tea {CANARY}") for user in (CANARY, "bob")]
METHODS = {"to_pandas": pd.DataFrame, "to_polars": pl.DataFrame, "to_arrow": pa.Table}
methods = pytest.mark.parametrize(("method", "kind"), METHODS.items(), ids=METHODS)


def rows_of(table):
    """The rows of a table as dictionaries."""
    if isinstance(table, pd.DataFrame):
        return table.to_dict("records")
    return table.to_pylist() if isinstance(table, pa.Table) else table.to_dicts()


@methods
def test_withdrawn_records_have_no_row_in_lists_and_pairs(method, kind):
    result = anonymize(SETS, 2)
    lists, pairs = getattr(result, method)(), getattr(result, method)("pairs")

    assert isinstance(lists, kind)
    assert [(row["record"], list(row["items"])) for row in rows_of(lists)] == [
        (0, ["milk", "tea"]),
        (2, ["milk", "tea"]),
    ]
    assert [tuple(row.values()) for row in rows_of(pairs)] == [
        (0, "milk"),
        (0, "tea"),
        (2, "milk"),
        (2, "tea"),
    ]


@methods
def test_withdrawn_records_are_false_in_a_one_hot_table_without_unpublished_items(method, kind):
    frame = pd.DataFrame(MATRIX, columns=[CANARY, "tea", "pie", "milk"], index=[8, 8, 1])
    table = getattr(anonymize(frame, 2), method)()

    assert isinstance(table, kind)
    assert rows_of(table) == [
        {"tea": True, "milk": True},
        {"tea": False, "milk": False},
        {"tea": True, "milk": True},
    ]


@pytest.mark.parametrize("build", [np.asarray, sparse.csc_array, pd.DataFrame])
def test_the_matrix_has_the_rows_and_columns_of_one_hot_input(build):
    result = anonymize(build(MATRIX), 2)

    assert result.to_sparse().toarray().tolist() == [[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert result.published.tolist() == [True, False, True]


def test_the_matrix_of_sets_has_a_column_per_published_item():
    result = anonymize(SETS, 2)

    assert result.vocabulary == ("milk", "tea")
    assert result.to_sparse().toarray().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert (result.to_sparse().T @ result.to_sparse()).dtype == np.int64


@methods
def test_column_numbers_become_names_where_names_must_be_texts(method, kind):
    names = [1, 3] if kind is pd.DataFrame else ["1", "3"]

    assert list(rows_of(getattr(anonymize(MATRIX, 2), method)())[0]) == names


@pytest.mark.parametrize("method", ["to_polars", "to_arrow"])
def test_items_of_several_types_are_refused_without_their_values(method):
    with pytest.raises(MalformedInputError, match="of one type") as error:
        getattr(anonymize([{CANARY, 1}, {CANARY, 1}], 2), method)()

    assert CANARY not in str(error.value)
    assert error.value.__cause__ is None


def test_an_unknown_layout_is_refused():
    with pytest.raises(InvalidParameterError, match="layout must be one of lists, pairs, one_hot"):
        anonymize(SETS, 2).to_frame(layout="wide")


@methods
def test_releases_ledgers_sweeps_and_utilities_are_tables(method, kind):
    result = anonymize_log(LOG, 2)

    for each in (result, result.release, result.ledger, sweep(LOG, 2), utility_of(LOG, 2)):
        assert isinstance(getattr(each, method)(), kind)


def test_the_matrix_of_released_baskets_has_a_row_per_published_basket():
    table = {"record": [1, 1, 2, 2, 3], "item": ["tea", "rum", "rum", "tea", CANARY]}
    release = anonymize_baskets(table, 2).release

    assert release.items == ("rum", "tea")
    assert release.to_sparse().toarray().tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    ("method", "package"),
    [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")],
)
def test_a_missing_package_is_named(monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ImportError, match=f"pip install {package}") as error:
        getattr(anonymize(SETS, 2), method)()
    assert isinstance(error.value, MissingPackageError)


def test_every_result_has_a_repr_of_one_line_without_data():
    log, records = anonymize_log(LOG * 50, 2), anonymize([{CANARY}] * 99, 2)
    results = [
        log, log.release, log.ledger, log.cost, log.verdict, records, records.cost,
        records.certificate, sweep(LOG, range(2, 20)), utility_of(LOG, 2), verify(SETS, 2),
        Records.from_sets(SETS), setanon_core.Log.from_data(LOG),
        anonymize_baskets({"record": [1, 2], "item": [CANARY] * 2}, 2),
    ]  # fmt: skip

    for each in results:
        assert repr(each).startswith(type(each).__name__)
        assert CANARY not in repr(each)
        assert "\n" not in repr(each)
        assert len(repr(each)) < 200
        assert str(each) == repr(each)


@pytest.mark.parametrize(
    "times",
    [
        ["2026-03-02T10:00:00Z", "2026-03-02 10:30:00+01:00", "2026-03-02 09:45"],
        ["2026-03-02", "2026-02-28", "2026-03-01"],
        pd.Series(["2026-03-02", "2026-02-28", "2026-03-01"], dtype="string", index=[3, 3, 3]),
        pd.Series(["2026-03-02", "2026-02-28", "2026-03-01"], dtype="category"),
        pl.Series(["2026-03-02", "2026-02-28", "2026-03-01"]),
        pl.Series(["2026-03-02", "2026-02-28", "2026-03-01"]).str.to_date(),
        pa.array(["2026-03-02", "2026-02-28", "2026-03-01"]).cast(pa.date32()),
        pd.to_datetime(pd.Series(["2026-03-02", "2026-02-28", "2026-03-01"])).dt.date,
        [1141214402.5, 1141214402.25, 1141214402.375],
        ["2026-03-02 08:00:00,75", "2026-03-02 08:00:00.5", "2026-03-02 08:00:00.625 +0000"],
    ],
    ids=lambda times: f"{type(times).__name__}-{getattr(times, 'dtype', '')}",
)
def test_times_may_be_iso_texts_dates_or_numbers(times):
    log = setanon_core.Log.from_data({"user": [1] * 3, "time": times, "query": ["a"] * 3})

    assert np.argsort(encode_times(log.times)).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "text", [CANARY, "", "1141214400", "20060301112", "02/03/2026", "2026-02-30", "now", "2026-03"]
)
def test_other_texts_are_refused_as_times(text):
    with pytest.raises(MalformedInputError, match=r"ISO format if they are texts.*1 of 2") as error:
        anonymize_log([("u", "2026-03-02", "tea"), ("v", text, "tea")], 2)

    assert CANARY not in str(error.value)
