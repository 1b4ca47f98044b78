"""Section 5.4, with an invented user in an invented log: what Figure 5 shows."""

import pytest

from setanon_core.log import anonymize_log
from setanon_core.release import ReleaseParams

HER = "user-17"

SESSION = [
    "pine straw ashby delivery",
    "pine straw delivery in ashby",
    "dekston animal shelter",
    "dekston humane society",
    "wexley animal shelter",
    "wexley humane society",
    "seffects of nicotine",
    "effects of nicotine",
    "nicotine effects on the body",
    "harold quimsby",
    "harold t. quimsby",
    "harold t. quimsby norwick oregon",
]

OTHERS = [
    *[["pine straw mulch", "pine straw mulch in garden"]] * 2,
    *[["pine straw mulch in"]] * 2,
    *[["dekston county animal shelter", "dekston county humane society"]] * 4,
    *[["effects of nicotine", "nicotine effects on the body"]] * 4,
    *[["harold lloyd movies"]] * 4,
    *[["garden furniture"]] * 3,
]


@pytest.fixture(scope="module")
def published():
    return case_study()


def case_study():
    """Her published threads, and everything that was published."""
    sessions = [(f"other-{number}", session) for number, session in enumerate(OTHERS)]
    sessions.insert(5, (HER, SESSION))
    rows = [(name, place, query) for name, own in sessions for place, query in enumerate(own)]
    release, ledger, _ = anonymize_log(rows, ReleaseParams(k=3, secret=b"case study"))
    hers = {
        thread for thread, user in zip(ledger.thread_ids, ledger.users, strict=True) if user == HER
    }
    threads = {}
    for thread, query in zip(release.thread_ids, release.queries, strict=True):
        threads.setdefault(thread, []).append(query)
    return [own for thread, own in threads.items() if thread in hers], release


def thread_about(published, word):
    found = [own for own in published[0] if any(word in query.split() for query in own)]
    assert len(found) == 1
    return found[0]


def test_her_session_becomes_four_threads_of_which_the_family_is_withdrawn(published):
    assert len(published[0]) == 3


def test_the_small_town_is_gone_and_mulch_is_added_where_others_have_it(published):
    # Most of the others go on with "in" after mulch, so that is where it belongs.
    assert thread_about(published, "pine") == ["pine straw", "pine straw mulch in"]


def test_the_county_is_added_between_its_neighbours(published):
    thread = thread_about(published, "shelter")

    assert thread[0] == "dekston county animal shelter"
    assert "dekston humane society" in thread
    assert "wexley" not in " ".join(thread)


def test_what_everybody_asks_stays_as_it_was(published):
    assert thread_about(published, "nicotine")[-2:] == [
        "effects of nicotine",
        "nicotine effects on the body",
    ]


def test_rare_names_are_published_nowhere(published):
    words = {word for query in published[1].queries for word in query.split()}

    assert words.isdisjoint({"ashby", "wexley", "quimsby", "norwick", "oregon", "seffects"})
    assert {"harold", "lloyd", "movies"} <= words


def test_the_release_has_no_user_and_no_time(published):
    assert set(type(published[1]).__slots__) == {"thread_ids", "positions", "queries"}
