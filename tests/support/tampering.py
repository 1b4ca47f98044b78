"""Releases with one random change each, which the verifier must refuse: file, ledger, certificate,
data sheet, signature and folder."""

import json
import random
import shutil
from dataclasses import dataclass, field
from hashlib import sha256

import pyarrow as pa
from pyarrow import parquet

from setanon_core.errors import SetanonError
from setanon_dagster.gate.certificate import (
    build_certificate,
    certificate_files,
    certificate_text,
    setanon_version,
)
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.storage.parquet import write_parquet
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import verify_folder
from setanon_dagster.verifier.signature import SIGNATURE
from support.signing import own_key, public_keys

K = 3
NAME = "trial"
COST = {
    "threads": 40, "keywords": 90, "additions": 1, "deletions": 220, "withdrawals": 3,
    "respellings": 4, "lower_bound": 120, "factor": 1.5, "retained": 0.9,
}  # fmt: skip
LISTS = [
    ["pine straw", "pine straw mulch"],
    ["pine straw mulch"],
    ["mulch straw pine"],
    ["pine straw", "pine straw mulch", "mulch"],
    ["county shelter", "shelter county", "county shelter"],
    ["county shelter"],
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "a b c"],
]
"""Lists of queries; several have the same set. Each is published for k users."""

WITH_ATTRIBUTES = " with attributes"
ATTRIBUTES = ("week", "shop")
LISTED = ("keywords", *ATTRIBUTES)
TYPES = {"position": pa.int64(), "time": pa.int64()} | dict.fromkeys(LISTED, pa.list_(pa.string()))
"""Types of columns; the others have text."""

VALUES = [
    [["2006-W10"], []],
    [["2006-W11"], []],
    [["2006-W10", "2006-W11"], ["corner shop"]],
    [[], ["pine"]],
    [["2006-W10"], ["mill", "pine straw"]],
    [[], []],
    [["pine"], []],
]
"""Values of the threads of each list. The first list is published with each of the first two."""

ATTRIBUTE_COST = {"total": 60, "additions": 3, "deletions": 9, "retained": 0.8}

COLUMNS = {"queries": ["thread_id", "position", "query"], "sets": ["thread_id", "keywords"]}


@dataclass
class Tampered:
    """The parts of a release, before they are written."""

    form: str
    rows: list
    ledger: list
    columns: list
    values: dict = field(default_factory=dict)
    """Values of attributes by thread, or by thread and position, which is looked up first."""

    attributes: tuple = ()
    files: dict = field(default_factory=dict)
    """Further files of the folder by name; None is a folder, a string the target of a link."""

    changes: list = field(default_factory=list)
    """Functions that change the text of a written file, as (file name, function)."""

    missing: str = ""
    footer: bool = False
    keeps_digest: bool = False
    """Whether the certificate has the digest before the change of the rows."""

    codec: str = "zstd"

    signer: int | None = None
    """Number of the key that signs; 1 is that of the publisher. A signed release is verified with
    the key of the publisher, as by a reader, who has no private folder."""

    signs_changes: bool = False
    """Whether the changed certificate is signed, not the one before the changes."""

    sign: object = None
    """A function that changes the signature; None if there is no change."""


def good_release(form):
    form, _, attributes = form.partition(WITH_ATTRIBUTES[:5])
    lists, values, threads = list(zip(LISTS, VALUES, strict=True)), {}, []
    if attributes:
        lists.append((LISTS[0], VALUES[1]))
    for number, (queries, published) in enumerate(lists):
        for user in range(K):
            name = sha256(b"%d %d" % (number, user)).hexdigest()[:32]
            threads.append((name, f"u{(user + number) % 5}", queries))
            values[name] = published
    threads.sort()
    ledger = [[name, user] for name, user, _ in threads]
    if form == "sets":
        rows = [[name, sorted({*" ".join(queries).split()})] for name, _, queries in threads]
    else:
        rows = [
            [name, position, query]
            for name, _, queries in threads
            for position, query in enumerate(queries)
        ]
    columns = COLUMNS["sets" if form == "sets" else "queries"]
    attributes = ATTRIBUTES if attributes else ()
    return Tampered(form, rows, ledger, list(columns), values, attributes)


def published_table(parts):
    """Columns and rows of the file, those of attributes included."""
    if not parts.attributes:
        return parts.columns, parts.rows
    number = {name: index for index, name in enumerate(ATTRIBUTES)}
    none = [[] for _ in ATTRIBUTES]
    rows = []
    for row in parts.rows:
        values = parts.values.get(row[0], none)
        if parts.form != "sets":
            values = parts.values.get((row[0], row[1]), values)
        rows.append([*row, *(values[number[name]] for name in parts.attributes)])
    return [*parts.columns, *parts.attributes], rows


