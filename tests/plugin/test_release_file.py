from dataclasses import dataclass
from hashlib import md5
from itertools import zip_longest

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.verifier import keyword_owners
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
CROWDS = [("pine", "straw"), ("mulch",), ("county", "shelter", "straw")]


def name_of(number):
    return md5(b"%d" % number, usedforsecurity=False).hexdigest()


def write(path, columns, rows):
    arrays = [
        pa.array([row[place] for row in rows], TYPES[column])
        for place, column in enumerate(columns)
    ]
    parquet.write_table(pa.table(arrays, names=columns), path)
    return path


@dataclass
class Made:
    rows: list
    ledger: list
    typed: list


def good(form):
    """Nine threads of three sets, each set shared by three users."""
    members = sorted((name_of(9 * g + u), g, f"u{u}") for g in range(3) for u in range(K))
    ledger = [[name, user] for name, _, user in members]
    typed = [[f"u{u}", list(words)] for u in range(K) for words in CROWDS]
    rows = [[name, list(CROWDS[g])] for name, g, _ in members]
    if form == "queries":
        rows = [
            [name, place, " ".join(words[::way])]
            for name, words in rows
            for place, way in enumerate((1, -1))
        ]
    return Made(rows, ledger, typed)


def judged(folder, form, made, columns=None):
    return verify_file(
        write(folder / "threads.parquet", columns or COLUMNS[form], made.rows),
        K,
        write(folder / "ledger.parquet", ["thread_id", "user"], made.ledger),
        words=write(folder / "clusters.parquet", ["user", "words"], made.typed),
    )


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_a_good_release_is_accepted_with_and_without_its_ledger(tmp_path, form):
    verdict = judged(tmp_path, form, good(form))
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
    """Another value in the first row; a function makes it of the old one."""
    rows[0][column] = value(rows[0][column]) if callable(value) else value


def fake_crowd(ledger):
    for entry in ledger:
        entry[1] = "u0" if entry[1] == "u1" else entry[1]


BOTH = {
    "a thread less": (
        "violations",
        lambda m: (drop(m.ledger, m.rows[0][0]), drop(m.rows, m.rows[0][0])),
    ),
    "one user as two": ("violations", lambda m: fake_crowd(m.ledger)),
    "id in upper case": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 31 + "A")),
    "id too short": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 31)),
    "id with a line after it": ("malformed_ids", lambda m: change(m.rows, 0, "0" * 32 + "\n")),
    "null id": ("nulls", lambda m: change(m.rows, 0, None)),
    "null words": ("nulls", lambda m: change(m.rows, -1, None)),
    "repeated row": ("repeated_rows", lambda m: m.rows.insert(0, m.rows[0])),
    "rows out of order": ("unsorted_rows", lambda m: swap(m.rows)),
    "ledger lacks a thread": ("unknown_threads", lambda m: m.ledger.pop(4)),
    "ledger knows more": ("unpublished_entries", lambda m: m.ledger.append(["f" * 32, "u0"])),
    "two users of a thread": (
        "repeated_entries",
        lambda m: m.ledger.append([m.ledger[0][0], "u9"]),
    ),
    "no user": ("null_entries", lambda m: change(m.ledger, 1, None)),
    "no id in the ledger": ("null_entries", lambda m: m.ledger.append([None, "u0"])),
    "a word of two users": ("rare_keywords", lambda m: drop(m.typed, "u2")),
    "a word nobody typed": ("rare_keywords", lambda m: m.typed.clear()),
}
SETS = {
    "another word": ("violations", lambda m: change(m.rows, 1, ["zinnia"])),
    "a letter more": ("violations", lambda m: change(m.rows, 1, lambda w: [w[0] + "s", *w[1:]])),
    "no word": ("empty_sets", lambda m: change(m.rows, 1, [])),
    "an empty word": ("empty_words", lambda m: change(m.rows, 1, lambda w: ["", *w])),
    "a null word": ("empty_words", lambda m: change(m.rows, 1, lambda w: [*w, None])),
    "a word twice": ("unsorted_sets", lambda m: change(m.rows, 1, lambda w: [w[0], *w])),
    "words out of order": ("unsorted_sets", lambda m: change(m.rows, 1, ["straw", "pine"])),
}
QUERIES = {
    "another word": ("violations", lambda m: change(m.rows, 2, lambda q: q + " zinnia")),
    "no word": ("empty_words", lambda m: change(m.rows, 2, "")),
    "two blanks": ("empty_words", lambda m: change(m.rows, 2, lambda q: q + "  " + q)),
    "a blank at the end": ("empty_words", lambda m: change(m.rows, 2, lambda q: q + " ")),
    "a gap": ("broken_positions", lambda m: m.rows[1].__setitem__(1, 2)),
    "from one on": ("broken_positions", lambda m: m.rows.pop(0)),
    "null position": ("nulls", lambda m: change(m.rows, 1, None)),
}
MUTATIONS = [
    pytest.param(form, fault, mutate, id=f"{form}: {name}")
    for form, own in (("sets", SETS), ("queries", QUERIES))
    for name, (fault, mutate) in (BOTH | own).items()
]


