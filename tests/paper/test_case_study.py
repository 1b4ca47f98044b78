"""The case study of section 5.4 (Figure 5), with an invented user in an invented log."""

import pytest
from support.case_study import case_study


@pytest.fixture(scope="module")
def published():
    return case_study()


def thread_about(published, word):
    threads = [
        queries for queries in published[0] if any(word in query.split() for query in queries)
    ]
    assert len(threads) == 1
    return threads[0]


def test_three_of_four_threads_are_published_and_the_family_names_are_withdrawn(published):
    assert len(published[0]) == 3


def test_the_small_town_is_deleted_and_mulch_is_added_where_others_have_it(published):
    # In most other threads, "in" follows "mulch".
    assert thread_about(published, "pine") == ["pine straw", "pine straw mulch in"]


def test_the_county_is_added_between_its_neighbours(published):
    thread = thread_about(published, "shelter")

    assert thread[0] == "dekston county animal shelter"
    assert "dekston humane society" in thread
    assert "wexley" not in " ".join(thread)


def test_queries_of_many_users_are_unchanged(published):
    assert thread_about(published, "caffeine")[-2:] == [
        "effects of caffeine",
        "caffeine effects on the body",
    ]


def test_rare_names_are_not_published(published):
    words = {word for query in published[1].queries for word in query.split()}

    assert words.isdisjoint({"ashby", "wexley", "quimsby", "norwick", "oregon", "seffects"})
    assert {"harold", "lloyd", "movies"} <= words


def test_the_release_has_no_user_and_no_time(published):
    assert set(published[1].to_frame()) == {"thread_id", "position", "query"}
