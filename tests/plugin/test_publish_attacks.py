"""Attacks on the gate: false stages, ids that encode users, and files swapped while it runs.

Nothing that was not verified may be published; a swapped file is refused or has no effect.
"""

import os
import threading
from itertools import product

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import change_column, log_stages, publish_log
from support.publishing import folder_state, modify, publish_files, stage_files
from support.swaps import attack_at, replace, rewrite

from setanon_core.errors import NotAnonymousError, SetanonError
from setanon_dagster.gate import assign_ids, public_folder, series
from setanon_dagster.gate import publish as gate

STEPS = [
    (gate, "write_with_ids", "after"),
    (gate, "verify_file", "before"),
    (gate, "verify_file", "after"),
    (gate, "wrong_ledger_entries", "after"),
    (gate, "build_certificate", "after"),
    (gate, "check_existing", "after"),
    (gate, "store_private_files", "after"),
    (public_folder, "fsync_folder", "after"),
    (series.Series, "switch_latest", "before"),
]
"""Functions of the gate, from the file's creation to its publication."""

BEFORE_CERTIFICATE = STEPS[:5]
"""Steps at which the certificate is not written yet."""


def bad_file(folder):
    """A valid Parquet file with a set that one user has."""
    path = folder / "bad.parquet"
    parquet.write_table(pa.table({"thread_id": ["0" * 32], "keywords": [["canaryunique"]]}), path)
    return path.read_bytes()


def staged_files(out, name):
    return [*(out / "releases").glob(f".*/{name}"), *(out / "private").glob(f".*/{name}")]


def try_to_publish(paths, out):
    """Publish; if it is refused, nothing is public."""
    try:
        publish_files(paths, out)
    except SetanonError:
        # An attacker may write into a hidden folder while it is removed; the next run removes it.
        assert [path.name for path in (out / "releases").glob("[!.]*/*")] == []


@pytest.fixture
def check_swap(tmp_path, monkeypatch, small_release):
    """Swap a file at a step; what is published anyway must equal the undisturbed release."""
    data, out = bad_file(tmp_path), tmp_path / "out"

    def check(step, swap, name):
        swapped = []

        def attack():
            for path in staged_files(out, name):
                swap(path, data)
                swapped.append(path)

        attack_at(monkeypatch, step, attack)
        try_to_publish(stage_files(tmp_path / "in"), out)
        # After the last step there is no staged file any more.
        assert swapped or step[1] in {"fsync_folder", "switch_latest", "store_private_files"}
        if (out / "releases" / "demo" / "latest").exists():
            private = out / "private" / small_release.name
            assert folder_state(out / "releases" / "demo" / "latest") == folder_state(
                small_release.folder
            )
            assert folder_state(private) == folder_state(small_release.private)

    return check