@pytest.mark.parametrize(("form", "fault", "mutate"), MUTATIONS)
def test_a_single_change_is_found(tmp_path, form, fault, mutate):
    made = good(form)
    mutate(made)
    verdict = judged(tmp_path, form, made)
    assert getattr(verdict, fault) > 0
    assert not verdict.ok
    assert verdict.failures
    assert all(any(letter.isdigit() for letter in said) for said in verdict.failures)
    words = {word for crowd in CROWDS for word in crowd} | {"zinnia", "u0", "u1", "u2"}
    assert words.isdisjoint(" ".join(verdict.failures).split())


@pytest.mark.parametrize("form", ["sets", "queries"])
@pytest.mark.parametrize("extra", ["user", "time", "group"])
def test_a_column_more_is_refused(tmp_path, form, extra):
    made = good(form)
    value = "u0" if extra == "user" else 1
    made.rows = [[*row, value] for row in made.rows]
    verdict = judged(tmp_path, form, made, [*COLUMNS[form], extra])
    assert verdict.wrong_columns == 1
    assert verdict.violations == 0
    assert not verdict.ok


def test_columns_of_other_types_are_refused(tmp_path):
    path = tmp_path / "threads.parquet"
    parquet.write_table(pa.table({"thread_id": [name_of(1)], "keywords": ["pine straw"]}), path)
    assert not verify_file(path, K).ok
    parquet.write_table(pa.table({"user": ["u0"]}), path)
    assert verify_file(path, K).wrong_columns > 0


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_the_order_of_the_ledger_does_not_matter(tmp_path, form):
    made = good(form)
    in_order = judged(tmp_path, form, made)
    made.ledger.reverse()
    assert judged(tmp_path, form, made) == in_order
    assert in_order.ok


def test_a_keyword_with_a_blank_is_one_keyword(tmp_path):
    made = good("sets")
    made.rows = [[name, ["pine straw"] if n % 2 else ["pine", "straw"]] for n, (name, _) in
                 enumerate(made.rows)]  # fmt: skip
    judged(tmp_path, "sets", made)
    verdict = verify_file(tmp_path / "threads.parquet", K)
    assert (verdict.groups, verdict.smallest_group) == (2, 4)


def test_sets_in_any_order_are_the_same_sets(tmp_path):
    made = good("sets")
    made.rows = [[name, words[:: -1 if n % 2 else 1]] for n, (name, words) in enumerate(made.rows)]
    verdict = judged(tmp_path, "sets", made)
    assert verdict.unsorted_sets > 0
    assert (verdict.groups, verdict.smallest_group, verdict.violations) == (3, 3, 0)


