"""Facts of the decision page, compared with counts by brute force."""

from collections import defaultdict
from random import Random

import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.release_facts import (
    Sharing,
    lists_of_exactly,
    mean_chance_of_lists,
    mean_chance_of_people,
    read_facts,
    worst_chance,
)

SCHEMAS = {
    "raw": pa.schema({"user": pa.string(), "time": pa.timestamp("us"), "query": pa.string()}),
    "ledger": pa.schema({"thread": pa.int64(), "user": pa.string()}),
}


def write_release(folder, threads, form="queries"):
    """Stage files of threads, given as (user, queries), and a source with one more user."""
    tables = {
        "raw": [{"user": user, "time": 0, "query": "typed"} for user, _ in [*threads, ("zoe", [])]],
        "ledger": [{"thread": n, "user": user} for n, (user, _) in enumerate(threads)],
        "anonymized_threads": [
            {"thread": n, "group": 0, "keywords": queries}
            if form == "sets"
            else {"thread": n, "group": 0, "position": at, "query": query}
            for n, (_, queries) in enumerate(threads)
            for at, query in enumerate([queries] if form == "sets" else queries)
        ],
    }
    paths = {}
    for stage, rows in tables.items():
        paths[stage] = folder / f"{stage}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows, SCHEMAS.get(stage)), paths[stage])
    return paths


def facts_of(folder, threads, form="queries"):
    with open_stages(write_release(folder, threads, form)) as connection:
        return read_facts(connection, form, "log.tsv", None)


@pytest.mark.parametrize("form", ["queries", "edited", "sets"])
@pytest.mark.parametrize("seed", range(3))
def test_chances_equal_those_counted_by_brute_force(tmp_path, seed, form):
    random = Random(seed)  # noqa: S311 - test data
    lists = [["pine"], ["pine", "straw"], ["straw", "pine"], ["hose"] * 9]
    if form == "sets":
        lists = [["pine"], ["pine", "straw"], ["hose"]]
    threads = [(f"u{random.randrange(12)}", random.choice(lists)) for _ in range(40)]
    facts = facts_of(tmp_path, threads, form)

    users = defaultdict(set)
    for user, queries in threads:
        users[tuple(queries)].add(user)
    chances = [1 / len(each) for each in users.values()]
    worst_of = {
        user: max(1 / len(each) for each in users.values() if user in each) for user, _ in threads
    }
    assert worst_chance(facts.sharing) == max(chances)
    assert mean_chance_of_lists(facts.sharing) == pytest.approx(sum(chances) / len(chances))
    assert mean_chance_of_people(facts.sharing) == pytest.approx(
        sum(worst_of.values()) / len(worst_of)
    )
    for k in range(13):
        assert lists_of_exactly(facts.sharing, k) == sum(len(each) == k for each in users.values())
    assert facts.published_people == len(worst_of)
    assert facts.people == len({user for user, _ in threads}) + 1
    assert facts.rows == len(threads) + 1
    assert facts.published_rows == (0 if form == "sets" else sum(len(q) for _, q in threads))


def test_order_of_queries_makes_another_list(tmp_path):
    threads = [("ann", ["pine", "hose"]), ("bob", ["hose", "pine"]), ("cem", ["hose", "pine"])]
    assert facts_of(tmp_path, threads).sharing == (Sharing(1, 1, 1), Sharing(2, 1, 2))


def test_empty_release_has_no_chance_of_a_right_guess():
    assert worst_chance(()) == mean_chance_of_lists(()) == mean_chance_of_people(()) == 0
