"""Owners of keywords are counted correctly whether or not the probed rows settle a keyword."""

import duckdb
import pytest

from setanon_dagster.verifier import keyword_owners

TYPED = [
    ("ann", ["pine"]), ("bob", ["pine", "straw"]), ("cem", ["pine", "straw", "pine"]),
    ("ann", ["pine"]), ("dan", ["pine", "oak"]), ("eve", ["fern", "oak"]),
    ("eve", ["fern"]), ("ann", ["oak"]), ("eve", ["fern", "oak"]),
]  # fmt: skip
PUBLISHED = "SELECT unnest(['pine', 'straw', 'fern', 'pine', 'rose', 'oak', 'elm']) AS value"


@pytest.fixture(params=[0, 1, 3, 100], ids=lambda rows: f"probe of {rows} rows")
def connection(request, monkeypatch):
    monkeypatch.setattr(keyword_owners, "PROBE", request.param)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE clusters (thread BIGINT, "user" VARCHAR, words VARCHAR[])')
        rows = [(thread, *row) for thread, row in enumerate(TYPED)]
        connection.executemany("INSERT INTO clusters VALUES (?, ?, ?)", rows)
        yield connection


def test_owners_are_counted_up_to_the_limit(connection):
    counts = keyword_owners.owners_per_keyword(connection, PUBLISHED, "clusters", 3)
    assert counts == [(0, 2), (1, 1), (2, 1), (3, 2)]


@pytest.mark.parametrize(("min_owners", "rare"), [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])
def test_keywords_with_too_few_owners_are_rare(connection, min_owners, rare):
    assert keyword_owners.count_rare_keywords(connection, PUBLISHED, "clusters", min_owners) == rare


def test_rare_keywords_are_counted_per_thread(connection):
    rare = connection.sql(keyword_owners.rare_values_per_thread("clusters", "words", 3))
    assert sorted(rare.fetchall()) == [(1, 1), (2, 1), (5, 1), (6, 1), (8, 1)]
