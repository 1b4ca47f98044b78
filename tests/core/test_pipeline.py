"""The pipeline as a whole: what is published, what it cost, and what does not change it."""

from collections import Counter, defaultdict
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import NotAnonymousError
from setanon_core.keywords.minhash import SCHEME
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Log
from setanon_core.params import FORMATS, ReleaseParams
from setanon_core.pipeline import group_threads
from setanon_core.pipeline import log as log_module
from setanon_core.pipeline.build_release import build_release
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import release_log, threads_of_log
from setanon_core.pipeline.release_texts import verify_release
from setanon_core.pipeline.thread_ids import fingerprint, release_key, thread_ids

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


def params_of(**knobs):
    return ReleaseParams(**{"k": 2, "secret": SECRET, **knobs})


def parts(rows, params):
    result = release_log(Log.from_rows(rows), params)
    return result.release, result.ledger, result.cost


def anonymized(rows, **knobs):
    return parts(rows, params_of(**knobs))


def sets_of(release):
    sets = defaultdict(set)
    for thread, query in zip(release.thread_ids, release.queries, strict=True):
        sets[thread].update(tokenize(query))
    return dict(sets)


def typed_words(rows, **knobs):
    """By its id, all words of each thread in the order typed; and the item of each word."""
    threads = threads_of_log(rows, params_of(**knobs))
    key = release_key(params_of(**knobs), fingerprint(threads))
    line = threads.canonical_order().tolist()
    ids = (digest.tobytes().hex() for digest in thread_ids(len(line), key))
    names = dict(zip(line, ids, strict=True))
    vocabulary = threads.keywords.vocabulary
    words = {name: [] for name in names.values()}
    for thread, query in threads.typed.lists():
        words[names[thread]].extend(vocabulary[word] for word in query)
    return words, dict(zip(vocabulary, threads.keywords.item.tolist(), strict=True))


def made_up_log(n=400):
    """Topics without a common letter: queries on two of them are two threads."""
    rng = np.random.default_rng(8)
    topic = (12 * rng.random(n) ** 2).astype(int)
    return [
        (f"u{rng.integers(n // 2)}", time, " ".join("abcdefghijkl"[t] * m for m in own))
        for time, t in enumerate(topic.tolist())
        for own in [np.unique(rng.integers(3, 8, 4)).tolist()]
    ]


@settings(max_examples=50)
@given(ROWS, METHODS, IDENTITIES, st.sampled_from(["common", "as_typed"]))
def test_sets_are_the_keyword_sets_of_the_queries(rows, method, identity, spelling):
    knobs = {"method": method, "identity": identity, "spelling": spelling}

    queries, ledger, cost = anonymized(rows, **knobs)
    sets, other, same = anonymized(rows, format="sets", **knobs)

    assert dict(zip(sets.thread_ids, map(set, sets.keywords), strict=True)) == sets_of(queries)
    assert (ledger, cost) == (other, same)
    assert list(sets.thread_ids) == sorted(set(queries.thread_ids))
    assert all(list(own) == sorted(set(own)) for own in sets.keywords)
    lines = Counter(queries.thread_ids)
    assert list(zip(queries.thread_ids, queries.positions, strict=True)) == [
        (name, place) for name in sorted(lines) for place in range(lines[name])
    ]


@settings(max_examples=40)
@given(ROWS, METHODS, st.sampled_from(FORMATS))
def test_as_typed_is_common_where_every_keyword_is_an_item(rows, method, format_):
    knobs = {"method": method, "format": format_}

    assert anonymized(rows, **knobs) == anonymized(rows, spelling="as_typed", **knobs)


@settings(max_examples=50)
@given(ROWS, METHODS, st.sampled_from(FORMATS), st.integers(2, 3))
def test_every_published_spelling_was_typed_by_k_users(rows, method, format_, k):
    params = params_of(k=k, method=method, format=format_, identity="minhash")

    release, ledger, _ = parts(rows, params)

    texts = release.queries if format_ == "queries" else map(" ".join, release.keywords)
    for word in {word for text in texts for word in text.split()}:
        assert len({user for user, _, query in rows if word in query.split()}) >= k
    assert verify_release(release, ledger, params).ok


