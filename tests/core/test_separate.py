"""Sessions to threads: the paper's procedure step by step, invariants, unusual input."""

import time
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.threads import separate as module
from setanon_core.threads.edit_distance import EditDistance
from setanon_core.threads.result_overlap import ResultOverlap
from setanon_core.threads.search_engines import TableResults
from setanon_core.threads.separate import separate_threads
from setanon_core.threads.similarity import NEVER_SIMILAR

WORDS = ["pine", "straw", "pines", "stray", "caffeine", "mulch", "a", "of", "🦊", "北京", ""]
QUERY = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
ROW = st.tuples(st.integers(-2, 3), st.integers(-3, 6), QUERY)
LOG = st.lists(ROW, max_size=25)

TOPICS = [
    ["pine straw fernley delivery", "pine straw delivery in harlow county", "pine straw fernley"],
    [
        "capitl humane society",
        "capital humane society",
        "harlow animal shelter",
        "harlow humane society",
        "milburn animal shelter",
        "humane society",
        "milburn humane society",
    ],
    ["seffects of caffeine", "effects of caffeine", "caffeine effects on the body"],
    ["otto quimbleton", "otto t. quimbleton", "berta and otto quimbleton eastport"],
]


@cache
def edit_distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    change = edit_distance(a[1:], b[1:]) + (a[0] != b[0])
    return min(change, edit_distance(a[1:], b) + 1, edit_distance(a, b[1:]) + 1)


def is_similar(a, b):
    """Plain edit distance: at most 2, and at most 40% of the longer text."""
    return bool(a.strip() and b.strip()) and edit_distance(a, b) <= min(
        2, 0.4 * max(len(a), len(b))
    )


IS_SIMILAR = EditDistance(0.4, 2, None)


def threads_by_procedure(queries, window):
    """Threads of one session as lists of texts, by the steps of the paper."""
    threads, seen = [], []
    for query in queries:
        if query in seen:
            continue
        similar = [text for text in seen[-window:] if is_similar(text, query)]
        joined = next((t for t in threads if similar and similar[-1] in t), None)
        if joined is None:
            threads.append([query])
        else:
            joined.append(query)
        seen.append(query)
    position = {text: n for n, text in enumerate(seen)}
    while True:
        for first, second in pairwise(threads):
            pairs = product(first, second)
            if any(is_similar(a, b) and abs(position[a] - position[b]) <= window for a, b in pairs):
                threads.remove(second)
                first.extend(second)
                break
        else:
            return threads


def columns(log):
    users, times, queries = zip(*log, strict=True) if log else ((), (), ())
    return np.array(users, np.int64), np.array(times, np.int64), list(queries)


def partition(threads):
    return sorted(np.flatnonzero(threads == t).tolist() for t in set(threads.tolist()))


