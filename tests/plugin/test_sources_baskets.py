"""Baskets, as pairs or one a line, with users or without."""

import pytest
from support.sourced import refused, rows

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"record,item\nr1,milk\nr1,bread\nr2,\n",
         [("r1", "milk", "r1", 2), ("r1", "bread", "r1", 3)]),
        (b"r1,milk\n,bread\n", [("r1", "milk", "r1", 1)]),
        (b"item,user,record\nmilk,ann,r1\nmilk,,r2\n", [("r1", "milk", "ann", 2)]),
    ],
)  # fmt: skip
def test_baskets_may_come_as_pairs(read, data, expected):
    found = read(data, "x.csv", kind="baskets")
    assert rows(found) == expected
    assert found.accepted.columns == ["record", "item", "user", "line"]
    assert found.lines == found.accepted_lines + sum(found.rejected_by_reason.values())


def test_baskets_may_come_one_a_line(read):
    found = read(b"12 7 \n7\n\n  \n", "x.dat", kind="baskets", layout="lines")
    assert rows(found) == [("1", "12", "1", 1), ("1", "7", "1", 1), ("2", "7", "2", 2)]
    assert refused(found) == [(4, "item missing")]
    assert (found.lines, found.accepted_lines, found.blank_lines) == (3, 2, 1)


def test_a_basket_a_line_may_begin_with_its_user(read):
    found = read(
        b'ann,"milk, fresh",,bread\n,milk\nbob\n', "x.csv",
        kind="baskets", layout="lines", with_user=True,
    )  # fmt: skip
    assert rows(found) == [("1", "milk, fresh", "ann", 1), ("1", "bread", "ann", 1)]
    assert refused(found) == [(2, "user missing"), (3, "item missing")]


def test_baskets_with_a_column_that_may_be_the_user_must_name_it_or_say_none(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("record,item,customer\n1,tea,ann\n2,tea,ann\n")

    with pytest.raises(MalformedInputError, match="the columns record, item"):
        read_source(Source(str(path), kind="baskets"))
    named = read_source(Source(str(path), kind="baskets", user_column="customer"))
    assert {row[2] for row in named.accepted.fetchall()} == {"ann"}
    alone = read_source(Source(str(path), kind="baskets", user_column=None))
    assert {row[2] for row in alone.accepted.fetchall()} == {"1", "2"}