def write_table(path, columns, rows, codec="zstd", *, footer=False):
    arrays = [
        pa.array([row[index] for row in rows], TYPES.get(name, pa.string()))
        for index, name in enumerate(columns)
    ]
    table = pa.table(arrays, names=columns)
    if codec == "zstd" and not footer:
        write_parquet(table, path)
    else:
        # The stored schema is an entry of the footer.
        parquet.write_table(table, path, compression=codec, store_schema=footer)


def write_release(root, parts, verdict):
    """Write the folders of a release; return the public and the private one."""
    shutil.rmtree(root, ignore_errors=True)
    staged = root / "staged"
    staged.mkdir(parents=True)
    path = staged / "threads.parquet"
    write_table(path, *published_table(parts), parts.codec, footer=parts.footer)
    digest = sha256(path.read_bytes()).hexdigest()
    if parts.keeps_digest:
        digest = digest[::-1]
    parameters = {"format": parts.form, "k": K, "method": "best", "min_owners": K, "p": 2}
    costs = COST
    if parts.attributes:
        parameters["attributes"] = ", ".join(parts.attributes)
        costs = COST | {"attributes": dict.fromkeys(parts.attributes, ATTRIBUTE_COST)}
    exact = build_certificate(digest, parameters, costs, verdict)
    files = certificate_files(NAME, exact)
    (staged / "certificate.json").write_text(files.public)
    (staged / "DATASHEET.md").write_text(files.sheet)
    folder, private = root / f"{NAME}-{digest[:12]}", root / "private"
    staged.rename(folder)
    private.mkdir()
    (private / "certificate.json").write_text(files.exact)
    _sign(folder, parts, final=False)
    write_table(private / "ledger.parquet", ["thread_id", "user"], parts.ledger)
    for name, content in parts.files.items():
        if content is None:
            (folder / name).mkdir()
        elif isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(content)
    for name, change in parts.changes:
        text = (folder / name).read_text()
        (folder / name).write_text(change(text))
        assert (folder / name).read_text() != text
    _sign(folder, parts, final=True)
    if parts.missing:
        (folder / parts.missing).unlink()
    return folder, private


def _sign(folder, parts, *, final):
    """Write the signature, before or after the changes of the certificate."""
    if parts.signer is None or parts.signs_changes is not final:
        return
    signature = own_key(parts.signer).sign((folder / "certificate.json").read_bytes())
    (folder / SIGNATURE).write_bytes(parts.sign(signature) if parts.sign else signature)


def verdict_of_good(root, form):
    parts = good_release(form)
    root.mkdir(parents=True, exist_ok=True)
    write_table(root / "t.parquet", *published_table(parts))
    write_table(root / "l.parquet", ["thread_id", "user"], parts.ledger)
    return verify_file(
        root / "t.parquet",
        K,
        root / "l.parquet",
        format=parts.form,
        attributes=parts.attributes,
        cores=1,
    )


def refused(folder, private, *, signed=False):
    """Whether the verifier refuses a release folder, by a verdict or by one of its errors.

    A signed release is verified with the key of the publisher, and without its private folder.
    """
    compared = {"keys": public_keys()} if signed else {"private": private}
    try:
        return not verify_folder(
            folder, **compared, data_sheet=datasheet, version=setanon_version()
        ).ok
    except SetanonError:
        return True


# Changes of rows. `t` are the parts of a release, `r` is a random generator.


def _some_row(t, r):
    return t.rows[r.randrange(len(t.rows))]


def _thread_rows(t, row):
    return [each for each in t.rows if each[0] == row[0]]


def change_word(t, r):
    row = _some_row(t, r)
    words = row[-1].split(" ") if t.form != "sets" else row[-1]
    place = r.randrange(len(words))
    words[place] += r.choice(["s", "é", "\u200b", "x"])
    row[-1] = " ".join(words) if t.form != "sets" else sorted(words)


def reverse_words(t, r):
    row = r.choice([row for row in t.rows if len({*row[2].split(" ")}) > 1])
    row[2] = " ".join(row[2].split(" ")[::-1])


def repeat_query(t, r):
    row = _some_row(t, r)
    last = _thread_rows(t, row)[-1]
    t.rows.insert(t.rows.index(last) + 1, [row[0], last[1] + 1, row[2]])