@given(LOG, st.integers(1, 4), st.sampled_from([1, 5, 1 << 17]))
def test_threads_equal_the_procedure_of_the_paper(log, window, batch_size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_PER_BATCH", batch_size)
        threads = separate_threads(*columns(log), IS_SIMILAR, window=window)
    expected = []
    for user in {user for user, _, _ in log}:
        rows = sorted((time, row) for row, (u, time, _) in enumerate(log) if u == user)
        for texts in threads_by_procedure([log[row][2] for _, row in rows], window):
            expected += [sorted(row for _, row in rows if log[row][2] in texts)]
    assert partition(threads) == sorted(expected)


@given(LOG)
def test_every_thread_has_one_user_and_equal_texts_share_a_thread(log):
    users, times, queries = columns(log)
    threads = separate_threads(users, times, queries)
    assert threads.shape == users.shape
    assert sorted(set(threads.tolist())) == list(range(threads.max(initial=-1) + 1))
    assert all(len(set(users[threads == t].tolist())) == 1 for t in set(threads.tolist()))
    thread_of_text = {}
    for user, query, thread in zip(users.tolist(), queries, threads.tolist(), strict=True):
        assert thread_of_text.setdefault((user, query), thread) == thread


@given(LOG)
def test_threads_are_numbered_by_user_then_by_first_query(log):
    threads = separate_threads(*columns(log))
    first = {}
    for row, thread in enumerate(threads.tolist()):
        first[thread] = min(first.get(thread, (9, 9, 99)), (*log[row][:2], row))
    assert [first[t] for t in sorted(first)] == sorted(first.values())


@given(LOG, st.permutations(range(-2, 4)))
def test_renaming_users_does_not_change_threads(log, names):
    users, times, queries = columns(log)
    renamed = np.array([names[user + 2] * 10**12 for user in users.tolist()], np.int64)
    result = separate_threads(renamed, times, queries)
    assert partition(result) == partition(separate_threads(users, times, queries))


@given(LOG, st.randoms(use_true_random=False))
def test_result_does_not_depend_on_the_order_of_rows(log, random):
    users, _, queries = columns(log)
    times = np.arange(len(log))
    order = list(range(len(log)))
    random.shuffle(order)
    result = separate_threads(users[order], times[order], [queries[row] for row in order])
    assert result.tolist() == separate_threads(users, times, queries)[order].tolist()


@given(LOG)
def test_result_does_not_depend_on_other_users(log):
    users, times, queries = columns(log)
    threads = separate_threads(users, times, queries)
    for user in set(users.tolist()):
        rows = np.flatnonzero(users == user)
        alone = separate_threads(users[rows], times[rows], [queries[row] for row in rows])
        assert partition(alone) == partition(threads[rows])


@given(LOG)
def test_text_numbers_give_the_same_result_as_texts(log):
    users, times, queries = columns(log)
    texts = ["never typed", *queries[::-1], "never typed"]  # repeated, out of order, unused
    codes = np.array([len(queries) - row for row in range(len(queries))], np.int64)
    by_number = separate_threads(users, times, codes, texts=texts)
    assert by_number.tolist() == separate_threads(users, times, queries).tolist()


@given(LOG)
def test_never_similar_gives_one_thread_per_distinct_text(log):
    threads = separate_threads(*columns(log), NEVER_SIMILAR)
    assert len(set(threads.tolist())) == len({(user, query) for user, _, query in log})


def session(queries, measure=None, **options):
    return separate_threads(
        [4] * len(queries), range(len(queries)), queries, measure, **options
    ).tolist()


def test_four_topics_of_one_user_become_four_threads():
    queries = [query for topic in TOPICS for query in topic]
    assert session(queries) == [n for n, topic in enumerate(TOPICS) for _ in topic]


def test_query_joins_an_earlier_thread_of_its_topic():
    queries = ["pine straw", "effects of caffeine", "caffeine", "pine straw delivery"]
    assert session(queries) == [0, 1, 1, 0]


def test_query_joins_the_most_recent_similar_query():
    table = {"a": [1, 2], "x": [9], "b": [3, 4], "c": [2, 3]}
    assert session(list(table), ResultOverlap(TableResults(table))) == [0, 1, 2, 2]


def test_consecutive_threads_are_merged_in_rounds():
    # `bc` joins c, the more recent, and `ab` joins `bc`. First round: the thread of b is similar
    # and next to that of bc; that of a is similar, but b is between. Second round: a is next.
    table = {"x": [0], "a": [1], "b": [2], "c": [3], "bc": [2, 3, 4, 5], "ab": [1, 2, 6, 7]}
    measure = ResultOverlap(TableResults(table), share=0.25)
    assert session(["x", "a", "b", "c"], measure) == [0, 1, 2, 3]
    assert session(["x", "a", "b", "c", "bc"], measure) == [0, 1, 2, 2, 2]
    assert session(list(table), measure) == [0, 1, 1, 1, 1, 1]


def test_threads_that_are_not_consecutive_are_not_merged():
    # `ac` joins c, the more recent; x is between, so a is not consecutive.
    table = {"a": [1], "x": [0], "c": [3], "ac": [1, 3]}
    assert session(list(table), ResultOverlap(TableResults(table))) == [0, 1, 2, 2]


def test_window_counts_distinct_texts_and_does_not_limit_exact_repeats():
    queries = ["pine straw", "caffeine", "caffeine", "humane society", "pine strew", "pine straw"]
    assert session(queries, IS_SIMILAR, window=3) == [0, 1, 1, 2, 0, 0]
    assert session(queries, IS_SIMILAR, window=2) == [0, 1, 1, 2, 3, 0]


@pytest.mark.parametrize(
    ("users", "times", "queries", "expected"),
    [
        ([], [], [], []),
        ([5], [0], ["x"], [0]),
        ([5, 5], [3, 3], ["pine", "mulch"], [0, 1]),  # equal times: by position
        ([5, 5], [9, -9], ["pine", "mulch"], [1, 0]),  # times out of order
        ([5, 5, 5], [1, 2, 3], ["", " ", ""], [0, 1, 0]),  # a blank text is similar only to itself
        ([5, 5], [1, 2], ["a\0b", "x\0c"], [0, 1]),
        ([5, 5], [1, 2], ["\ud800", "\ud800 x"], [0, 1]),
        ([5, 5, 5], [1, 2, 3], ["🦊 fox", "fox 🦊", "🐻"], [0, 0, 1]),
        ([5, 5, 5], [1, 2, 3], ["Москва погода", "погода  Москва", "מזג אוויר"], [0, 0, 1]),
        ([-(2**62), 2**62], [2**62, -(2**62)], ["x", "x"], [0, 1]),
    ],
)
def test_blank_and_multilingual_queries_and_extreme_values_are_separated(
    users, times, queries, expected
):
    assert separate_threads(users, times, queries).tolist() == expected


def test_query_of_ten_thousand_words_joins_its_thread():
    long = " ".join(f"word{n}" for n in range(10_000))
    assert session([long, "word1", long + "s", long]) == [0, 1, 0, 0]


@pytest.mark.parametrize("similar", [True, False])
def test_user_with_ten_thousand_queries_takes_seconds(similar):
    rng = np.random.default_rng(5)
    queries = [
        f"pine straw {n}" if similar else "".join(rng.choice(list("abcdefgh "), 15))
        for n in range(10_000)
    ]
    start = time.process_time()
    threads = session(queries)
    assert time.process_time() - start < 10  # typically half a second
    assert (max(threads) == 0) == similar


@pytest.mark.parametrize(
    ("users", "times", "queries", "options"),
    [
        ([1, 2], [1], ["canary", "canary"], {}),
        ([1.5], [1], ["canary"], {}),
        (["canary"], [1], ["canary"], {}),
        ([1], [1.5], ["canary"], {}),
        ([1], [1], [b"canary"], {}),
        ([1], [1], [None], {}),
        ([1], [1], np.array([3]), {}),
        ([1], [1], np.array([1]), {"texts": ["canary"]}),
        ([1], [1], np.array([-1]), {"texts": ["canary"]}),
        ([1, 1], [1, 2], np.array([0, 1]), {"texts": ["canary"]}),
        ([1, 1], [1, 2], np.array([0, -1]), {"texts": ["canary"]}),
        ([1], [1], ["canary"], {"texts": ["canary"]}),
    ],
)
def test_malformed_columns_are_refused_without_quoting_them(users, times, queries, options):
    with pytest.raises(MalformedInputError, match=r"must (be|have)") as refusal:
        separate_threads(users, times, queries, **options)
    assert "canary" not in str(refusal.value)


@given(LOG, st.integers(1, 4))
def test_long_session_is_split_as_if_it_were_several_users(log, maximum):
    users, times, queries = columns(log)
    order = np.lexsort((times, users))
    seen, part = {}, np.zeros(len(log), np.int64)
    for row in order.tolist():
        part[row] = seen.get(users[row], 0) // maximum
        seen[users[row]] = seen.get(users[row], 0) + 1
    several_users = np.asarray(users, np.int64) * 100 + part
    result = separate_threads(users, times, queries, IS_SIMILAR, max_session_queries=maximum)
    expected = separate_threads(several_users, times, queries, IS_SIMILAR)
    assert result.tolist() == expected.tolist()


def test_large_session_uses_the_small_window(monkeypatch):
    monkeypatch.setattr(module, "LARGE_SESSION", 3)
    monkeypatch.setattr(module, "SMALL_WINDOW", 1)
    queries = ["mulch", "caffeine", "mulchy", "pine", "mulch", "pines", "straw", "pine", "mulches"]
    # The third is similar to the first; the last is compared with straw only; repeats are found.
    assert session(queries, IS_SIMILAR) == [0, 1, 0, 2, 0, 2, 3, 2, 4]


@pytest.mark.parametrize("maximum", [0, -1, 2.5, True, "canary"])
def test_max_session_queries_below_one_is_refused(maximum):
    with pytest.raises(InvalidParameterError, match="max_session_queries must be"):
        separate_threads([1], [1], ["x"], max_session_queries=maximum)


@pytest.mark.parametrize("window", [0, -1, 2.5, True, "canary"])
def test_window_below_one_is_refused(window):
    with pytest.raises(InvalidParameterError, match="window must be") as refusal:
        separate_threads([1], [1], ["x"], window=window)
    assert "canary" not in str(refusal.value)


@given(LOG, st.integers(1, 4))
def test_sessions_and_queries_take_the_place_of_threads(rows, limit):
    users, times, queries = ([row[n] for row in rows] for n in range(3))
    users, times = np.asarray(users, np.int64), np.asarray(times, np.int64)
    in_order = sorted(range(len(rows)), key=lambda n: (users[n], times[n], n))

    sessions = separate_threads(users, times, queries, unit="session", max_session_queries=limit)
    single = separate_threads(users, times, queries, unit="query")

    assert single[in_order].tolist() == list(range(len(rows)))
    expected, number = {}, -1
    for n in in_order:
        nth = sum(users[m] == users[n] for m in expected)
        number += nth % limit == 0
        expected[n] = number
    assert sessions[in_order].tolist() == list(expected.values())


@pytest.mark.parametrize(("between", "same_thread"), [(199, True), (200, False)])
def test_by_default_a_query_is_compared_with_the_last_200_distinct_texts(between, same_thread):
    # Single words of distant numbers: no two are within the default thresholds.
    words = [f"{number * 7919 % 10**9:09d}" * 3 for number in range(1, between + 1)]
    queries = ["pine straw", *words, "pine straw mulch"]

    threads = separate_threads([1] * len(queries), range(len(queries)), queries)

    assert (threads[0] == threads[-1]) == same_thread


def test_by_default_queries_are_compared_by_edit_distance():
    queries = ["pine straw", "pine straws", "straw, pine bark", "caffeine"]

    by_default = separate_threads([1] * 4, range(4), queries)

    assert by_default.tolist() == [0, 0, 0, 1]
    assert separate_threads([1] * 4, range(4), queries, NEVER_SIMILAR).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("between", "same_thread"), [(7, True), (8, False)])
