"""Promises of a release, validated without Dagster: each broken promise fails its own checks."""

from functools import partial

import pytest

pytest.importorskip("great_expectations")

from support.stage_files import (
    ALL_WITHDRAWN,
    AS_SETS,
    CANARIES,
    GOOD,
    K,
    write_stages,
)

from setanon_dagster.quality import release_counts, release_tables
from setanon_dagster.quality.data_docs import DataDocs
from setanon_dagster.quality.expectations import BATCH
from setanon_dagster.quality.promises import ReleasePromises, promised_checks
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.quality.validation import _batches, _expectations, run_expectations


def promises(form="queries"):
    return ReleasePromises(k=K, min_owners=K, format=form)


def results(files, form="queries"):
    """Results of all expectations on the counts of these files, without a GX context."""
    expectations = _expectations(promises(form))
    with open_stages(files) as connection:
        return {
            name: expectations[name]._validate({BATCH: batch()})  # noqa: SLF001
            for name, batch in _batches(connection, promises(form)).items()
        }


def failed(files, form="queries"):
    return {name for name, result in results(files, form).items() if not result["success"]}


@pytest.fixture(params=[release_tables.THREADS_AT_ONCE, 1])
def threads_at_once(request, monkeypatch):
    """Joined in one range of thread numbers, and in as many ranges as there are threads."""
    monkeypatch.setattr(release_tables, "THREADS_AT_ONCE", request.param)


@pytest.mark.usefixtures("threads_at_once")
@pytest.mark.parametrize(("changed", "form"), [({}, "queries"), (AS_SETS, "sets")])
def test_good_release_keeps_all_promises(tmp_path, changed, form):
    assert failed(write_stages(tmp_path, **changed), form) == set()


def test_release_of_which_nothing_is_left_keeps_all_other_promises(tmp_path):
    assert failed(write_stages(tmp_path, **ALL_WITHDRAWN)) == {"something_is_left"}


def test_great_expectations_and_direct_validation_agree(tmp_path):
    files = write_stages(tmp_path, cost_report=GOOD["cost_report"].replace("3 AS k", "2 AS k"))
    outcomes = run_expectations(partial(open_stages, files), promises())
    assert list(outcomes) == list(promised_checks("queries"))
    assert {name for name, outcome in outcomes.items() if not outcome.passed} == failed(files)


RELEASE, LEDGER, CLUSTERS, COST = (
    GOOD[stage] for stage in ("anonymized_threads", "ledger", "clusters", "cost_report")
)
REPEATED = RELEASE.replace("0::BIGINT AS position", "1::BIGINT AS position")
BROKEN = {
    "set of k - 1 users": (
        {"ledger": LEDGER.replace(", user", ", replace(user, '3', '2') AS user")},
        {"every_list_has_k_users", "every_set_has_k_users", "threads_are_unique"},
    ),
    "another set for one thread": (
        {
            "anonymized_threads": RELEASE.replace(
                "'canaryword straw' AS", "'straw' || repeat(' canaryword', (line < 3)::INT) AS"
            )
        },
        {"every_list_has_k_users", "every_set_has_k_users", "edits_match_the_cost_report"},
    ),
    "repeated query of one thread": (
        {"anonymized_threads": f"{RELEASE} UNION ALL {REPEATED} AND line = 1"},
        {"every_list_has_k_users"},
    ),
    "keyword of k - 1 owners": (
        {
            "clusters": CLUSTERS.replace(
                "string_split(query, ' ') AS words",
                "string_split(if(line = 1, 'pine straw', query), ' ') AS words",
            )
        },
        {"every_keyword_has_owners", "edits_match_the_cost_report"},
    ),
    "two blanks": (
        {"anonymized_threads": RELEASE.replace("word straw", "word  straw")},
        {"every_keyword_has_owners", "threads_are_unique", "edits_match_the_cost_report"},
    ),
    "repeated row": (
        {"anonymized_threads": f"{RELEASE} UNION ALL {RELEASE} AND line = 1"},
        {"every_list_has_k_users", "threads_are_unique"},
    ),
    "user column": (
        {"anonymized_threads": RELEASE.replace("SELECT", "SELECT user,")},
        {"no_user_or_time_column"},
    ),
    "time column with a name from the data": (
        {"anonymized_threads": RELEASE.replace("SELECT", "SELECT time AS canarycolumn,")},
        {"no_user_or_time_column"},
    ),
    "thread that is neither published nor withdrawn": (
        {"cost_report": COST.replace("1 AS with", "0 AS with")},
        {"every_row_is_accounted_for", "edits_match_the_cost_report"},
    ),
    "wrong number of deletions": (
        {"cost_report": COST.replace("2 AS deletions", "1 AS deletions")},
        {"edits_match_the_cost_report"},
    ),
    "cost report of another k": (
        {"cost_report": COST.replace("3 AS k", "2 AS k")},
        {"every_row_is_accounted_for", "edits_match_the_cost_report"},
    ),
}


@pytest.mark.usefixtures("threads_at_once")
@pytest.mark.parametrize("case", BROKEN)
def test_broken_promise_fails_its_own_checks_and_shows_no_data(tmp_path, case):
    changed, broken = BROKEN[case]
    by_check = results(write_stages(tmp_path, **changed))
    assert {name for name, result in by_check.items() if not result["success"]} == broken
    assert all(by_check[name]["result"]["violations"] for name in broken)
    assert not any(canary in str(by_check) for canary in CANARIES)


def test_failed_run_does_not_replace_the_data_docs_of_a_good_one(tmp_path):
    files, docs = write_stages(tmp_path), DataDocs(tmp_path / "docs", "searches")
    run_expectations(partial(open_stages, files), promises(), docs)
    good = {page.name: page.read_bytes() for page in docs.folder.iterdir()}
    files["clusters"].unlink()
    run_expectations(partial(open_stages, files), promises(), docs)
    assert {page.name: page.read_bytes() for page in docs.folder.iterdir()} == good
    assert "../docs/index.html" in (docs.failed / "index.html").read_text()


def test_respellings_widen_the_interval_of_additions_and_deletions(tmp_path):
    # "straws" is an item with "straw" and was respelled: a keyword kept, and none added.
    files = write_stages(
        tmp_path,
        clusters=CLUSTERS.replace(
            "string_split(query, ' ') AS words",
            "string_split(if(line = 1, 'canaryword straws', query), ' ') AS words",
        ),
        cost_report=COST.replace("0 AS resp", "1 AS resp"),
    )
    with open_stages(files) as connection:
        edits = release_counts.edit_counts(connection, "queries", K).set_index("figure")
    assert edits.loc["additions", ["least", "most", "reported"]].tolist() == [0, 1, 0]
    assert edits.loc["deletions", ["least", "most", "reported"]].tolist() == [2, 3, 2]
    assert edits.loc["kept", ["least", "most", "reported"]].tolist() == [6, 6, 6]
