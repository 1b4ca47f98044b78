"""Verification of the texts of a release: every mutation that breaks k-anonymity is detected."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import (
    Ledger,
    Log,
    NotAnonymousError,
    QueryRelease,
    ReleaseParams,
    SetRelease,
    verify_release,
)
from setanon_core.params import FORMATS
from setanon_core.pipeline.build_release import require_anonymous
from setanon_core.pipeline.log import release_log

SECRET = b"for tests only"
ROWS = [
    *((f"a{n}", n, "pine straw") for n in range(3)),
    *((f"b{n}", n, "humane society shelter") for n in range(4)),
    ("a0", 9, "humane society shelter"),
]


def ledger_of(ids, users):
    return Ledger(thread_ids=tuple(ids), threads=tuple(range(len(ids))), users=tuple(users))


def released(format_, k=3):
    params = ReleaseParams(k, format=format_, secret=SECRET)
    result = release_log(Log.from_rows(ROWS), params)
    return result.release, result.ledger, params


def with_words(release, position, words):
    """The release with other words in one thread."""
    if isinstance(release, SetRelease):
        texts = [*release.keywords]
        texts[position] = tuple(sorted(words))
        return replace(release, keywords=tuple(texts))
    texts = [*release.queries]
    texts[position] = " ".join(words)
    return replace(release, queries=tuple(texts))


def words_at(release, position):
    if isinstance(release, SetRelease):
        return list(release.keywords[position])
    return release.queries[position].split()


def without_threads(release, ledger, positions):
    removed = {release.thread_ids[position] for position in positions}
    rows = [n for n, thread_id in enumerate(release.thread_ids) if thread_id not in removed]
    names = [field for field in release.__slots__ if field not in {"attributes", "constructor"}]
    columns = {field: tuple(getattr(release, field)[n] for n in rows) for field in names}
    entries = [n for n, thread_id in enumerate(ledger.thread_ids) if thread_id not in removed]
    ids, users = ([column[n] for n in entries] for column in (ledger.thread_ids, ledger.users))
    return type(release)(**columns), ledger_of(ids, users)


@pytest.mark.parametrize("format_", FORMATS)
def test_an_unchanged_release_passes(format_):
    verdict = verify_release(*released(format_))

    assert verdict.ok
    assert (verdict.records, verdict.groups, verdict.smallest_group) == (8, 2, 3)


@settings(max_examples=30)
@given(st.sampled_from(FORMATS), st.data())
def test_a_word_removed_from_one_thread_is_detected(format_, data):
    release, ledger, params = released(format_)
    position = data.draw(st.integers(0, len(release.thread_ids) - 1))
    words = words_at(release, position)
    words.remove(data.draw(st.sampled_from(words)))

    verdict = verify_release(with_words(release, position, words), ledger, params)

    assert not verdict.ok
    with pytest.raises(NotAnonymousError):
        require_anonymous(verdict, params)


@settings(max_examples=30)
@given(st.sampled_from(FORMATS), st.integers(0, 7), st.sampled_from(["pine", "shelter", "canary"]))
def test_a_word_added_to_one_thread_is_detected_and_not_shown(format_, position, word):
    release, ledger, params = released(format_)
    words = words_at(release, position)
    mutant = with_words(release, position, dict.fromkeys([*words, word]))

    verdict = verify_release(mutant, ledger, params)

    assert verdict.ok == (word in words)
    if not verdict.ok:
        with pytest.raises(NotAnonymousError) as error:
            require_anonymous(verdict, params)
        assert "canary" not in str(error.value)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_thread_assigned_to_another_user_of_its_group_is_detected(format_):
    release, ledger, params = released(format_)
    users = list(ledger.users)
    users[users.index("a1")] = "a2"

    verdict = verify_release(release, replace(ledger, users=tuple(users)), params)

    assert (verdict.ok, verdict.smallest_group, verdict.violations) == (False, 2, 3)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("k", [2, 3])
def test_threads_removed_until_a_group_has_fewer_than_k_users_are_detected(format_, k):
    release, ledger, params = released(format_, k)
    group = [position for position in range(8) if "pine" in words_at(release, position)]
    assert len(group) == 3

    for removed in range(len(group)):
        verdict = verify_release(*without_threads(release, ledger, group[:removed]), params)
        assert verdict.ok == (len(group) - removed >= k)
    assert verify_release(*without_threads(release, ledger, group), params).ok


@pytest.mark.parametrize(
    "release",
    [QueryRelease(("x",), (0,), ("pine",)), SetRelease(("x",), (("pine",),))],
)
def test_threads_of_the_ledger_that_are_not_released_do_not_count(release):
    ledger = ledger_of(["x", "y"], ["ann", "bob"])

    assert not verify_release(release, ledger, ReleaseParams(2)).ok


def test_different_texts_without_keywords_do_not_count_as_equal():
    release, ledger = QueryRelease(("x", "y"), (0, 0), ("pine", "tea")), ledger_of("xy", "uv")

    assert not verify_release(release, ledger, ReleaseParams(2, tokenizer=lambda _: [])).ok


@pytest.mark.parametrize("format_", FORMATS)
def test_words_in_another_order_are_another_list_and_the_same_set(format_):
    release, ledger, params = released(format_)

    mutant = with_words(release, 0, words_at(release, 0)[::-1])

    assert verify_release(mutant, ledger, params).ok == (format_ != "queries")
