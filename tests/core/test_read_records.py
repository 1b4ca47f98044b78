"""Tables with one row per item, one-hot tables and matrices as records; what else is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from setanon_core import Baskets, MalformedInputError, anonymize, anonymize_baskets, sweep

CANARY = "canary-7f3a"
SETS = [{"tea", "milk"}, {"tea", "milk"}, {"tea"}, {"rum"}]
LONG = {
    "basket": [7, 7, 3, 3, 9, 1],
    "item": ["tea", "milk", "tea", "milk", "tea", "rum"],
    "card": ["a", "a", "b", "b", "c", "d"],
}
ONE_HOT = {"tea": [1, 1, 1, 0], "rum": [0, 0, 0, 1], "milk": [1, 1, 0, 0]}
MATRIX = np.array(list(ONE_HOT.values())).T
EXPECTED = anonymize(SETS, 2)
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}
libraries = pytest.mark.parametrize("build", LIBRARIES.values(), ids=LIBRARIES)


def refusal(data, **options):
    with pytest.raises(MalformedInputError) as caught:
        anonymize(data, 2, **options)
    assert CANARY not in str(caught.value)
    return str(caught.value)


def advised(message, data, k=2):
    """The result of the first line of code in a refusal, executed as it stands."""
    code = message.partition("anonymize(")[2]
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        end += 1
    names = {"anonymize": anonymize, "data": data, "k": k, "polars": pl, "pandas": pd, "numpy": np}
    return eval(f"anonymize({code[:end]}", names)  # noqa: S307 - our own messages


@libraries
def test_a_table_with_one_row_per_item_is_read_in_order_of_first_rows(build):
    result = anonymize(build(LONG), 2, record="basket", item="item", user="card")

    assert result.records == EXPECTED.records
    assert result.cost == EXPECTED.cost


@libraries
def test_users_of_a_table_are_counted_once(build):
    one_user = LONG | {"card": ["a"] * 6}

    result = anonymize(build(one_user), 2, record="basket", item="item", user="card")
    assert result.groups == ()


@libraries
@pytest.mark.parametrize("values", [int, bool, float])
def test_a_one_hot_table_is_read_as_sets_of_column_names(build, values):
    table = {name: list(map(values, column)) for name, column in ONE_HOT.items()}

    assert anonymize(build(table), 2).records == EXPECTED.records


@libraries
def test_a_column_of_users_is_not_an_item(build):
    table = build(ONE_HOT | {"card": ["a", "a", "b", "b"]})

    result = anonymize(table, 2, user="card")
    assert result.records == anonymize(SETS, 2, users=["a", "a", "b", "b"]).records


@pytest.mark.parametrize(
    "matrix",
    [
        MATRIX,
        MATRIX.astype(bool),
        MATRIX.astype(np.float32),
        MATRIX.astype(object),
        np.asfortranarray(MATRIX),
        sparse.csr_array(MATRIX),
        sparse.csc_matrix(MATRIX),
        sparse.coo_array(MATRIX.astype(bool)),
        sparse.lil_matrix(MATRIX.astype(float)),
    ],
    ids=lambda matrix: f"{type(matrix).__name__}-{matrix.dtype}",
)
def test_a_matrix_is_read_as_sets_of_column_numbers(matrix):
    names = list(ONE_HOT)
    records = anonymize(matrix, 2).records

    assert [record and {names[item] for item in record} for record in records] == list(
        EXPECTED.records
    )


def test_explicit_zeros_of_a_sparse_matrix_are_no_items():
    matrix = sparse.csr_array((np.array([1, 0, 1]), np.array([0, 1, 0]), np.array([0, 2, 3])))

    assert anonymize(matrix, 2).records == ({0}, {0})


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 1, 0], dtype="Int8", index=[5, 5, 9]),
        pd.Series([True, True, False], dtype="boolean"),
        pd.Series([1, 1, 0], dtype="category"),
        pd.Series([1, 1, 0], dtype=pd.SparseDtype(int, 0)),
        pd.Series([1, 1, 0], dtype=pd.ArrowDtype(pa.int8())),
        pd.Series([True, 1, 0.0], dtype=object),
        pl.Series([True, True, False]),
        pa.array([1, 1, 0]).dictionary_encode(),
        np.array([1, 1, 0]),
        (1, 1, 0),
    ],
    ids=lambda column: f"{type(column).__name__}-{getattr(column, 'dtype', '')}",
)
def test_one_hot_columns_may_be_of_any_type_and_have_any_index(column):
    assert anonymize({"tea": column}, 2).records == ({"tea"}, {"tea"}, None)


@pytest.mark.parametrize(
    "items",
    [
        pd.Series(LONG["item"], dtype="category", index=[4, 4, 0, 1, 2, 9]),
        pd.Series(LONG["item"], dtype="string"),
        pl.Series(LONG["item"], dtype=pl.Categorical),
        pa.array(LONG["item"]).dictionary_encode(),
        pa.chunked_array([LONG["item"][:2], LONG["item"][2:]]).dictionary_encode(),
    ],
    ids=["category", "string", "categorical", "dictionary", "chunked"],
)
def test_items_may_be_categories_and_have_any_index(items):
    result = anonymize(LONG | {"item": items}, 2, record="basket", item="item")

    assert result.records == EXPECTED.records


@libraries
def test_missing_items_and_users_of_a_table_are_refused(build):
    for column in ("basket", "item", "card"):
        table = build(LONG | {column: [*LONG[column][:5], None]})
        assert (
            "must have a user"
            in (message := refusal(table, record="basket", item="item", user="card"))
            or "may be missing" in message
        )


@libraries
@pytest.mark.parametrize("values", [[1, 1, None], [True, True, None]])
def test_missing_values_of_a_one_hot_table_are_refused_with_the_code_that_fills_them(build, values):
    data = build({"tea": values, CANARY: [True, True, False]})
    message = refusal(data)

    assert "may be missing; 1 are" in message
    assert advised(message, data).cost.total == 0


@pytest.mark.parametrize("matrix", [np.array, lambda rows: sparse.csr_array(np.array(rows))])
def test_missing_values_of_a_matrix_are_refused_with_the_code_that_fills_them(matrix):
    data = matrix([[1.0, 0.0], [1.0, np.nan]])
    message = refusal(data)

    assert "may be missing; 1 are" in message
    assert advised(message, data).records == ({0}, {0})


@libraries
def test_counts_are_refused_with_the_code_that_reads_them(build):
    data = build({"tea": [2, 1], CANARY: [0, 3]})
    message = refusal(data)

    assert "0 or 1; 2 are other numbers, in columns 0, 1" in message
    assert advised(message, data).records == ({"tea"}, {"tea"})


@pytest.mark.parametrize("matrix", [np.array, lambda rows: sparse.coo_array(np.array(rows))])
def test_counts_of_a_matrix_are_refused_with_the_code_that_reads_them(matrix):
    data = matrix([[2, 0], [1, 0]])
    message = refusal(data)

    assert "0 or 1; 1 are other numbers, in column 0" in message
    assert advised(message, data).records == ({0}, {0})


@libraries
def test_columns_of_numbers_may_be_ids_and_the_code_that_drops_them_is_named(build):
    data = build({"tea": [1, 1], "id": [7, 8]})
    message, _, advice = refusal(data).partition(" If these columns are no items")

    assert "2 are other numbers, in column 1." in message
    assert advised(advice, data).records == ({"tea"}, {"tea"})


@libraries
def test_columns_that_are_no_items_are_refused_by_number_with_the_code_that_drops_them(build):
    data = build({CANARY: [CANARY, CANARY], "tea": [1, 1], "id": [7, 8]})
    message = refusal(data)

    assert "columns 0, 2 of 3" in message
    assert advised(message, data).records == ({"tea"}, {"tea"})


@libraries
def test_a_table_of_texts_is_refused_with_the_code_for_each_reading(build):
    data = build({CANARY: ["tea", "tea"], "b": [CANARY, CANARY]})
    message = refusal(data)

    assert "anonymize(data, k, record='...', item='...', user='...')" in message
    rows = message.partition("per item; ")[2]
    assert advised(rows, data).records == ({"tea", CANARY},) * 2


@libraries
def test_a_table_with_lists_is_refused_with_the_code_that_selects_them(build):
    data = build({"id": [1, 2], CANARY: [["tea", CANARY], [CANARY, "tea"]]})
    message = refusal(data)

    assert "column 1 has lists" in message
    line = message.replace(", users=...", "")
    assert advised(line, data).records == ({"tea", CANARY},) * 2


def test_arrays_of_texts_or_of_three_dimensions_are_refused():
    texts = np.array([["tea", CANARY], ["tea", CANARY]])

    assert advised(refusal(texts).partition("per item; ")[2], texts).cost.total == 0
    assert "got 3 dimensions" in refusal(np.zeros((2, 2, 2), int))
    assert "masked; 1 are" in refusal(np.ma.array([[1, 0]], mask=[[True, False]]))


def test_repeated_column_names_are_refused_with_the_code_that_merges_them():
    data = pd.DataFrame([[1, 0], [0, 1]], columns=[CANARY, CANARY])
    message = refusal(data)

    assert "own name; 1 repeat another" in message
    assert anonymize(data.T.groupby(level=0).max().T, 2).cost.total == 0


@libraries
def test_empty_tables_are_refused(build):
    empty = build({"record": [], "item": []})

    assert "at least one record" in refusal(empty)
    assert "at least one record" in refusal(empty, record="record", item="item")
    assert "got 0 columns" in refusal(build({}))


def test_a_lazy_frame_is_refused_with_the_code_that_collects_it():
    assert "anonymize(data.collect(), k, ...)" in refusal(pl.LazyFrame(ONE_HOT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": "basket"}, "record and item must be named together; got record only"),
        ({"item": "item", "user": "card"}, "named together; got item, user only"),
        ({"record": "basket", "item": "item", "users": [1] * 4}, "must be a column of a table"),
        ({"user": "card", "users": [1] * 4}, "must not be passed together"),
        ({"record": "basket", "item": "product"}, "it has no column 'product'"),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(options, message):
    assert message in refusal(pd.DataFrame(LONG), **options)


def test_columns_of_what_is_no_table_are_refused():
    assert "record, item must name columns of a table" in refusal(SETS, record="a", item="b")


def test_a_record_with_two_users_is_refused():
    message = refusal(LONG | {"card": list("abcdef")}, record="basket", item="item", user="card")
    assert "2 have several" in message


@pytest.mark.parametrize("data", [SETS, MATRIX, pd.DataFrame(ONE_HOT)], ids=["sets", "array", "df"])
def test_sets_and_one_hot_data_can_be_released_and_swept_as_baskets(data):
    baskets = Baskets.from_sets(data, users=["Ann", "bob", "cem", "ann"])

    assert sweep(baskets, k=2).points[0].certificate.cost == EXPECTED.cost
    assert anonymize_baskets(baskets, 2).verdict.ok
    assert baskets.users == [0, 0, 1, 1, 2, 0]
