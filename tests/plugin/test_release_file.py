"""The verifier accepts a good file and counts each single fault of a changed one."""

from dataclasses import dataclass
from hashlib import md5
from itertools import zip_longest

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.verifier import keyword_owners, release_file, sql
from setanon_dagster.verifier.release_file import verify_file

K = 3
TYPES = {
    "thread_id": pa.string(),
    "keywords": pa.list_(pa.string()),
    "position": pa.int64(),
    "query": pa.string(),
    "user": pa.string(),
    "words": pa.list_(pa.string()),
    "thread": pa.int64(),
    "group": pa.int64(),
    "time": pa.int64(),
}
COLUMNS = {"sets": ["thread_id", "keywords"], "queries": ["thread_id", "position", "query"]}
SETS_OF_THREADS = [("pine", "straw"), ("mulch",), ("county", "shelter", "straw")]


def thread_id(number):
    return md5(b"%d" % number, usedforsecurity=False).hexdigest()


def write(path, columns, rows):
    arrays = [
        pa.array([row[index] for row in rows], TYPES[column])
        for index, column in enumerate(columns)
    ]
    parquet.write_table(pa.table(arrays, names=columns), path, store_schema=False)
    return path


@dataclass
class Files:
    rows: list
    ledger: list
    typed: list


def good_files(form):
    """Nine threads of three sets, each set shared by three users."""
    members = sorted((thread_id(9 * g + u), g, f"u{u}") for g in range(3) for u in range(K))
    ledger = [[name, user] for name, _, user in members]
    typed = [[f"u{u}", list(words)] for u in range(K) for words in SETS_OF_THREADS]
    rows = [[name, list(SETS_OF_THREADS[g])] for name, g, _ in members]
    if form == "queries":
        rows = [
            [name, position, " ".join(words[::step])]
            for name, words in rows
            for position, step in enumerate((1, -1))
        ]
    return Files(rows, ledger, typed)


def verify(folder, form, files, columns=None):
    return verify_file(
        write(folder / "threads.parquet", columns or COLUMNS[form], files.rows),
        K,
        write(folder / "ledger.parquet", ["thread_id", "user"], files.ledger),
        words=write(folder / "clusters.parquet", ["user", "words"], files.typed),
    )


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_good_release_is_accepted_with_and_without_ledger(tmp_path, form):
    verdict = verify(tmp_path, form, good_files(form))
    assert verdict.ok
    assert verdict.failures == []
    assert (verdict.records, verdict.groups, verdict.smallest_group) == (9, 3, 3)
    assert verdict.sizes == ((3, 3, 9),)
    assert verify_file(tmp_path / "threads.parquet", K).ok


def swap(rows):
    rows[0], rows[-1] = rows[-1], rows[0]


def drop(rows, thread):
    rows[:] = [row for row in rows if row[0] != thread]


def change(rows, column, value):
    """Replace a value of the first row; a function computes it from the old value."""
    rows[0][column] = value(rows[0][column]) if callable(value) else value


def merge_two_users(ledger):
    for entry in ledger:
        entry[1] = "u0" if entry[1] == "u1" else entry[1]


def reversed_words(query):
    return " ".join(query.split(" ")[::-1])


def exchange(rows, first, second):
    rows[first][2], rows[second][2] = rows[second][2], rows[first][2]


def join(rows, separator):
    """Join the two queries of each thread, as the verifier joins a list."""
    for number in range(0, len(rows), 2):
        rows[number][2] += separator + rows[number + 1][2]
    del rows[1::2]


