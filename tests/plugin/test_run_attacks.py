"""Attacks on stage files and on tables: known answers, and no data in the results."""

import numpy as np
import pyarrow as pa
import pytest
from support.reports import write_stages

from setanon_core.params import ReleaseParams
from setanon_core.pipeline.log import anonymize_log
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.risk import repeated_releases, run_attacks
from setanon_dagster.risk.repeated_releases import certified_counts, draw_guesses
from setanon_dagster.risk.run_attacks import attack_stored, attack_table
from setanon_dagster.risk.versions import attacked_versions, release_tables
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.threads import threads_table

WORDS = ("pine", "straw", "garden", "ashby", "quimsby", "ann", "bob", "user0")


@pytest.fixture
def stages(tmp_path):
    with open_stages(write_stages(tmp_path)) as connection:
        yield connection


def figures_of(results):
    return {each.name: each for result in results for each in result.figures}


def raw_table(rows):
    users, times, queries = zip(*rows, strict=True)
    times = pa.array(times, pa.timestamp("us"))
    return pa.table({"user": users, "time": times, "query": queries})


def test_attacks_on_stage_files_have_the_known_answers(stages):
    results = attack_stored(stages, "log", ReleaseParams(k=3))
    figures = figures_of(results)

    # Threads 0, 1 and 8 have one set, of two users; 3 and 5 have one; the others have their own.
    assert figures["set of fewer than k users"].raw == 1
    assert figures["set of one user"].raw == pytest.approx(4 / 9)
    assert figures["list of queries of fewer than k users"].release == 0
    # bob's thread has the added keyword hose.
    assert figures["keywords true for their thread"].release == pytest.approx(13 / 14)
    assert figures["sets typed whole by fewer than k users"].release == 0
    assert all(np.isnan(each.paper) for each in figures.values())
    assert not [word for word in WORDS if word in repr(results)]


def test_attacks_on_a_smaller_k_find_what_the_release_does_not_hide(stages):
    figures = figures_of(attack_stored(stages, "log", ReleaseParams(k=4)))

    assert figures["list of queries of fewer than k users"].release == 1


def test_large_source_has_no_attacks_in_a_plain_report(stages, monkeypatch):
    monkeypatch.setattr(run_attacks, "MAX_THREADS", 8)
    assert attack_stored(stages, "log", ReleaseParams(k=3)) == ()
    monkeypatch.setattr(run_attacks, "MAX_THREADS", 9)
    assert attack_stored(stages, "log", ReleaseParams(k=3))


def test_full_attacks_have_all_versions_and_no_data(monkeypatch):
    monkeypatch.setattr(repeated_releases, "PERSONS", 1)
    monkeypatch.setattr(repeated_releases, "GUESSES", 2)
    rows = [(f"user0{n}", n, "pine straw") for n in range(4)]
    rows += [(f"user0{n}", 90 + n, f"garden{n} hose{n}") for n in range(3)]
    results = list(attack_table(raw_table(rows), "log", ReleaseParams(k=2), full=True))

    assert [result.name for result in results] == [
        "Uniqueness", "Partial knowledge", "Homogeneity", "Combinations", "Stitching",
        "Differencing", "Attacker's accounts",
    ]  # fmt: skip
    figures = figures_of(results)
    # The rare threads are withdrawn; one account per guess makes their sets those of two users.
    assert figures["true guesses confirmed"].release == 1
    assert figures["false guesses confirmed"].release == 0
    assert figures["sets with more threads that are a set of the person"].release == 1
    assert figures["persons counted exactly by two certificates"].release in {0, 1}
    assert not [word for word in WORDS if word in repr(results)]


def test_public_counts_of_withdrawn_threads_do_not_follow_from_two_certificates():
    rows = [(f"user0{n}", n, "pine straw") for n in range(4)]
    rows += [(f"user0{n}", 90 + n, f"garden{n} hose{n}") for n in range(3)]
    exact, public = certified_counts(anonymize_log(rows, k=2))
    exact_before, public_before = certified_counts(anonymize_log(rows[:-1], k=2))

    assert exact.tolist() == [7, 14]
    assert (exact - exact_before).tolist() == [1, 2]
    assert (public - public_before).tolist() == [0, 0]
    # A published thread can be counted in the file anyway.
    _, public_before = certified_counts(anonymize_log(rows[1:], k=2))
    assert (public - public_before).tolist() == [1, 2]


def test_knowledge_that_finds_nobody_has_a_sentence_of_its_own(stages):
    knowledge = attack_stored(stages, "log", ReleaseParams(k=3))[1]
    assert knowledge.sentence.startswith("No knowledge of one thread singles out any of 6 persons")
    assert knowledge.figures[-1].release == 0
    assert knowledge.figures[-1].raw > 0


def test_guesses_are_threads_of_one_user_and_sets_that_nobody_typed():
    rows = [(f"user0{n}", n, "pine straw") for n in range(4)]
    rows += [(f"user0{n}", 90 + n, f"garden{n} hose{n}") for n in range(3)]
    params = ReleaseParams(k=2)
    clusters = clusters_table(threads_table(raw_table(rows), params), params)
    data = attacked_versions(clusters, release_tables(clusters, params), None, 2, has_queries=True)
    true, false = draw_guesses(clusters["user"].to_pylist(), data.raw)

    typed = {(user, query) for user, _, query in rows}
    assert len(true) == 3
    assert {(guess.victim, *guess.queries) for guess in true} <= typed
    assert len(false) == 2
    sets = {frozenset(query.split()) for _, query in typed}
    assert not [guess for guess in false if frozenset(guess.queries[0].split()) in sets]


def test_baskets_have_the_attacks_on_sets_only():
    rows = [(str(n), item, str(n)) for n in range(4) for item in ("pine", "straw")[: 1 + n % 2]]
    raw = pa.table(dict(zip(("record", "item", "user"), zip(*rows, strict=True), strict=True)))
    params = ReleaseParams(k=2, format="sets")
    results = list(attack_table(raw, "baskets", params, full=True))

    assert [result.name for result in results][-1] == "Stitching"
    assert not [name for name in figures_of(results) if "list" in name]
