"""Thread ids of the gate: new, keyed, in the order of the rows; every thread has one entry."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_dagster.gate.assign_ids import (
    KEY_FILE,
    UnmatchedRows,
    id_key,
    stored_secret,
    write_with_ids,
)

SECRET = b"made up for a test"
PARAMETERS = {"k": 3, "method": "best"}
LIMITS = {"cores": 1, "memory": None, "spill": None}


def test_the_key_depends_on_secret_parameters_and_keywords():
    key = id_key(SECRET, PARAMETERS, "digest")
    others = [
        id_key(b"another", PARAMETERS, "digest"),
        id_key(SECRET, {**PARAMETERS, "k": 4}, "digest"),
        id_key(SECRET, PARAMETERS, "other digest"),
    ]

    assert len({key, *others}) == 4
    assert {len(each) for each in (key, *others)} == {32}
    assert key == id_key(SECRET, dict(reversed(PARAMETERS.items())), "digest")
    # Another value would change the ids of all releases that are published again.
    assert key.hex() == "0bd45f6a1a29ecf51b17dcf20cd3b581d6db5f7a59b721e6c13f08d490f78f42"


@pytest.mark.parametrize("length", [0, 1, 64, 65])
def test_secrets_must_have_1_to_64_bytes(length):
    if 1 <= length <= 64:
        assert id_key(b"x" * length, PARAMETERS, "digest")
        return
    with pytest.raises(InvalidParameterError, match=f"1 to 64 bytes; it has {length}"):
        id_key(b"x" * length, PARAMETERS, "digest")


def test_a_secret_is_created_once_per_folder_and_private(tmp_path):
    first, other = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    other.mkdir()

    secret = stored_secret(first)

    assert len(secret) == 32
    assert stored_secret(first) == secret
    assert stored_secret(other) != secret
    assert [path.name for path in first.iterdir()] == [KEY_FILE]
    assert (first / KEY_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_stored_secret_of_another_length_is_refused(tmp_path, length):
    (tmp_path / KEY_FILE).write_bytes(b"x" * length)

    with pytest.raises(InvalidParameterError, match=f"must have 32 bytes; it has {length}"):
        stored_secret(tmp_path)


ROWS = [(7, 0, "pine"), (7, 1, "straw"), (8, 0, "pine"), (9, 0, "fern")]


def renamed(folder, rows, entries, form="queries", key=b"k" * 32):
    """Published rows and ledger with new ids, and the counts."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{name}.parquet" for name in ("threads", "ledger", "public", "private")]
    names = ["thread", "position", "query"] if form != "sets" else ["thread", "keywords"]
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), paths[0])
    ledger = zip(*entries, strict=True)
    columns = dict(zip(["thread", "user"], map(list, ledger), strict=True))
    parquet.write_table(pa.table(columns), paths[1])
    counts = write_with_ids(
        paths[0], paths[1], key, form, LIMITS, public=paths[2], private=paths[3]
    )
    return *(parquet.read_table(path).to_pylist() for path in paths[2:]), counts


LEDGER = [(7, "ann"), (8, "bob"), (9, "ann")]


def test_rows_and_entries_get_the_same_new_ids_and_are_sorted_by_them(tmp_path):
    published, ledger, counts = renamed(tmp_path, ROWS[::-1], LEDGER[::-1])

    user = {entry["thread"]: entry["user"] for entry in ledger}
    new = {entry["thread_id"]: entry["thread"] for entry in ledger}
    assert user == {7: "ann", 8: "bob", 9: "ann"}
    assert len(new) == 3
    assert [entry["thread_id"] for entry in ledger] == sorted(new)
    keys = [(row["thread_id"], row["position"]) for row in published]
    assert keys == sorted(keys)
    restored = [(new[row["thread_id"]], row["position"], row["query"]) for row in published]
    assert sorted(restored) == sorted(ROWS)
    modes = [
        (tmp_path / f"{name}.parquet").stat().st_mode & 0o777 for name in ("public", "private")
    ]
    assert modes == [0o644, 0o600]
    assert counts == UnmatchedRows(0, 0)
    assert counts.failures == []


def test_ids_depend_on_the_key_and_not_on_the_numbers_of_the_stage(tmp_path):
    first = renamed(tmp_path / "a", ROWS, LEDGER)
    others = [(row[0] * 10, *row[1:]) for row in ROWS], [(n * 10, user) for n, user in LEDGER]
    same = renamed(tmp_path / "b", *others)
    other = renamed(tmp_path / "c", ROWS, LEDGER, key=b"l" * 32)

    assert first[0] == same[0]
    assert not {r["thread_id"] for r in first[0]} & {r["thread_id"] for r in other[0]}


def test_rows_without_an_entry_or_with_several_are_counted(tmp_path):
    _, _, without = renamed(tmp_path / "a", ROWS, LEDGER[1:])
    _, _, several = renamed(tmp_path / "b", ROWS, [*LEDGER, (8, "cem"), (9, "dan")])

    assert without == UnmatchedRows(2, 0)
    assert without.failures == [
        "the ledger must have one entry for the thread of each row; 2 rows have none"
    ]
    assert several == UnmatchedRows(0, 2)
    assert several.failures[0].endswith("2 rows have several")


def test_sets_are_written_without_positions(tmp_path):
    rows = [(7, ["pine", "straw"]), (8, ["pine", "straw"]), (9, ["fern"])]

    published, ledger, counts = renamed(tmp_path, rows, LEDGER, form="sets")

    thread = {entry["thread_id"]: entry["thread"] for entry in ledger}
    assert [list(row) for row in published] == [["thread_id", "keywords"]] * 3
    found = {thread[row["thread_id"]]: row["keywords"] for row in published}
    assert found == {7: ["pine", "straw"], 8: ["pine", "straw"], 9: ["fern"]}
    assert counts.failures == []


@pytest.mark.parametrize("stage", ["anonymized_threads", "ledger"])
def test_error_names_the_stage_without_its_columns(tmp_path, stage):
    tables = {
        "anonymized_threads": {"thread": [7], "position": [0], "query": ["pine"]},
        "ledger": {"thread": [7], "user": ["ann"]},
    }
    tables[stage] = {"canary": [1]}
    for name, columns in tables.items():
        parquet.write_table(pa.table(columns), tmp_path / name)

    with pytest.raises(SetanonError, match=f"^{stage} must have the columns") as caught:
        write_with_ids(
            *(tmp_path / name for name in tables), b"k" * 32, "queries", LIMITS,
            public=tmp_path / "public", private=tmp_path / "private",
        )  # fmt: skip
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "match"), [({"memory": "lots"}, "memory_limit"), ({"cores": -1}, "cores")]
)
def test_limits_are_those_of_the_connection(tmp_path, limits, match):
    with pytest.raises(InvalidParameterError, match=match):
        write_with_ids(
            tmp_path, tmp_path, b"k" * 32, "queries", LIMITS | limits,
            public=tmp_path, private=tmp_path,
        )  # fmt: skip