@settings(max_examples=50)
@given(ROWS, METHODS)
def test_words_as_typed_are_published_as_typed(rows, method):
    knobs = {"identity": "minhash", "method": method}
    release, _, cost = anonymized(rows, spelling="as_typed", **knobs)
    words, item = typed_words(rows, **knobs)
    published = defaultdict(list)
    for name, query in zip(release.thread_ids, release.queries, strict=True):
        published[name].extend(query.split())

    for name, own in published.items():
        items = {item[word] for word in own}
        had = {item[word] for word in words[name]}
        assert [word for word in own if item[word] in had] == [
            word for word in words[name] if item[word] in items
        ]
    assert cost == anonymized(rows, **knobs)[2]


def test_what_is_as_typed_may_be_looked_at_and_judged():
    rows = [(n, 0, "listen") for n in range(3)] + [(3, 0, "silent"), (4, 0, "silent")]
    typed = params_of(k=3, identity="minhash", spelling="as_typed")

    release, ledger, _ = parts(rows, typed)

    assert sorted(release.queries) == ["listen"] * 3 + ["silent"] * 2
    assert verify_release(release, ledger, typed).violations == 2


@settings(max_examples=80)
@given(ROWS, METHODS, IDENTITIES, st.integers(2, 4), st.none() | st.integers(0, 3))
def test_the_cost_is_counted_on_what_was_published(rows, method, identity, k, least):
    knobs = {"method": method, "identity": identity, "k": k, "min_owners": least}
    release, _, cost = anonymized(rows, **knobs)
    words, item = typed_words(rows, **knobs)
    published = sets_of(release)
    additions = deletions = respellings = 0
    for name, own in words.items():
        before = {item[word] for word in own}
        after = {item[word] for word in published.get(name, ())}
        additions += len(after - before)
        deletions += len(before - after)
        respellings += sum(item[w] in after and w not in published[name] for w in set(own))

    counted = cost.certificate.cost
    assert (counted.additions, counted.deletions) == (additions, deletions)
    assert counted.withdrawals == len(words) - len(published)
    assert cost.threads == len(words)
    assert cost.keywords == sum(len({item[word] for word in own}) for own in words.values())
    assert cost.respellings == respellings
    assert cost.certificate.lower_bound <= counted.total <= cost.keywords


def check_rounds(cost):
    totals = [done.cost.total for done in cost.rounds]
    assert all(isinstance(done.name, str) and done.name for done in cost.rounds)
    assert cost.rounds[-1].cost == cost.certificate.cost
    assert totals == sorted(totals, reverse=True)


@settings(max_examples=60)
@given(ROWS, METHODS, st.integers(2, 4))
def test_the_last_round_is_the_cost_and_no_round_is_dearer_than_the_one_before(rows, method, k):
    cost = anonymized(rows + [(100 + n, 0, "red") for n in range(k)], method=method, k=k)[2]

    check_rounds(cost)
    assert method == "best" or len(cost.rounds) == 1


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("rows", [[], [(1, 1, "red")], [(1, 1, ""), (2, 1, "")]])
def test_a_log_of_too_few_users_has_a_round_too(rows, method):
    check_rounds(anonymized(rows, method=method)[2])


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("identity", ["exact", "minhash"])
def test_a_sweep_costs_what_each_k_costs_and_makes_threads_and_clusters_once(
    monkeypatch, method, identity
):
    knobs = {"method": method, "identity": identity}
    rows, ks = made_up_log(120), (2, 3, 6, 200)
    expected = [anonymized(rows, k=k, **knobs)[2] for k in ks]
    separate = Mock(wraps=log_module.separate_threads)
    keys = Mock(wraps=group_threads.cluster_keys)
    monkeypatch.setattr(log_module, "separate_threads", separate)
    monkeypatch.setattr(group_threads, "cluster_keys", keys)

    params = params_of(**knobs)
    found = list(sweep_threads(threads_of_log(rows, params), params, iter(ks)))

    assert found == expected
    check_rounds(found[0])
    assert separate.call_count == 1
    assert keys.call_count == (method == "paper")


