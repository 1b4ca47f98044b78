"""From a log, or baskets, to its measures: what is held out, what is compared, what is told."""

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


def made_up_log(n=900, seed=5):
    rng = np.random.default_rng(seed)
    rows = []
    for time in range(n):
        topic = int(12 * rng.random() ** 2)
        user, more = f"u{rng.integers(n // 6)}", rng.integers(3)
        text = f"topic{topic} word{topic}" + (f" more{more}" if rng.random() < 0.6 else "")
        rows.append((user, time, text))
    return [*rows, ("u0", n, f"{CANARY} {CANARY}s"), ("u1", n + 1, "?!")]


def made_up_baskets(n=300):
    rng = np.random.default_rng(7)
    lines = [" ".join(f"i{item}" for item in {0, *(9 * rng.random(4) ** 2).astype(int)})] * 2
    lines += [
        " ".join(f"i{int(9 * r**2)}" for r in rng.random(rng.integers(1, 6))) for _ in range(n)
    ]
    return Baskets.from_lines([*lines, CANARY])


@pytest.fixture(scope="module")
def measures():
    return measure_log(Log.from_rows(made_up_log()), PARAMS)


def test_the_numbers_are_shares_and_tell_no_word(measures):
    for each in measures:
        numbers = np.array([each.original, each.release, each.paper])
        assert each.cases > 0
        assert ((numbers >= 0) & (numbers <= 1)).all()
        assert CANARY not in repr(each)
        assert "topic" not in repr(each)
    assert len({each.name for each in measures}) == len(measures)


def test_the_guide_has_a_row_for_every_measure(measures):
    guide = (Path(__file__).parents[2] / "docs" / "utility.md").read_text(encoding="utf-8")
    baskets = measure_baskets(made_up_baskets(60), PARAMS)

    assert all(f"\n| {each.name} |" in guide for each in (*measures, *baskets))


def test_more_of_the_release_is_left_than_of_the_papers(measures):
    uses = {each.name: each for each in measures}["keywords: uses kept"]

    assert uses.original == 1
    assert 0 < uses.paper < uses.release < 1


def test_a_measure_is_that_of_the_release_of_the_users_who_are_not_held_out(measures):
    kept, held_out = split_users(Log.from_rows(made_up_log()))
    original = thread_counts(typed_texts(threads_of_log(kept, PARAMS)))
    three = [
        thread_counts(released_texts(release_log(kept, each).release, PARAMS.tokenizer))
        for each in (PARAMS, ReleaseParams(3, "paper", p=2, min_owners=0, secret=b"other"))
    ]
    uses = {each.name: each for each in measures}["keywords: uses kept"]

    assert len(held_out.users) > 0
    assert [uses.release, uses.paper] == [kept_uses(original, each) for each in three]


def test_what_held_out_users_typed_never_reaches_the_anonymizer(monkeypatch):
    seen = []

    def watched(log, params):
        seen.append(set(log.users))
        return release_log(log, params)

    monkeypatch.setattr(compare, "release_log", watched)
    log = Log.from_rows(made_up_log())
    measure_log(log, PARAMS)

    assert len(seen) == 2
    assert not any(users & set(split_users(log)[1].users) for users in seen)


@pytest.mark.parametrize("knobs", [{"format": "sets"}, {"secret": b"another"}])
def test_neither_format_nor_secret_nor_order_of_rows_changes_a_number(measures, knobs):
    rows = made_up_log()
    again = measure_log(Log.from_rows(rows[::-1]), replace(PARAMS, **knobs))

    assert list(map(astuple, again)) == list(map(astuple, measures))


def test_the_papers_release_has_its_own_knobs_and_the_same_k():
    paper = paper_params(replace(PARAMS, grouper="star", p=4, min_owners=7))

    assert (paper.k, paper.method, paper.p, paper.min_owners) == (3, "paper", 2, 0)
    assert paper.grouper is None


def test_a_log_of_which_nothing_can_be_published_is_measured_all_the_same():
    rows = [(f"u{n}", n, f"word{n} another{n}") for n in range(12)]
    found = {each.name: each for each in measure_log(Log.from_rows(rows), PARAMS)}

    assert found["keywords: uses kept"].release == 0
    assert np.isnan(found["next query: hits at 1"].original)
    assert found["next query: hits at 1"].cases == 0


def test_a_log_without_rows_has_no_numbers():
    assert all(np.isnan(each.original) for each in measure_log(Log([], [], []), PARAMS))


def test_words_are_those_of_the_tokenizer_that_was_asked_for():
    params = replace(PARAMS, tokenizer=lambda text: text.upper().split())
    rows = [(f"u{n}", n, "tea, pot") for n in range(30)]
    found = {each.name: each for each in measure_log(Log.from_rows(rows), params)}

    assert found["keywords: uses kept"].release == 1
    assert found["completion of the first word: hits at 1"].release == 1


def test_baskets_have_rules_and_items_that_agree_with_their_release():
    baskets = made_up_baskets()
    measures = {each.name: each for each in measure_baskets(baskets, PARAMS)}
    release = release_baskets(baskets, PARAMS).release
    held = sum(map(len, release.keywords))

    assert 0 < measures["rules: top 100, recall"].release <= 1
    assert measures["items: uses kept"].cases == sum(map(len, basket_sets(baskets)))
    assert measures["items: uses kept"].release <= held / measures["items: uses kept"].cases
    assert CANARY not in repr(measures)


def test_baskets_of_users_count_users():
    lines = [f"ann,tea,milk{n % 2}" for n in range(6)] + ["bob,tea", "cem,tea"]
    found = measure_baskets(Baskets.from_lines(lines, ",", with_user=True), PARAMS)

    assert {each.name: each for each in found}["items: uses kept"].release == pytest.approx(8 / 14)


def test_columns_that_do_not_match_are_refused():
    with pytest.raises(MalformedInputError, match="2 records and 1 items"):
        measure_baskets(Baskets([1, 2], ["tea"]), PARAMS)
