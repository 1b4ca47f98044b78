"""Releases of random logs: formats, spellings, and the cost counted on the published texts."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import (
    MalformedInputError,
    NotAnonymousError,
    ReleaseParams,
    anonymize_log,
    edits,
    tokenize,
    verify_release,
)
from setanon_core.params import FORMATS
from setanon_core.pipeline import build_release as build_release_module
from setanon_core.pipeline.build_release import build_release
from setanon_core.pipeline.build_threads import require_distinct_texts
from setanon_core.pipeline.group_threads import group_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_core.pipeline.thread_ids import fingerprint, release_key, thread_ids
from setanon_core.runtime.progress import listen_to_progress

SECRET = b"for tests only"
WORDS = ["listen", "silent", "enlist", "stone", "notes", "lamp", "palm", "red"]
METHODS = st.sampled_from(["best", "paper"])
IDENTITIES = st.sampled_from(["exact", "minhash"])
ROWS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.integers(-3, 5),
        st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    ),
    max_size=25,
)


def released(rows, **params):
    return anonymize_log(rows, **{"k": 2, "secret": SECRET, **params})


def sets_of(release):
    sets = defaultdict(set)
    for thread_id, query in zip(release.thread_ids, release.queries, strict=True):
        sets[thread_id].update(tokenize(query))
    return dict(sets)


def typed_words(rows, **params):
    """The words of each thread in the order typed, by thread id; and the item of each word."""
    params = ReleaseParams(**{"k": 2, "secret": SECRET, **params})
    threads = threads_of_log(rows, params)
    order = threads.canonical_order().tolist()
    digests = thread_ids(len(order), release_key(params, fingerprint(threads)))
    ids = dict(zip(order, (digest.tobytes().hex() for digest in digests), strict=True))
    vocabulary = threads.keywords.vocabulary
    words = {thread_id: [] for thread_id in ids.values()}
    for thread, query in threads.typed.lists():
        words[ids[thread]].extend(vocabulary[word] for word in query)
    return words, dict(zip(vocabulary, threads.keywords.item.tolist(), strict=True))


@settings(max_examples=50)
@given(
    ROWS,
    METHODS,
    IDENTITIES,
    st.sampled_from([("queries", "common"), ("edited", "common"), ("edited", "as_typed")]),
)
def test_published_sets_are_the_keyword_sets_of_the_published_queries(rows, method, identity, form):
    format_, spelling = form
    params = {"method": method, "identity": identity, "spelling": spelling}

    of_queries = released(rows, format=format_, **params)
    of_sets = released(rows, format="sets", **params)

    queries, sets = of_queries.release, of_sets.release
    assert dict(zip(sets.thread_ids, map(set, sets.keywords), strict=True)) == sets_of(queries)
    assert (of_queries.ledger, of_queries.cost) == (of_sets.ledger, of_sets.cost)
    assert list(sets.thread_ids) == sorted(set(queries.thread_ids))
    assert all(list(keywords) == sorted(set(keywords)) for keywords in sets.keywords)
    counts = Counter(queries.thread_ids)
    assert list(zip(queries.thread_ids, queries.positions, strict=True)) == [
        (thread_id, position)
        for thread_id in sorted(counts)
        for position in range(counts[thread_id])
    ]


@settings(max_examples=40)
@given(ROWS, METHODS, st.sampled_from(["edited", "sets"]))
def test_both_spellings_are_equal_if_every_keyword_is_an_item(rows, method, format_):
    common = released(rows, method=method, format=format_)
    as_typed = released(rows, method=method, format=format_, spelling="as_typed")

    assert (common.release, common.ledger, common.cost) == (
        as_typed.release,
        as_typed.ledger,
        as_typed.cost,
    )


@settings(max_examples=50)
@given(ROWS, METHODS, st.sampled_from(FORMATS), st.integers(2, 3))
def test_every_published_spelling_was_typed_by_k_users(rows, method, format_, k):
    result = released(rows, k=k, method=method, format=format_, identity="minhash")

    release = result.release
    texts = map(" ".join, release.keywords) if format_ == "sets" else release.queries
    for word in {word for text in texts for word in text.split()}:
        assert len({user for user, _, query in rows if word in query.split()}) >= k
    assert result.verdict.ok
    assert verify_release(release, result.ledger, result.params) == result.verdict


@settings(max_examples=50)
@given(ROWS, METHODS)
def test_with_spelling_as_typed_kept_words_are_published_as_typed(rows, method):
    params = {"identity": "minhash", "method": method}
    result = released(rows, spelling="as_typed", format="edited", **params)
    words, item = typed_words(rows, **params)
    published = defaultdict(list)
    for thread_id, query in zip(result.release.thread_ids, result.release.queries, strict=True):
        published[thread_id].extend(query.split())

    for thread_id, after in published.items():
        items = {item[word] for word in after}
        items_before = {item[word] for word in words[thread_id]}
        assert [word for word in after if item[word] in items_before] == [
            word for word in words[thread_id] if item[word] in items
        ]
    assert result.cost == released(rows, **params).cost


def test_spelling_as_typed_is_returned_with_its_violations():
    rows = [(n, 0, "listen") for n in range(3)] + [(3, 0, "silent"), (4, 0, "silent")]

    result = released(rows, k=3, identity="minhash", spelling="as_typed", format="edited")

    assert sorted(result.release.queries) == ["listen"] * 3 + ["silent"] * 2
    assert result.verdict.violations == 2


@settings(max_examples=60)
@given(ROWS, METHODS, IDENTITIES, st.integers(2, 4), st.none() | st.integers(0, 3))
def test_the_cost_equals_the_differences_of_the_published_texts(
    rows, method, identity, k, min_owners
):
    params = {"method": method, "identity": identity, "k": k, "min_owners": min_owners}
    result = released(rows, **params)
    words, item = typed_words(rows, **params)
    published = sets_of(result.release)
    additions = deletions = respellings = 0
    for thread_id, typed in words.items():
        before = {item[word] for word in typed}
        after = {item[word] for word in published.get(thread_id, ())}
        additions += len(after - before)
        deletions += len(before - after)
        respellings += sum(
            item[word] in after and word not in published[thread_id] for word in set(typed)
        )

    cost = result.cost.certificate.cost
    assert (cost.additions, cost.deletions) == (additions, deletions)
    assert cost.withdrawals == len(words) - len(published)
    assert result.cost.threads == len(words)
    assert result.cost.keywords == sum(
        len({item[word] for word in typed}) for typed in words.values()
    )
    assert result.cost.respellings == respellings
    assert result.cost.certificate.lower_bound <= cost.total <= result.cost.keywords


@settings(max_examples=40)
@given(ROWS, METHODS, st.permutations(["zoe", "yan", 3, ("x", 1), "ann", 0.5, b"b", "\0"]))
def test_the_names_of_users_make_no_difference(rows, method, names):
    renamed = [(names[user], time, query) for user, time, query in rows]

    def by_thread(log):
        result = released(log, method=method, format="sets")
        release, ledger = result.release, result.ledger
        assert release.thread_ids == ledger.thread_ids
        entries = zip(ledger.threads, release.keywords, ledger.users, strict=True)
        return {thread: (keywords, user) for thread, keywords, user in entries}, result.cost

    (first, first_cost), (second, second_cost) = by_thread(rows), by_thread(renamed)

    assert first_cost == second_cost
    with_new_names = {t: (keywords, names[user]) for t, (keywords, user) in first.items()}
    assert with_new_names == second


def test_keywords_typed_by_too_few_users_are_refused_whatever_the_groups():
    params = ReleaseParams(2, secret=SECRET)
    threads = threads_of_log([(n % 7, n, f"lamp word{n % 3}") for n in range(40)], params)
    result = group_threads(threads, params)
    no_owners = replace(threads.keywords, owners=np.zeros_like(threads.keywords.owners))

    with pytest.raises(NotAnonymousError, match="users must have typed every published keyword"):
        build_release(replace(threads, keywords=no_owners), result, params)


def test_equal_texts_of_users_or_records_are_refused_and_not_shown():
    with pytest.raises(MalformedInputError, match="must differ when written as text") as error:
        require_distinct_texts(["canary", "other", "canary"])
    assert "canary" not in str(error.value)


def test_lists_that_k_users_do_not_share_are_refused_whatever_the_edits_did(monkeypatch):
    rows = [(user, time, "red lamp") for user in range(3) for time in range(user + 1)]
    params = ReleaseParams(2, secret=SECRET)
    threads = threads_of_log(rows, params)
    result = group_threads(threads, params)
    assert build_release(threads, result, params).verdict.ok

    monkeypatch.setattr(edits, "share_lists", lambda queries, *_: (queries, 0))

    with pytest.raises(NotAnonymousError, match=r"the list of queries .* k = 2 users; 3 threads"):
        build_release(threads, result, params)
    # The sets of these threads are shared.
    as_edited = build_release(threads, result, replace(params, format="edited"))
    assert as_edited.verdict.ok


@pytest.mark.parametrize("format_", ["edited", "sets"])
def test_sets_that_k_users_do_not_share_are_refused_whatever_the_edits_did(monkeypatch, format_):
    rows = [(user, 0, f"red lamp {word}") for user, word in enumerate(["", "", "wall"])]
    params = ReleaseParams(2, secret=SECRET, format=format_)
    threads = threads_of_log(rows, params)
    result = group_threads(threads, params)
    assert build_release(threads, result, params).verdict.ok

    unedited = build_release_module.edit_threads(threads, result, params)[1]
    monkeypatch.setattr(build_release_module, "edit_threads", lambda *_: (threads.typed, unedited))

    with pytest.raises(NotAnonymousError, match=r"the set of keywords .* k = 2 users; 1 threads"):
        build_release(threads, result, params)


def test_progress_of_edits_is_the_number_of_words_of_the_batches_so_far(monkeypatch):
    monkeypatch.setattr(edits, "BATCH_WORDS", 1)  # one batch per group
    rows = [(user, 0, query) for query in ("red lamp", "stone") for user in range(3)]
    reports = []
    with listen_to_progress(lambda *report: reports.append(report)):
        released(rows, format="edited")

    done = [report[1:] for report in reports if report[0] == "words edited"]
    assert sorted(done) == done
    assert done[-1] == (9, 9)
    assert len(done) == 2


@pytest.mark.parametrize(
    ("format_", "counts"), [("queries", (6, 6)), ("edited", (6, 6)), ("sets", (0, 0))]
)
def test_queries_are_counted_if_they_are_published(format_, counts):
    rows = [(user, minute, "red lamp") for user in range(3) for minute in (0, 1)]
    cost = released(rows, format=format_).cost
    assert (cost.query_rows, cost.true_query_rows) == counts


@pytest.mark.parametrize("format_", FORMATS)
def test_release_and_ledger_are_tables_of_the_given_kind(format_):
    params = ReleaseParams(k=2, secret=SECRET, format=format_)
    threads = threads_of_log([(user, 0, "red lamp") for user in range(3)], params)
    result = build_release(threads, group_threads(threads, params), params, constructor=Counter)
    assert isinstance(result.release.to_frame(), Counter)
    assert isinstance(result.ledger.to_frame(), Counter)
