"""Utility of logs and baskets: held-out users, releases compared, and no data in the result."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest

from setanon_core import MalformedInputError
from setanon_core.model.inputs import Baskets, Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import release_baskets
from setanon_core.pipeline.log import release_log, threads_of_log
from setanon_core.utility import compare
from setanon_core.utility.compare import (
    basket_sets,
    measure_baskets,
    measure_log,
    paper_params,
)
from setanon_core.utility.frequencies import kept_uses, thread_counts
from setanon_core.utility.query_texts import released_texts, split_users, typed_texts

PARAMS = ReleaseParams(k=3, secret=b"for tests only")
CANARY = "glimmerwick"


def random_log(n=900, seed=5):
    rng = np.random.default_rng(seed)
    rows = []
    for time in range(n):
        topic = int(12 * rng.random() ** 2)
        user, more = f"u{rng.integers(n // 6)}", rng.integers(3)
        text = f"topic{topic} word{topic}" + (f" more{more}" if rng.random() < 0.6 else "")
        rows.append((user, time, text))
    return [*rows, ("u0", n, f"{CANARY} {CANARY}s"), ("u1", n + 1, "?!")]


def random_baskets(n=300):
    rng = np.random.default_rng(7)
    lines = [" ".join(f"i{item}" for item in {0, *(9 * rng.random(4) ** 2).astype(int)})] * 2
    lines += [
        " ".join(f"i{int(9 * r**2)}" for r in rng.random(rng.integers(1, 6))) for _ in range(n)
    ]
    return Baskets.from_lines([*lines, CANARY])


@pytest.fixture(scope="module")
def measures():
    return measure_log(Log.from_rows(random_log()), PARAMS)


def test_values_are_shares_and_measures_contain_no_word(measures):
    for each in measures:
        values = np.array([each.original, each.release, each.paper])
        assert each.cases > 0
        assert ((values >= 0) & (values <= 1)).all()
        assert CANARY not in repr(each)
        assert "topic" not in repr(each)
    assert len({each.name for each in measures}) == len(measures)


def test_the_documentation_has_a_row_for_every_measure(measures):
    page = (Path(__file__).parents[2] / "docs" / "utility.md").read_text(encoding="utf-8")
    baskets = measure_baskets(random_baskets(60), PARAMS)

    assert all(f"\n| {each.name} |" in page for each in (*measures, *baskets))


def test_the_release_keeps_more_than_the_papers_release(measures):
    uses = {each.name: each for each in measures}["keywords: uses kept"]

    assert uses.original == 1
    assert 0 < uses.paper < uses.release < 1


def test_a_measure_is_computed_on_the_release_of_the_kept_users(measures):
    kept, held_out = split_users(Log.from_rows(random_log()))
    original = thread_counts(typed_texts(threads_of_log(kept, PARAMS)))
    releases = [
        thread_counts(released_texts(release_log(kept, each).release, PARAMS.tokenizer))
        for each in (PARAMS, ReleaseParams(3, "paper", p=2, min_owners=0, secret=b"other"))
    ]
    uses = {each.name: each for each in measures}["keywords: uses kept"]

    assert len(held_out.users) > 0
    assert [uses.release, uses.paper] == [kept_uses(original, each) for each in releases]


def test_queries_of_held_out_users_are_not_anonymized(monkeypatch):
    released_users = []

    def spy(log, params):
        released_users.append(set(log.users))
        return release_log(log, params)

    monkeypatch.setattr(compare, "release_log", spy)
    log = Log.from_rows(random_log())
    measure_log(log, PARAMS)

    assert len(released_users) == 2
    assert not any(users & set(split_users(log)[1].users) for users in released_users)


@pytest.mark.parametrize("change", [{"format": "sets"}, {"secret": b"another"}])
def test_format_secret_and_order_of_rows_make_no_difference(measures, change):
    rows = random_log()
    again = measure_log(Log.from_rows(rows[::-1]), replace(PARAMS, **change))

    assert list(map(astuple, again)) == list(map(astuple, measures))


def test_the_papers_release_has_the_papers_parameters_and_the_same_k():
    paper = paper_params(replace(PARAMS, grouper="star", p=4, min_owners=7))

    assert (paper.k, paper.method, paper.p, paper.min_owners) == (3, "paper", 2, 0)
    assert paper.grouper is None


def test_a_log_without_publishable_threads_is_measured():
    rows = [(f"u{n}", n, f"word{n} another{n}") for n in range(12)]
    measures = {each.name: each for each in measure_log(Log.from_rows(rows), PARAMS)}

    assert measures["keywords: uses kept"].release == 0
    assert np.isnan(measures["next query: hits at 1"].original)
    assert measures["next query: hits at 1"].cases == 0


def test_the_values_of_an_empty_log_are_nan():
    assert all(np.isnan(each.original) for each in measure_log(Log([], [], []), PARAMS))


def test_queries_are_split_by_the_given_tokenizer():
    params = replace(PARAMS, tokenizer=lambda text: text.upper().split())
    rows = [(f"u{n}", n, "tea, pot") for n in range(30)]
    measures = {each.name: each for each in measure_log(Log.from_rows(rows), params)}

    assert measures["keywords: uses kept"].release == 1
    assert measures["completion of the first word: hits at 1"].release == 1


def test_measures_of_baskets_agree_with_their_release():
    baskets = random_baskets()
    measures = {each.name: each for each in measure_baskets(baskets, PARAMS)}
    release = release_baskets(baskets, PARAMS).release
    published = sum(map(len, release.keywords))

    assert 0 < measures["rules: top 100, recall"].release <= 1
    assert measures["items: uses kept"].cases == sum(map(len, basket_sets(baskets)))
    assert measures["items: uses kept"].release <= published / measures["items: uses kept"].cases
    assert CANARY not in repr(measures)


def test_several_baskets_of_one_user_count_as_one_user():
    lines = [f"ann,tea,milk{n % 2}" for n in range(6)] + ["bob,tea", "cem,tea"]
    measures = measure_baskets(Baskets.from_lines(lines, ",", with_user=True), PARAMS)

    assert {each.name: each for each in measures}["items: uses kept"].release == pytest.approx(
        8 / 14
    )


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(MalformedInputError, match="2 records and 1 items"):
        measure_baskets(Baskets([1, 2], ["tea"]), PARAMS)
