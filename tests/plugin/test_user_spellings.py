"""Spellings of one user in a source: the reader merges them, and the gate refuses others."""

import pytest
from support.log_stages import log_stages, publish_log

from setanon_core.errors import NotAnonymousError
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source

BOBS = ("bob", "Bob", "b\u200bob", "\ufeffbob", "bob\u00ad", "\uff42ob", "BOB")
LOOK_ALIKE = "b\u043eb"


def write(path, users):
    rows = [f"{user}\t2006-03-01 08:00:{n:02}\ttea" for n, user in enumerate(users)]
    path.write_text("\n".join(["user\ttime\tquery", *rows]) + "\n", encoding="utf-8")
    return Source(str(path), max_rejected=1)


def read_users(source, **options):
    result = read_source(source, **options)
    names = [row[0] for row in result.accepted.order("line").fetchall()]
    return names, result.rejected_by_reason


def test_reader_gives_each_user_one_spelling(tmp_path):
    source = write(tmp_path / "log.tsv", [*BOBS, "ann", LOOK_ALIKE, "7"])
    names, rejected = read_users(source)
    assert names == ["BOB"] * len(BOBS) + ["ann", LOOK_ALIKE, "7"]
    assert not rejected
    assert read_users(source, user_names="exact")[0][: len(BOBS)] == list(BOBS)
    assert len({*read_users(source, user_names="confusable")[0]}) == 3


def test_user_without_a_visible_character_is_missing(tmp_path):
    source = write(tmp_path / "log.tsv", ["ann", "\u200b", "\u00ad\u2060"])
    assert read_users(source) == (["ann"], {"user missing": 2})


def test_names_of_baskets_without_users_are_not_merged(tmp_path):
    path = tmp_path / "baskets.csv"
    path.write_text("record,item\nA1,tea\na1,tea\n")
    result = read_source(Source(str(path), kind="baskets"))
    assert [row[2] for row in result.accepted.fetchall()] == ["A1", "a1"]
    path.write_text("record,item,user\nA1,tea,Bob\na1,tea,bob\n")
    result = read_source(Source(str(path), kind="baskets"))
    assert [row[2] for row in result.accepted.fetchall()] == ["Bob", "Bob"]


def test_gate_refuses_spellings_of_one_user(tmp_path):
    paths = log_stages(tmp_path / "in", users=BOBS[:3])
    with pytest.raises(
        NotAnonymousError, match="each user must have one spelling; 2 are"
    ) as caught:
        publish_log(paths, tmp_path / "out")
    assert "bob" not in str(caught.value).lower()
    assert publish_log(paths, tmp_path / "out", user_names="exact").verdict.ok
