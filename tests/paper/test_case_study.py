"""Section 5.4, with an invented user in an invented log: what Figure 5 shows."""

import pytest
from support.case_study import case_study


@pytest.fixture(scope="module")
def published():
    return case_study()


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
    assert thread_about(published, "caffeine")[-2:] == [
        "effects of caffeine",
        "caffeine effects on the body",
    ]


def test_rare_names_are_published_nowhere(published):
    words = {word for query in published[1].queries for word in query.split()}

    assert words.isdisjoint({"ashby", "wexley", "quimsby", "norwick", "oregon", "seffects"})
    assert {"harold", "lloyd", "movies"} <= words


def test_the_release_has_no_user_and_no_time(published):
    assert set(published[1].to_frame()) == {"thread_id", "position", "query"}