def drop_last_query(t, r):
    row = r.choice([row for row in t.rows if row[1] > 0])
    t.rows.remove(_thread_rows(t, row)[-1])


def drop_first_query(t, r):
    row = r.choice([row for row in t.rows if row[1] > 0])
    rows = _thread_rows(t, row)
    t.rows.remove(rows[0])
    for position, each in enumerate(rows[1:]):
        each[1] = position


def swap_queries(t, r):
    row = r.choice([row for row in t.rows if row[1] > 0])
    rows = _thread_rows(t, row)
    pairs = [(a, b) for a in rows for b in rows if a[2] != b[2]]
    first, second = r.choice(pairs)
    first[2], second[2] = second[2], first[2]


def repeat_word(t, r):
    row = _some_row(t, r)
    row[2] += " " + r.choice(row[2].split(" "))


def join_queries(t, r):
    """Two queries as one row, which a separator of lists could hide."""
    row = r.choice([row for row in t.rows if row[1] > 0])
    rows = _thread_rows(t, row)
    rows[0][2] += r.choice(["\n", "\t", " ", "\x1f", "\x00"]) + rows[1][2]
    t.rows.remove(rows[1])
    for position, each in enumerate(rows[:1] + rows[2:]):
        each[1] = position


def split_query(t, r):
    row = r.choice([row for row in t.rows if " " in row[2]])
    rows = _thread_rows(t, row)
    first, _, second = row[2].partition(" ")
    row[2] = first
    t.rows.insert(t.rows.index(row) + 1, [row[0], 0, second])
    for position, each in enumerate(_thread_rows(t, row)):
        each[1] = position
    assert len(_thread_rows(t, row)) == len(rows) + 1


def wrong_position(t, r):
    row = _some_row(t, r)
    row[1] = r.choice([row[1] + 1, row[1] + 7, -1, None])


def wrong_text(t, r):
    row = _some_row(t, r)
    if t.form == "sets":
        row[1] = r.choice([None, [], ["", *row[1]], [*row[1], None], [*row[1], row[1][0]]])
    else:
        row[2] = r.choice([None, "", " " + row[2], row[2] + " ", row[2].replace(" ", "  ") + "  "])


def wrong_id(t, r):
    row = _some_row(t, r)
    changed = r.choice([None, row[0][:31], row[0] + "0", "G" + row[0][1:], row[0][:31] + "\n"])
    for each in _thread_rows(t, row):
        each[0] = changed


def drop_thread(t, r):
    row = _some_row(t, r)
    t.rows = [each for each in t.rows if each[0] != row[0]]
    t.ledger = [each for each in t.ledger if each[0] != row[0]]


def unlisted_thread(t, r):
    row = _some_row(t, r)
    copied = f"{r.getrandbits(128):032x}"
    t.rows = sorted([*t.rows, *([copied, *each[1:]] for each in _thread_rows(t, row))],
                    key=lambda each: each[:-1])  # fmt: skip


def swap_rows(t, r):
    first, second = sorted(r.sample(range(len(t.rows)), 2))
    t.rows[first], t.rows[second] = t.rows[second], t.rows[first]


def other_columns(t, r):
    name = r.choice(["user", "time", "click"])
    t.columns.append(name)
    t.rows = [[*row, 1 if name == "time" else "u1"] for row in t.rows]


def footer_entry(t, _):
    t.footer = True


def other_bytes(t, r):
    t.codec = r.choice(["snappy", "gzip", "none"])
    t.keeps_digest = r.random() < 0.5


# Changes of attributes.


def _some_values(t, r):
    """A copy of the values of a random thread, in place of them."""
    row = _some_row(t, r)
    t.values[row[0]] = [list(each) for each in t.values[row[0]]]
    return t.values[row[0]]


def change_value(t, r):
    name = r.choice([row[0] for row in t.rows if any(t.values[row[0]])])
    t.values[name] = [list(each) for each in t.values[name]]
    values = r.choice([each for each in t.values[name] if each])
    values[r.randrange(len(values))] += r.choice(["1", "\u200b", " ", "\x1f", "\n"])


def drop_values(t, r):
    name = r.choice([row[0] for row in t.rows if any(t.values[row[0]])])
    t.values[name] = [[] for _ in t.attributes]


def add_value(t, r):
    values = r.choice(_some_values(t, r))
    values.append(r.choice(["zzz", "", None, *values]))


def unsort_values(t, _):
    """In all threads of a group: readers would not know that the rows are the same."""
    for name, values in t.values.items():
        if len(values[0]) > 1:
            t.values[name] = [values[0][::-1], values[1]]