BOTH = {
    "removed thread": (
        "violations",
        lambda m: (drop(m.ledger, m.rows[0][0]), drop(m.rows, m.rows[0][0])),
    ),
    "two users are one": ("violations", lambda m: merge_two_users(m.ledger)),
    "id in upper case": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 31 + "A")),
    "id too short": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 31)),
    "id with a newline": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 32 + "\n")),
    "null id": ("nulls", lambda m: change(m.rows, 0, None)),
    "null keywords": ("nulls", lambda m: change(m.rows, -1, None)),
    "repeated row": ("repeated_rows", lambda m: m.rows.insert(0, m.rows[0])),
    "rows out of order": ("unsorted_rows", lambda m: swap(m.rows)),
    "thread without ledger entry": ("unknown_threads", lambda m: m.ledger.pop(4)),
    "ledger entry without thread": (
        "unpublished_entries",
        lambda m: m.ledger.append(["f" * 32, "u0"]),
    ),
    "thread with two ledger entries": (
        "repeated_entries",
        lambda m: m.ledger.append([m.ledger[0][0], "u9"]),
    ),
    "null user in the ledger": ("null_entries", lambda m: change(m.ledger, 1, None)),
    "null id in the ledger": ("null_entries", lambda m: m.ledger.append([None, "u0"])),
    "keyword of two users": ("rare_keywords", lambda m: drop(m.typed, "u2")),
    "keyword of no user": ("rare_keywords", lambda m: m.typed.clear()),
}
SETS = {
    "another keyword": ("violations", lambda m: change(m.rows, 1, ["zinnia"])),
    "additional letter": (
        "violations",
        lambda m: change(m.rows, 1, lambda w: [w[0] + "s", *w[1:]]),
    ),
    "no keyword": ("empty_sets", lambda m: change(m.rows, 1, [])),
    "empty keyword": ("empty_words", lambda m: change(m.rows, 1, lambda w: ["", *w])),
    "null keyword": ("empty_words", lambda m: change(m.rows, 1, lambda w: [*w, None])),
    "repeated keyword": ("unsorted_sets", lambda m: change(m.rows, 1, lambda w: [w[0], *w])),
    "unsorted keywords": ("unsorted_sets", lambda m: change(m.rows, 1, ["straw", "pine"])),
}


def repeat_last_query(rows):
    rows.insert(2, [rows[1][0], 2, rows[1][2]])


QUERIES = {
    "words in another order": ("violating_lists", lambda m: change(m.rows, 2, reversed_words)),
    "additional query": ("violating_lists", lambda m: repeat_last_query(m.rows)),
    "missing query": ("violating_lists", lambda m: m.rows.pop(1)),
    "queries in another order": ("violating_lists", lambda m: exchange(m.rows, 0, 1)),
    "repeated word": ("violating_lists", lambda m: change(m.rows, 2, lambda q: q + " " + q)),
    "two queries in one row": ("malformed_texts", lambda m: join(m.rows, "\n")),
    "control character": ("malformed_texts", lambda m: change(m.rows, 2, lambda q: q + "\x85")),
    "another keyword": ("violations", lambda m: change(m.rows, 2, lambda q: q + " zinnia")),
    "no keyword": ("empty_words", lambda m: change(m.rows, 2, "")),
    "two blanks": ("empty_words", lambda m: change(m.rows, 2, lambda q: q + "  " + q)),
    "blank at the end": ("empty_words", lambda m: change(m.rows, 2, lambda q: q + " ")),
    "gap in the positions": ("broken_positions", lambda m: m.rows[1].__setitem__(1, 2)),
    "positions start at 1": ("broken_positions", lambda m: m.rows.pop(0)),
    "null position": ("nulls", lambda m: change(m.rows, 1, None)),
}
MUTATIONS = [
    pytest.param(form, fault, mutate, id=f"{form}: {name}")
    for form, only in (("sets", SETS), ("queries", QUERIES))
    for name, (fault, mutate) in (BOTH | only).items()
]


def verify_both_ways(folder, monkeypatch, form, files):
    """Verify in small batches, and with the statements for files that may have faults."""
    monkeypatch.setattr(sql, "BATCH_ROWS", 3)
    verdict = verify(folder, form, files)
    monkeypatch.setattr(release_file, "_read_sorted_rows", lambda *_, **__: False)
    assert verify(folder, form, files) == verdict
    return verdict


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_sorted_files_are_read_in_one_pass_with_the_same_verdict(tmp_path, monkeypatch, form):
    files = good_files(form)
    monkeypatch.setattr(release_file, "match_entries", None)
    verdict = verify(tmp_path, form, files)
    monkeypatch.undo()
    assert verify_both_ways(tmp_path, monkeypatch, form, files) == verdict


