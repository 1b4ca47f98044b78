"""Parameters of a source: values and combinations that are refused."""

import pytest

from setanon_core.errors import InvalidParameterError
from setanon_dagster.sources.source import Source


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kind": "logs"}, "kind must be one of log, baskets; got 'logs'"),
        ({"encoding": "utf-7"}, "encoding must be one of utf-8, utf-16, windows-1252, latin-1"),
        ({"longest_line": 0}, "longest_line must be at least 1; got 0"),
        ({"delimiter": '"'}, "delimiter must be one ASCII character"),
        ({"delimiter": "ab"}, "delimiter must be .*; got 2 characters"),
        ({"delimiter": 9}, "delimiter must be .*; got a value of type int"),
        ({"time_format": "%Q"}, "time_format must be one of iso"),
        ({"time_format": "when"}, "time_format must be one of iso"),
        ({"user_column": -1}, "user_column must be a column name, or a position from 0"),
        ({"time_column": True}, "time_column must be an integer; got a value of type bool"),
        ({"time_column": None}, "time_column must be an integer; got a value of type NoneType"),
        ({"query_column": " "}, "query_column must be a column name"),
        ({"layout": "lines"}, "a log must have one row per query, with its user"),
        ({"user_column": None}, "a log must have one row per query, with its user"),
        ({"with_user": True}, "with_user must be used with layout='lines'"),
        ({"kind": "baskets", "layout": "lines", "table": "t"}, "must be used with text files"),
    ],
)
def test_values_out_of_range_are_refused(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        Source("x", **parameters)


@pytest.mark.parametrize(
    "uri", ["x.parquet", "x.PQ", ("x.parquet",), ("x.txt", "y.parquet"), ("x.pq", "y.txt")]
)
def test_layout_lines_is_refused_if_any_path_is_parquet(uri):
    assert Source(uri, kind="baskets")
    with pytest.raises(InvalidParameterError, match="layout='lines' must be used with text files"):
        Source(uri, kind="baskets", layout="lines")


def test_layout_lines_is_accepted_for_several_text_files():
    source = Source(("a.txt", "b.txt"), kind="baskets", layout="lines")
    assert source.uris == ("a.txt", "b.txt")