def null_values(t, r):
    _some_values(t, r)[r.randrange(2)] = None


def swap_attributes(t, r):
    """The texts stay, but for another attribute."""
    name = r.choice([row[0] for row in t.rows if t.values[row[0]][0] != t.values[row[0]][1]])
    t.values[name] = t.values[name][::-1]


def swap_columns(t, _):
    t.attributes = t.attributes[::-1]


def drop_column(t, _):
    t.attributes = t.attributes[:1]


def exact_time(t, r):
    """A value of few users, with all their threads."""
    name = r.choice(t.rows)[0]
    t.values[name] = [["2006-03-09 12:31:07"], t.values[name][1]]


def merge_users_of_values(t, _):
    """The users of one row become one; its list of queries has k users, with other values."""
    first = t.values[next(n for n, v in t.values.items() if v == VALUES[0])]
    for entry in t.ledger:
        if t.values[entry[0]] is first:
            entry[1] = "u0"


def value_of_one_row(t, r):
    """A later query of a thread has other values than the first."""
    row = r.choice([row for row in t.rows if row[1] > 0])
    t.values[row[0], row[1]] = [["2006-W12"], []]


def value_as_keyword(t, r):
    """The value of an attribute becomes a keyword of the same letters, in one thread."""
    row = r.choice([row for row in t.rows if t.values[row[0]][0] == ["pine"]])
    t.values[row[0]] = [[], []]
    row[-1] = sorted({*row[-1], "pine"}) if t.form == "sets" else row[-1] + " pine"


def token_as_keyword(t, r):
    """The value becomes what the verifier has for it: no keyword may begin with a mark."""
    row = r.choice(
        [
            row
            for row in t.rows
            if t.values[row[0]][0] == ["pine"] and (t.form == "sets" or row[1] == 0)
        ]
    )
    t.values[row[0]] = [[], []]
    mark = "\x1fweek\x1fpine"
    row[-1] = [mark, *row[-1]] if t.form == "sets" else f"{row[-1]} {mark}"


# Changes of the ledger.


def merge_users(t, r):
    """All users of one set become one user."""
    words = {}
    for row in t.rows:
        words.setdefault(row[0], set()).update(row[-1] if t.form == "sets" else row[-1].split(" "))
    shared = words[r.choice(t.ledger)[0]]
    for entry in t.ledger:
        if words[entry[0]] == shared:
            entry[1] = "u0"


def merge_two_users(t, r):
    """Two users of one list of queries become one user; the set still has k users."""
    lists = {}
    for row in t.rows:
        lists.setdefault(row[0], []).append(row[2])
    entry = r.choice(t.ledger)
    values = t.values[entry[0]]
    others = [each for each in t.ledger if each is not entry and t.values[each[0]] == values]
    entry[1] = next(each[1] for each in others if lists[each[0]] == lists[entry[0]])


def drop_entry(t, r):
    t.ledger.pop(r.randrange(len(t.ledger)))


def repeat_entry(t, r):
    t.ledger.append([r.choice(t.ledger)[0], "u9"])


def null_entry(t, r):
    r.choice(t.ledger)[r.randrange(2)] = None


def foreign_entry(t, r):
    t.ledger.append([f"{r.getrandbits(128):032x}", "u1"])


# Changes of certificate, data sheet and folder.


def _leaves(document, parents=()):
    for name, value in document.items():
        yield (*parents, name)
        if isinstance(value, dict):
            yield from _leaves(value, (*parents, name))


def change_certificate(t, r):
    def change(text):
        document = json.loads(text)
        path = r.choice(list(_leaves(document)))
        inner = document
        for name in path[:-1]:
            inner = inner[name]
        old = inner[path[-1]]
        kind = r.randrange(4)
        if kind == 0:
            del inner[path[-1]]
        elif kind == 1:
            inner[r.choice(["user", "note", "secret", "threads "])] = "u1"
        elif isinstance(old, int | float):
            inner[path[-1]] = r.choice([old + 1, old + 100, old - 1, old * 10 + 1, str(old), None])
        elif isinstance(old, str):
            inner[path[-1]] = r.choice([old + "x", old[:-1], 3, None, old.swapcase() + "."])
        else:
            inner[path[-1]] = r.choice(["x", 7, {}, [old]])
        return certificate_text(document)

    t.changes.append(("certificate.json", change))


def change_text_of_certificate(t, r):
    changes = [
        lambda text: text + " ",
        lambda text: text.replace("\n", "\n ", 1),
        lambda text: text.replace('"schema"', '"k": "u1",\n  "schema"', 1),
        lambda text: text[: r.randrange(1, len(text) - 1)],
        lambda _: r.choice(["", "{}", "[]", "null", "3", "{", '"k"', "[" * 9999]),
    ]
    t.changes.append(("certificate.json", r.choice(changes)))