@pytest.mark.parametrize("p", [1, 2, 4])
def test_clusters_are_taken_of_whole_threads(p):
    """Without the word that nobody else has, both threads would be the same."""

    def key(words):
        hashes = [MinHash(num_perm=1, seed=seed, scheme=SCHEME) for seed in range(1, p + 1)]
        for one in hashes:
            one.update_batch([word.encode() for word in words])
        return [one.hashvalues.tolist() for one in hashes]

    together = []
    for rare in (f"rare{n}" for n in range(30)):
        rows = [(0, 0, "pine straw"), (1, 0, f"pine straw {rare}")]
        together.append(key(["pine", "straw"]) == key(["pine", "straw", rare]))
        published = anonymized(rows, method="paper", p=p)[0].queries
        assert published == (("pine straw",) * 2 if together[-1] else ())
    assert {True, False} == set(together)


def test_the_paper_costs_more_with_every_k_and_adds_little():
    params = params_of(method="paper")
    threads = threads_of_log(made_up_log(800), params)

    costs = [cost.certificate.cost for cost in sweep_threads(threads, params, (2, 3, 5, 8, 13, 20))]

    totals = [cost.total for cost in costs]
    assert totals == sorted(set(totals))
    assert all(3 * cost.additions < cost.total for cost in costs)


@settings(max_examples=40)
@given(ROWS, METHODS, st.permutations(["zoe", "yan", 3, ("x", 1), "ann", 0.5, b"b", "\0"]))
def test_the_names_of_users_do_not_matter(rows, method, names):
    renamed = [(names[user], time, query) for user, time, query in rows]

    def by_thread(log):
        release, ledger, cost = anonymized(log, method=method, format="sets")
        assert release.thread_ids == ledger.thread_ids
        lines = zip(ledger.threads, release.keywords, ledger.users, strict=True)
        return {thread: (own, user) for thread, own, user in lines}, cost

    (first, cost), (second, same) = by_thread(rows), by_thread(renamed)

    assert cost == same
    assert {t: (own, names[user]) for t, (own, user) in first.items()} == second


def test_a_keyword_that_too_few_users_typed_is_refused_whatever_the_groups():
    threads = threads_of_log(made_up_log(), params_of())
    result = group_threads.group_threads(threads, params_of())
    nobody = replace(threads.keywords, owners=np.zeros_like(threads.keywords.owners))

    with pytest.raises(NotAnonymousError, match="users must have typed every published keyword"):
        build_release(replace(threads, keywords=nobody), result, params_of())


def test_releases_of_other_data_or_parameters_have_no_id_in_common():
    users = [f"u{n}" for n in range(6)]
    days = [
        [(user, 1, first if n < 3 else second) for n, user in enumerate(users)]
        for first, second in (("red", "green"), ("blue", "yellow"), ("green", "red"))
    ]
    ids = [set(anonymized(day, k=k)[0].thread_ids) for day in days for k in (2, 3)]

    assert sum(map(len, ids)) == len(set().union(*ids)) == 36
    # But the same log has the same ids, in whatever order it comes.
    assert set(anonymized(days[0][::-1], k=2)[0].thread_ids) == ids[0]


@pytest.mark.parametrize("other", ["apple pine", "pine straw", "straw", "apple"])
def test_every_keyword_of_every_thread_counts_for_the_key_of_the_ids(other):
    rows = [("ann", 1, "pine"), ("bob", 1, "apple pine straw")]
    changed = [("ann", 1, other), *rows[1:]]

    one, two = (fingerprint(threads_of_log(log, params_of())) for log in (rows, changed))

    assert one != two
    assert one == fingerprint(threads_of_log(rows[::-1], params_of()))
