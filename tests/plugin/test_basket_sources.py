"""Baskets as (record, item) pairs or one per line, with or without users."""

import pytest
from support.source_rows import accepted, rejected

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
def test_baskets_are_read_as_pairs(read, data, expected):
    result = read(data, "x.csv", kind="baskets")
    assert accepted(result) == expected
    assert result.accepted.columns == ["record", "item", "user", "line"]
    assert result.lines == result.accepted_lines + sum(result.rejected_by_reason.values())


def test_baskets_are_read_one_per_line(read):
    result = read(b"12 7 \n7\n\n  \n", "x.dat", kind="baskets", layout="lines")
    assert accepted(result) == [("1", "12", "1", 1), ("1", "7", "1", 1), ("2", "7", "2", 2)]
    assert rejected(result) == [(4, "item missing")]
    assert (result.lines, result.accepted_lines, result.blank_lines) == (3, 2, 1)


def test_the_first_cell_of_a_basket_line_may_be_its_user(read):
    result = read(
        b'ann,"milk, fresh",,bread\n,milk\nbob\n', "x.csv",
        kind="baskets", layout="lines", with_user=True,
    )  # fmt: skip
    assert accepted(result) == [("1", "milk, fresh", "ann", 1), ("1", "bread", "ann", 1)]
    assert rejected(result) == [(2, "user missing"), (3, "item missing")]


def test_baskets_with_a_third_column_require_user_column_to_be_set(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("record,item,customer\n1,tea,ann\n2,tea,ann\n")

    with pytest.raises(MalformedInputError, match="the columns record, item"):
        read_source(Source(str(path), kind="baskets"))
    with_users = read_source(Source(str(path), kind="baskets", user_column="customer"))
    assert {row[2] for row in accepted(with_users)} == {"ann"}
    without_users = read_source(Source(str(path), kind="baskets", user_column=None))
    assert {row[2] for row in accepted(without_users)} == {"1", "2"}


@pytest.mark.parametrize("spelling", ["Jos\u00e9", "Jose\u0301", " Jose\u0301", "Jos\u00e9  "])
def test_spellings_of_one_user_of_baskets_become_one_user(read, spelling):
    data = f"record,item,user\nr1,milk,{spelling}\nr2,milk,Jos\u00e9\n".encode()

    users = [user for _, _, user, _ in accepted(read(data, "x.csv", kind="baskets"))]

    assert len(users) == 2
    assert len(set(users)) == 1