def change_sheet(t, r):
    def change(text):
        place = r.randrange(len(text))
        kind = r.randrange(3)
        if kind == 0:
            return text[:place] + text[place + 1 :]
        if kind == 1:
            return text[:place] + "u1" + text[place:]
        return text[:place]

    t.changes.append(("DATASHEET.md", change))


def foreign_file(t, r):
    name = r.choice(
        ["ledger.parquet", "notes.txt", ".hidden", "threads.parquet.part", "folder", SIGNATURE]
    )
    t.files[name] = None if name == "folder" else b"u1"


def linked_file(t, r):
    name = r.choice(["threads.parquet", "certificate.json", "DATASHEET.md", "latest", SIGNATURE])
    t.files[name] = "../private/ledger.parquet"


def missing_file(t, r):
    t.missing = r.choice(["threads.parquet", "certificate.json", "DATASHEET.md"])


# Changes of a signed release; the reader has the key of the publisher.


def change_signed_certificate(t, r):
    t.signer = 1
    change_certificate(t, r)


def change_signed_sheet(t, r):
    t.signer = 1
    change_sheet(t, r)


def sign_with_another_key(t, r):
    """Whoever changes a certificate can sign it, with a key of their own."""
    t.signer, t.signs_changes = 2, True
    if r.random() < 0.5:
        t.changes.append(("certificate.json", lambda text: text.replace("user", "record", 1)))


def change_signature(t, r):
    t.signer = 1
    place = r.randrange(64)
    t.sign = r.choice(
        [
            lambda data: (
                data[:place] + bytes([data[place] ^ 1 << r.randrange(8)]) + data[place + 1 :]
            ),
            lambda data: data[:place],
            lambda data: data + b"u1",
            lambda _: bytes(64),
            lambda data: data[32:] + data[:32],
        ]
    )


def drop_signature(t, _):
    t.signer, t.missing = 1, SIGNATURE


ROWS = [change_word, wrong_text, wrong_id, drop_thread, unlisted_thread, swap_rows, other_columns,
        footer_entry, other_bytes]  # fmt: skip
LIST_ROWS = [reverse_words, repeat_query, drop_last_query, drop_first_query, swap_queries,
             repeat_word, join_queries, split_query, merge_two_users]  # fmt: skip
VALUE_CHANGES = [change_value, drop_values, add_value, unsort_values, null_values, swap_attributes,
                 swap_columns, drop_column, exact_time, merge_users_of_values, value_as_keyword,
                 token_as_keyword]  # fmt: skip
LEDGER = [merge_users, drop_entry, repeat_entry, null_entry, foreign_entry]
FOLDER = [change_certificate, change_text_of_certificate, change_sheet, foreign_file, linked_file,
          missing_file]  # fmt: skip
SIGNED = [change_signed_certificate, change_signed_sheet, sign_with_another_key, change_signature,
          drop_signature]  # fmt: skip
CHANGES = {
    "queries": [*ROWS, *LIST_ROWS, wrong_position, *LEDGER, *FOLDER, *SIGNED],
    "edited": [*ROWS, wrong_position, *LEDGER, *FOLDER, *SIGNED],
    "sets": [*ROWS, *LEDGER, *FOLDER, *SIGNED],
    "queries" + WITH_ATTRIBUTES: [
        *ROWS, *LIST_ROWS, wrong_position, *VALUE_CHANGES, value_of_one_row, *LEDGER, *FOLDER,
        *SIGNED,
    ],
    "sets" + WITH_ATTRIBUTES: [*ROWS, *VALUE_CHANGES, *LEDGER, *FOLDER, *SIGNED],
}  # fmt: skip
"""The changes that the verifier must refuse, by format. In "edited", lists may be of one user."""


def tampered_releases(root, count, seed=0):
    """Yield (format, change, whether it was refused) for `count` changed releases."""
    verdicts = {form: verdict_of_good(root / "good", form) for form in CHANGES}
    generator = random.Random(seed)  # noqa: S311 - not for security
    kinds = [(form, change) for form, changes in CHANGES.items() for change in changes]
    for number in range(count):
        form, change = kinds[number % len(kinds)]
        parts = good_release(form)
        change(parts, generator)
        folders = write_release(root / "r", parts, verdicts[form])
        yield form, change.__name__, refused(*folders, signed=change in SIGNED)