def test_file_swapped_after_verification_is_not_published(check_swap):
    check_swap((gate, "verify_file", "after"), replace, "threads.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "swap", "name"),
    [
        (step, swap, name)
        for step, swap, name in product(
            STEPS, (replace, rewrite), ("threads.parquet", "ledger.parquet", "certificate.json")
        )
        if not (name == "certificate.json" and step in BEFORE_CERTIFICATE)
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_file_swapped_at_any_step_is_not_published(check_swap, step, swap, name):
    check_swap(step, swap, name)


def test_bad_file_is_not_published_if_a_good_one_is_there_while_it_is_verified(
    tmp_path, monkeypatch, small_release
):
    """The bytes are exchanged in place before verification, and back again after it."""
    out, paths = tmp_path / "out", stage_files(tmp_path / "in")
    good = small_release.files[0].read_bytes()
    change_column(
        paths, "anonymized_threads", "keywords", lambda sets: [["canaryunique"], *sets[1:]]
    )
    kept = []

    def put_good():
        [path] = staged_files(out, "threads.parquet")
        kept.append((path, path.read_bytes(), path.stat()))
        rewrite(path, good)

    def put_back():
        [(path, data, status)] = kept
        rewrite(path, data)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    attack_at(monkeypatch, (gate, "verify_file", "before"), put_good)
    attack_at(monkeypatch, (gate, "verify_file", "after"), put_back)
    with pytest.raises(NotAnonymousError, match=r"replaced or changed threads\.parquet"):
        publish_files(paths, out)
    assert list((out / "releases").iterdir()) == []


@pytest.mark.slow
def test_folder_replaced_just_before_its_rename_is_removed_again(tmp_path, monkeypatch):
    first = publish_files(stage_files(tmp_path / "first", threads=10), tmp_path / "out")
    releases = tmp_path / "out" / "releases"

    def attack():
        [sheet] = releases.glob(".temporary-*/DATASHEET.md")
        for path in sheet.parent.iterdir():
            replace(path, path.read_bytes())  # equal bytes in other files

    original = public_folder.fsync_folder

    def fsync(folder):
        if folder.parent == releases and (folder / "DATASHEET.md").exists():
            attack()
        original(folder)

    monkeypatch.setattr(public_folder, "fsync_folder", fsync)
    with pytest.raises(NotAnonymousError, match="replaced or changed"):
        publish_files(stage_files(tmp_path / "in"), tmp_path / "out")
    assert {path.name for path in releases.glob("*/*")} == {first.name, "latest"}


@pytest.mark.slow
def test_files_swapped_all_the_time_are_not_published(tmp_path, small_release):
    paths, data = stage_files(tmp_path / "in"), bad_file(tmp_path)
    for n in range(20):
        out, stop = tmp_path / f"out{n}", threading.Event()

        def swap(out=out, stop=stop):
            while not stop.is_set():
                for path in staged_files(out, "threads.parquet"):
                    try:
                        replace(path, data)
                    except OSError:
                        continue  # it was published or removed

        attacker = threading.Thread(target=swap)
        attacker.start()
        try:
            try_to_publish(paths, out)
        finally:
            stop.set()
            attacker.join()
        for path in (out / "releases").glob("*/[!.]*/threads.parquet"):
            assert path.read_bytes() == small_release.files[0].read_bytes()


def test_ids_and_order_of_the_stages_are_not_published(tmp_path):
    due = publish_log(log_stages(tmp_path / "in"), tmp_path / "due")
    paths = log_stages(tmp_path / "in")
    users = parquet.read_table(paths["ledger"])["user"].to_pylist()
    for stage in ("anonymized_threads", "ledger"):
        # Ids that contain the user, and rows in their order.
        modify(
            paths,
            stage,
            lambda table: table.append_column(
                "thread_id",
                pa.array([f"{users[n % 4].encode().hex()}{n:04x}" for n in range(len(table))]),
            ).sort_by([("thread_id", "descending")]),
        )
    release = publish_log(paths, tmp_path / "out")
    assert release.digest == due.digest


def test_ids_change_with_secret_parameters_and_words():
    key = assign_ids.id_key(b"secret", {"k": 3}, "digest")
    others = [(b"other", {"k": 3}, "digest"), (b"secret", {"k": 4}, "digest")]
    others.append((b"secret", {"k": 3}, "other"))
    assert len({key, *(assign_ids.id_key(*each) for each in others)}) == 4


def test_random_secret_is_created_once_and_is_private(tmp_path):
    secrets = {assign_ids.stored_secret(tmp_path) for _ in range(3)}
    [path] = tmp_path.iterdir()
    assert secrets == {path.read_bytes()}
    assert (len(path.read_bytes()), path.stat().st_mode & 0o777) == (32, 0o600)
    path.write_bytes(b"short")
    with pytest.raises(SetanonError, match="must have 32 bytes; it has 5"):
        assign_ids.stored_secret(tmp_path)


def rename(old, new):
    return lambda users: [new if user == old else user for user in users]


STAGE_ATTACKS = {
    "one user named three in clusters and ledger": [
        ("clusters", "user", lambda users: [f"{user}{n % 3}" for n, user in enumerate(users)]),
    ],
    "a user renamed in clusters": [("clusters", "user", rename("ann", "eve"))],
    "a user renamed in clusters and threads": [
        ("clusters", "user", rename("ann", "eve")),
        ("threads", "user", rename("ann", "eve")),
    ],
    "words of two threads swapped": [
        ("clusters", "words", lambda words: [words[1], words[0], *words[2:]])
    ],
    "one ledger entry for all threads": [
        ("ledger", "thread", lambda threads: threads[:1] * len(threads)),
    ],
    "a thread without entry": [("ledger", "thread", lambda threads: [999, *threads[1:]])],
}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(changes, id=name, marks=() if "three" in name else pytest.mark.slow)
        for name, changes in STAGE_ATTACKS.items()
    ],
)
def test_false_stages_are_not_published(tmp_path, changes):
    paths = log_stages(tmp_path / "in")
    for change in changes:
        change_column(paths, *change)
    if changes[0][0] == "clusters" and changes[0][1] == "user":
        # The ledger agrees with the clusters, so that only the source contradicts both.
        clusters = parquet.read_table(paths["clusters"])
        users = dict(zip(*(clusters[name].to_pylist() for name in ("thread", "user")), strict=True))
        threads = parquet.read_table(paths["ledger"])["thread"].to_pylist()
        change_column(paths, "ledger", "user", lambda _: [users[each] for each in threads])
    with pytest.raises(NotAnonymousError):
        publish_log(paths, tmp_path / "out")
    assert list((tmp_path / "out" / "releases").iterdir()) == []


BASKET_ATTACKS = {
    "a user of no source": ("clusters", "user", lambda users: ["eve", *users[1:]]),
    "an item of no source": ("clusters", "words", lambda words: [["tea"], *words[1:]]),
    "a basket without items": ("clusters", "words", lambda words: [[], *words[1:]]),
    "a basket listed twice": ("clusters", "name", lambda names: [names[1], *names[1:]]),
    "a row that is missing": ("raw_baskets", "record", lambda records: ["lost", *records[1:]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", BASKET_ATTACKS.values(), ids=BASKET_ATTACKS.keys())
def test_false_baskets_are_not_published(tmp_path, change):
    paths = stage_files(tmp_path / "in")
    change_column(paths, *change)
    with pytest.raises(NotAnonymousError, match=r"(basket|baskets) must "):
        publish_files(paths, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["raw_log", "threads"])
def test_release_without_its_source_is_refused(tmp_path, missing):
    paths = log_stages(tmp_path / "in")
    del paths[missing]
    with pytest.raises(SetanonError, match="must be passed"):
        publish_log(paths, tmp_path / "out")