def test_in_a_large_session_a_query_is_compared_with_the_last_8_texts(
    monkeypatch, between, same_thread
):
    monkeypatch.setattr(module, "LARGE_SESSION", 5)
    words = [f"{number * 7919 % 10**9:09d}" * 3 for number in range(1, between + 6)]
    queries = [*words[:5], "pine straw", *words[5:], "pine straw mulch"]

    threads = separate_threads([1] * len(queries), range(len(queries)), queries)

    assert (threads[5] == threads[-1]) == same_thread


def test_a_session_is_large_after_10_000_texts_and_has_100_000_queries_at_most():
    assert (module.LARGE_SESSION, module.MAX_SESSION_QUERIES) == (10_000, 100_000)


def test_texts_may_be_numpy_strings():
    queries = np.array(["pine straw", "pine straws", "caffeine"])

    assert separate_threads([1, 1, 1], [1, 2, 3], queries).tolist() == [0, 0, 1]


def test_threads_merge_if_a_later_query_of_the_first_is_similar_to_one_of_the_second():
    # D joins the thread of A by C, which is more recent than B; D is similar to B, too.
    results = TableResults({"a": [1], "b": [2], "c": [1], "d": [1, 2], "e": [3]})

    threads = separate_threads([1] * 5, range(5), list("abcde"), ResultOverlap(results))

    assert threads.tolist() == [0, 0, 0, 0, 1]