@pytest.mark.parametrize("rows", [0, 1, 4, 100])
def test_rare_keywords_are_found_wherever_the_common_ones_were(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(keyword_owners, "PROBE", rows)
    made = good("sets")
    assert judged(tmp_path, "sets", made).rare_keywords == 0
    made.typed = [[user, words] for user, words in made.typed if (user, words) != ("u1", ["mulch"])]
    assert judged(tmp_path, "sets", made).rare_keywords == 1


def test_too_little_memory_is_no_verdict_and_says_so(tmp_path):
    judged(tmp_path, "queries", good("queries"))
    for memory in ("1KB", "64KB"):
        with pytest.raises(InvalidParameterError, match="memory must suffice") as caught:
            verify_file(tmp_path / "threads.parquet", K, memory=memory, cores=1)
        assert caught.value.__context__ is None


def test_users_are_counted_not_threads(tmp_path):
    made = good("sets")
    made.ledger = [[name, "u0"] for name, _ in made.ledger]
    verdict = judged(tmp_path, "sets", made)
    assert (verdict.smallest_group, verdict.violations, verdict.violating_groups) == (1, 9, 3)
    assert verify_file(tmp_path / "threads.parquet", K).ok


def test_min_owners_is_k_unless_said_otherwise(tmp_path):
    made = good("sets")
    made.typed = made.typed[: 2 * len(CROWDS)]
    judged(tmp_path, "sets", made)
    path, words = tmp_path / "threads.parquet", tmp_path / "clusters.parquet"
    assert verify_file(path, K, words=words).rare_keywords == 5
    assert verify_file(path, K, words=words, min_owners=2).ok
    assert verify_file(path, K, words=words, min_owners=0).ok
    with pytest.raises(InvalidParameterError, match="min_owners"):
        verify_file(path, K, words=words, min_owners=-1)
    with pytest.raises(InvalidParameterError, match="k must be at least 2"):
        verify_file(path, 1)


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_text_with_tabs_is_read_as_well(tmp_path, form):
    rows = good(form).rows
    texts = [[" ".join(v) if isinstance(v, list) else str(v) for v in row] for row in rows]
    path = tmp_path / "threads.tsv"

    def told(lines):
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
        return verify_file(path, K)

    assert told([COLUMNS[form], *texts]).ok
    others = [row for row in texts if row[0] != texts[0][0]]
    assert told([COLUMNS[form], *others]).violating_groups == 1
    assert told([[*COLUMNS[form], "user"], *([*row, "u0"] for row in texts)]).wrong_columns == 1
    assert told(texts).wrong_columns > 0


def test_names_of_files_and_folders_are_taken_literally(tmp_path):
    folder = tmp_path / "user=canary" / "[a-z]*"
    folder.mkdir(parents=True)
    assert judged(folder, "sets", good("sets")).ok


@pytest.mark.parametrize("content", [b"", b"PAR1canary", b"canary"])
def test_what_cannot_be_read_is_refused_without_a_word_of_it(tmp_path, content):
    path = tmp_path / "threads.parquet"
    path.write_bytes(content)
    with pytest.raises(MalformedInputError) as caught:
        verify_file(path, K)
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_ledger_without_users_is_refused(tmp_path):
    judged(tmp_path, "sets", good("sets"))
    words = write(tmp_path / "w.parquet", ["thread_id", "thread"], [[name_of(1), 1]])
    with pytest.raises(MalformedInputError):
        verify_file(tmp_path / "threads.parquet", K, words)


def test_an_empty_release_has_nothing_wrong(tmp_path):
    verdict = judged(tmp_path, "sets", Made([], [], []))
    assert (verdict.ok, verdict.records, verdict.smallest_group) == (True, 0, 0)


def oracle(form, rows, ledger, typed):
    """The same counts, by loops."""
    sets, faults = {}, dict.fromkeys(("repeated_rows", "unsorted_rows", "broken_positions"), 0)
    above = None
    for row in rows:
        key = (row[0], row[1] if form == "queries" else 0)
        faults["repeated_rows"] += key == above
        faults["unsorted_rows"] += above is not None and key < above
        due = above[1] + 1 if above and above[0] == key[0] else 0
        faults["broken_positions"] += form == "queries" and key[1] != due
        above = key
        # Repeated rows of sets are threads of their own; queries are gathered.
        at = (row[0], len(sets)) if form == "sets" else row[0]
        sets.setdefault(at, []).extend(row[1] if form == "sets" else row[2].split(" "))
    users = {}
    for name, user in ledger:
        users[name] = min(user, users.get(name, user))
    held, size = {}, {}
    for at, words in sets.items():
        name = at[0] if form == "sets" else at
        held.setdefault(frozenset(words), set()).update({users[name]} if name in users else ())
        size[frozenset(words)] = size.get(frozenset(words), 0) + 1
    names = {at[0] if form == "sets" else at for at in sets}
    owners = {w: {u for u, own in typed if w in own} for words in held for w in words}
    return faults | {
        "records": len(sets),
        "groups": len(held),
        "smallest_group": min(map(len, held.values()), default=0),
        "violations": sum(size[words] for words, those in held.items() if len(those) < K),
        "violating_groups": sum(len(those) < K for those in held.values()),
        "empty_sets": sum(not words for words in sets.values()),
        "empty_words": sum("" in words for words in sets.values()),
        "unsorted_sets": sum(
            form == "sets" and words != sorted(set(words)) for words in sets.values()
        ),
        "unknown_threads": sum(
            (at[0] if form == "sets" else at) not in users for at in sets
        ),
        "unpublished_entries": len(set(users) - names),
        "repeated_entries": sum(
            [name for name, _ in ledger].count(name) > 1 for name in users
        ),
        "rare_keywords": sum(len(those) < K for those in owners.values()),
    }  # fmt: skip


NAMES = st.integers(0, 9).map(name_of)
WORDS = st.sampled_from(["a", "b", "é", "zz", ""])
LEDGERS = st.lists(st.tuples(NAMES, st.sampled_from(["u", "v", "w", "x"])), max_size=14)
TYPED = st.lists(st.tuples(st.sampled_from("uvwx"), st.lists(WORDS, max_size=5)), max_size=9)
TEXTS = st.lists(WORDS, max_size=3).map(" ".join)
ROWS = {
    "sets": st.lists(st.tuples(NAMES, st.lists(WORDS, max_size=3)), max_size=14),
    "queries": st.lists(st.tuples(NAMES, st.integers(0, 3), TEXTS), max_size=14),
}


@pytest.mark.parametrize("form", ["sets", "queries"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), ordered=st.booleans(), fitting=st.booleans())
def test_counts_are_those_of_the_obvious_loops(tmp_path, form, data, ordered, fitting):
    rows = data.draw(ROWS[form])
    rows = sorted(rows) if ordered else rows
    ledger, typed = data.draw(LEDGERS), data.draw(TYPED)
    if fitting:
        # Positions as they must be, and the ledger that goes with them.
        rows = list({row[0]: row for row in rows}.values())
        rows = [(row[0], 0, row[2]) if form == "queries" else row for row in rows]
        ledger = [(name, user) for (name, *_), user in zip(rows, "uvwxuvwxuvwx", strict=False)]
    verdict = judged(tmp_path, form, Made(rows, ledger, typed))
    due = oracle(form, rows, ledger, typed)
    seen = {name: getattr(verdict, name) for name in due}
    assert [pair for pair in zip_longest(seen.items(), due.items()) if pair[0] != pair[1]] == []
    wrong = {name for name, count in due.items() if count and name in FAULTS}
    assert verdict.ok == (not wrong)


FAULTS = {
    "violations", "repeated_rows", "unsorted_rows", "broken_positions", "empty_sets",
    "empty_words", "unsorted_sets", "unknown_threads", "unpublished_entries",
    "repeated_entries", "rare_keywords",
}  # fmt: skip