@pytest.mark.parametrize(("form", "fault", "mutate"), MUTATIONS)
def test_single_change_is_counted(tmp_path, monkeypatch, form, fault, mutate):
    files = good_files(form)
    mutate(files)
    verdict = verify_both_ways(tmp_path, monkeypatch, form, files)
    assert getattr(verdict, fault) > 0
    assert not verdict.ok
    assert verdict.failures
    assert all(any(letter.isdigit() for letter in message) for message in verdict.failures)
    words = {word for keywords in SETS_OF_THREADS for word in keywords} | {
        "zinnia",
        "u0",
        "u1",
        "u2",
    }
    assert words.isdisjoint(" ".join(verdict.failures).split())


@pytest.mark.parametrize("form", ["sets", "queries"])
@pytest.mark.parametrize("extra", ["user", "time", "group"])
def test_additional_column_is_refused(tmp_path, form, extra):
    files = good_files(form)
    value = "u0" if extra == "user" else 1
    files.rows = [[*row, value] for row in files.rows]
    verdict = verify(tmp_path, form, files, [*COLUMNS[form], extra])
    assert verdict.wrong_columns == 1
    assert verdict.violations == 0
    assert not verdict.ok


def test_columns_of_other_types_are_refused(tmp_path):
    path = tmp_path / "threads.parquet"
    parquet.write_table(pa.table({"thread_id": [thread_id(1)], "keywords": ["pine straw"]}), path)
    assert not verify_file(path, K).ok
    parquet.write_table(pa.table({"user": ["u0"]}), path)
    assert verify_file(path, K).wrong_columns > 0


def test_edited_queries_need_shared_sets_only_and_count_exposed_threads(tmp_path):
    files = good_files("queries")
    change(files.rows, 2, reversed_words)
    assert verify(tmp_path, "queries", files).violations == K
    verdict = verify_file(
        tmp_path / "threads.parquet", K, tmp_path / "ledger.parquet", format="edited"
    )
    assert verdict.ok
    assert (verdict.exposed_threads, verdict.single_user_threads) == (K, 1)
    assert (verdict.lists, verdict.violations, verdict.violating_lists) == (4, 0, 0)
    for form in ("queries", None):
        assert not verify_file(tmp_path / "threads.parquet", K, format=form).ok
    assert verify_file(tmp_path / "threads.parquet", K, format="sets").wrong_columns


@pytest.mark.parametrize("queries", [1, 7, 8, 9, 20])
def test_long_threads_have_one_list_each(tmp_path, queries):
    def rows_of(last):
        return [
            [thread_id(n), position, "pine" if position < queries - 1 else last(n)]
            for n in sorted(range(6), key=thread_id)
            for position in range(queries)
        ]

    path = tmp_path / "threads.parquet"
    write(path, COLUMNS["queries"], rows_of(lambda _: "straw"))
    assert (verify_file(path, K).ok, verify_file(path, K).lists) == (True, 1)
    write(path, COLUMNS["queries"], rows_of(lambda n: "straw" if n else "straw straw"))
    verdict = verify_file(path, K)
    assert (verdict.lists, verdict.violations, verdict.violating_groups) == (2, 1, 0)


def test_footer_of_the_file_must_be_empty(tmp_path):
    files = good_files("sets")
    verify(tmp_path, "sets", files)
    path = tmp_path / "threads.parquet"
    parquet.write_table(parquet.read_table(path).replace_schema_metadata({"user": "u0"}), path)
    assert verify_file(path, K).footer_entries > 0
    assert not verify_file(path, K).ok


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_order_of_the_ledger_does_not_matter(tmp_path, form):
    files = good_files(form)
    in_order = verify(tmp_path, form, files)
    files.ledger.reverse()
    assert verify(tmp_path, form, files) == in_order
    assert in_order.ok


def test_keyword_with_a_blank_is_one_keyword(tmp_path):
    files = good_files("sets")
    files.rows = [[name, ["pine straw"] if n % 2 else ["pine", "straw"]] for n, (name, _) in
                 enumerate(files.rows)]  # fmt: skip
    verify(tmp_path, "sets", files)
    verdict = verify_file(tmp_path / "threads.parquet", K)
    assert (verdict.groups, verdict.smallest_group) == (2, 4)


def test_unsorted_sets_are_counted_as_the_same_set(tmp_path):
    files = good_files("sets")
    files.rows = [
        [name, words[:: -1 if n % 2 else 1]] for n, (name, words) in enumerate(files.rows)
    ]
    verdict = verify(tmp_path, "sets", files)
    assert verdict.unsorted_sets > 0
    assert (verdict.groups, verdict.smallest_group, verdict.violations) == (3, 3, 0)


@pytest.mark.parametrize("rows", [0, 1, 4, 100])
def test_rare_keywords_do_not_depend_on_the_size_of_the_probe(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(keyword_owners, "PROBE", rows)
    files = good_files("sets")
    assert verify(tmp_path, "sets", files).rare_keywords == 0
    files.typed = [
        [user, words] for user, words in files.typed if (user, words) != ("u1", ["mulch"])
    ]
    assert verify(tmp_path, "sets", files).rare_keywords == 1


def test_too_little_memory_raises_an_error_without_a_verdict(tmp_path):
    verify(tmp_path, "queries", good_files("queries"))
    for memory in ("1KB", "64KB"):
        with pytest.raises(InvalidParameterError, match="memory must suffice") as caught:
            verify_file(tmp_path / "threads.parquet", K, memory=memory, cores=1)
        assert caught.value.__context__ is None


def test_users_are_counted_not_threads(tmp_path):
    files = good_files("sets")
    files.ledger = [[name, "u0"] for name, _ in files.ledger]
    verdict = verify(tmp_path, "sets", files)
    assert (verdict.smallest_group, verdict.violations, verdict.violating_groups) == (1, 9, 3)
    assert verify_file(tmp_path / "threads.parquet", K).ok


def test_min_owners_is_k_by_default(tmp_path):
    files = good_files("sets")
    files.typed = files.typed[: 2 * len(SETS_OF_THREADS)]
    verify(tmp_path, "sets", files)
    path, words = tmp_path / "threads.parquet", tmp_path / "clusters.parquet"
    assert verify_file(path, K, words=words).rare_keywords == 5
    assert verify_file(path, K, words=words, min_owners=2).ok
    assert verify_file(path, K, words=words, min_owners=0).ok
    with pytest.raises(InvalidParameterError, match="min_owners"):
        verify_file(path, K, words=words, min_owners=-1)
    with pytest.raises(InvalidParameterError, match="k must be at least 2"):
        verify_file(path, 1)


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_tsv_files_are_verified(tmp_path, form):
    rows = good_files(form).rows
    texts = [[" ".join(v) if isinstance(v, list) else str(v) for v in row] for row in rows]
    path = tmp_path / "threads.tsv"

    def verify_lines(lines):
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
        return verify_file(path, K)

    assert verify_lines([COLUMNS[form], *texts]).ok
    others = [row for row in texts if row[0] != texts[0][0]]
    assert verify_lines([COLUMNS[form], *others]).violating_groups == 1
    assert (
        verify_lines([[*COLUMNS[form], "user"], *([*row, "u0"] for row in texts)]).wrong_columns
        == 1
    )
    assert verify_lines(texts).wrong_columns > 0


def test_paths_with_patterns_and_partitions_are_read_literally(tmp_path):
    folder = tmp_path / "user=canary" / "[a-z]*"
    folder.mkdir(parents=True)
    assert verify(folder, "sets", good_files("sets")).ok


@pytest.mark.parametrize("content", [b"", b"PAR1canary", b"canary"])
def test_unreadable_file_raises_an_error_without_its_content(tmp_path, content):
    path = tmp_path / "threads.parquet"
    path.write_bytes(content)
    with pytest.raises(MalformedInputError) as caught:
        verify_file(path, K)
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_ledger_without_users_is_refused(tmp_path):
    verify(tmp_path, "sets", good_files("sets"))
    words = write(tmp_path / "w.parquet", ["thread_id", "thread"], [[thread_id(1), 1]])
    with pytest.raises(MalformedInputError):
        verify_file(tmp_path / "threads.parquet", K, words)


def test_empty_release_has_no_fault(tmp_path):
    verdict = verify(tmp_path, "sets", Files([], [], []))
    assert (verdict.ok, verdict.records, verdict.smallest_group) == (True, 0, 0)


def count_by_loops(form, rows, ledger, typed):
    """The counts of the verifier, by simple loops."""
    sets, faults = {}, dict.fromkeys(("repeated_rows", "unsorted_rows", "broken_positions"), 0)
    previous = None
    for row in rows:
        key = (row[0], row[1] if form == "queries" else 0)
        faults["repeated_rows"] += key == previous
        faults["unsorted_rows"] += previous is not None and key < previous
        expected = previous[1] + 1 if previous and previous[0] == key[0] else 0
        faults["broken_positions"] += form == "queries" and key[1] != expected
        previous = key
        # Each row of a set is a thread; queries are joined by thread.
        key = (row[0], len(sets)) if form == "sets" else row[0]
        sets.setdefault(key, []).extend(row[1] if form == "sets" else row[2].split(" "))
    users = {}
    for name, user in ledger:
        users[name] = min(user, users.get(name, user))
    users_of, size = {}, {}
    for key, words in sets.items():
        name = key[0] if form == "sets" else key
        users_of.setdefault(frozenset(words), set()).update({users[name]} if name in users else ())
        size[frozenset(words)] = size.get(frozenset(words), 0) + 1
    names = {key[0] if form == "sets" else key for key in sets}
    owners = {
        w: {user for user, words_of in typed if w in words_of} for words in users_of for w in words
    }
    exposed = count_lists_by_loops(form, rows, users)
    return faults | exposed | {
        "records": len(sets),
        "groups": len(users_of),
        "smallest_group": min(map(len, users_of.values()), default=0),
        "violations": exposed["exposed_threads"]
        if form == "queries"
        else sum(size[words] for words, group in users_of.items() if len(group) < K),
        "keywords": sum(len({*words}) for words in sets.values()),
        "violating_groups": sum(len(group) < K for group in users_of.values()),
        "empty_sets": sum(not words for words in sets.values()),
        "empty_words": sum("" in words for words in sets.values()),
        "unsorted_sets": sum(
            form == "sets" and words != sorted(set(words)) for words in sets.values()
        ),
        "unknown_threads": sum(
            (key[0] if form == "sets" else key) not in users for key in sets
        ),
        "unpublished_entries": len(set(users) - names),
        "repeated_entries": sum(
            [name for name, _ in ledger].count(name) > 1 for name in users
        ),
        "rare_keywords": sum(len(group) < K for group in owners.values()),
    }  # fmt: skip


def count_lists_by_loops(form, rows, users):
    """The counts of lists of queries, by simple loops; users by thread."""
    lists = {}
    for row in sorted(rows) if form == "queries" else ():
        lists.setdefault(row[0], []).append(row[2])
    users_of, threads_of = {}, {}
    for name, queries in lists.items():
        users_of.setdefault(tuple(queries), set()).update({users[name]} if name in users else ())
        threads_of.setdefault(tuple(queries), []).append(name)
    sizes = [(len(users_of[queries]), len(threads_of[queries])) for queries in users_of]
    return {
        "lists": len(sizes),
        "violating_lists": sum(users < K for users, _ in sizes),
        "exposed_threads": sum(threads for users, threads in sizes if users < K),
        "single_user_threads": sum(threads for users, threads in sizes if users <= 1),
    }


NAMES = st.integers(0, 9).map(thread_id)
WORDS = st.sampled_from(["a", "b", "é", "zz", ""])
LEDGERS = st.lists(st.tuples(NAMES, st.sampled_from(["u", "v", "w", "x"])), max_size=14)
TYPED = st.lists(st.tuples(st.sampled_from("uvwx"), st.lists(WORDS, max_size=5)), max_size=9)
TEXTS = st.lists(WORDS, max_size=3).map(" ".join)
ROWS = {
    "sets": st.lists(st.tuples(NAMES, st.lists(WORDS, max_size=3)), max_size=14),
    "queries": st.lists(st.tuples(NAMES, st.integers(0, 3), TEXTS), max_size=14),
}


def examples(count):
    return settings(max_examples=count, suppress_health_check=[HealthCheck.function_scoped_fixture])


FORMS = pytest.mark.parametrize("form", ["sets", "queries"])
DRAWN = given(data=st.data(), ordered=st.booleans(), fitting=st.booleans())


@FORMS
@examples(20)
@DRAWN
def test_counts_equal_those_of_simple_loops(tmp_path, form, data, ordered, fitting):
    assert_counts_equal_loops(tmp_path, form, data, ordered, fitting)


@pytest.mark.slow
@FORMS
@examples(150)
@DRAWN
def test_counts_equal_those_of_simple_loops_on_many_files(tmp_path, form, data, ordered, fitting):
    assert_counts_equal_loops(tmp_path, form, data, ordered, fitting)


def assert_counts_equal_loops(folder, form, data, ordered, fitting):
    rows = data.draw(ROWS[form])
    rows = sorted(rows) if ordered else rows
    ledger, typed = data.draw(LEDGERS), data.draw(TYPED)
    if fitting:
        # Correct positions, and a matching ledger.
        rows = list({row[0]: row for row in rows}.values())
        rows = [(row[0], 0, row[2]) if form == "queries" else row for row in rows]
        ledger = [(name, user) for (name, *_), user in zip(rows, "uvwxuvwxuvwx", strict=False)]
    verdict = verify(folder, form, Files(rows, ledger, typed))
    expected = count_by_loops(form, rows, ledger, typed)
    seen = {name: getattr(verdict, name) for name in expected}
    assert [
        pair for pair in zip_longest(seen.items(), expected.items()) if pair[0] != pair[1]
    ] == []
    wrong = {name for name, count in expected.items() if count and name in FAULTS}
    assert verdict.ok == (not wrong)


FAULTS = {
    "violations", "repeated_rows", "unsorted_rows", "broken_positions", "empty_sets",
    "empty_words", "unsorted_sets", "unknown_threads", "unpublished_entries",
    "repeated_entries", "rare_keywords",
}  # fmt: skip


@pytest.mark.parametrize("with_ledger", [False, True])
def test_in_the_format_edited_threads_are_counted_by_set_and_not_by_list(tmp_path, with_ledger):
    # Three users share the set, each with another list of queries.
    lists = [["pine straw"], ["straw pine"], ["pine", "straw"]]
    names = sorted(map(thread_id, range(3)))
    rows = [
        [name, position, query]
        for name, queries in zip(names, lists, strict=True)
        for position, query in enumerate(queries)
    ]
    path = write(tmp_path / "threads.parquet", COLUMNS["queries"], rows)
    ledger = write(
        tmp_path / "ledger.parquet", ["thread_id", "user"], list(zip(names, "abc", strict=True))
    )
    optional = ledger if with_ledger else None

    edited = verify_file(path, K, optional, format="edited")
    queries = verify_file(path, K, optional, format="queries")

    assert edited.ok
    assert (edited.records, edited.groups, edited.smallest_group) == (3, 1, 3)
    assert not queries.ok
    assert queries.violations == 3


def test_positions_that_continue_from_thread_to_thread_are_refused(tmp_path):
    names = sorted(map(thread_id, range(K)))
    rows = [[name, position, "pine straw"] for position, name in enumerate(names)]

    verdict = verify_file(write(tmp_path / "threads.parquet", COLUMNS["queries"], rows), K)

    assert verdict.broken_positions == 2
    assert not verdict.ok


def test_without_a_ledger_unsorted_sets_are_counted_as_the_same_set(tmp_path):
    names = sorted(map(thread_id, range(3)))
    sets = [["pine", "straw"], ["straw", "pine"], ["pine", "straw"]]
    rows = list(zip(names, sets, strict=True))

    verdict = verify_file(write(tmp_path / "threads.parquet", COLUMNS["sets"], rows), K)

    assert (verdict.groups, verdict.smallest_group, verdict.unsorted_sets) == (1, 3, 1)
    assert not verdict.ok


def test_unknown_formats_are_refused(tmp_path):
    path = write(tmp_path / "threads.parquet", COLUMNS["sets"], good_files("sets").rows)

    with pytest.raises(InvalidParameterError, match="format must be one of"):
        verify_file(path, K, format="lists")
