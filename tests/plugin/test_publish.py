import json
import os
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.publishing import COST, K, inputs, link_of, published, spoil, tree

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.verifier.release_file import verify_file

CANARIES = ("canaryword", "canaryother", "canaryuser")


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_a_release_is_what_it_says(tmp_path, form):
    before = os.umask(0o077)
    try:
        out = tmp_path / "deep" / "out"
        done = published(inputs(tmp_path / "in", form), out, format=form)
    finally:
        os.umask(before)
    folder = out / "releases" / done.name
    digest = sha256((folder / "threads.parquet").read_bytes()).hexdigest()
    assert (done.folder, done.digest) == (folder, digest)
    assert done.name == f"demo-{digest[:12]}"
    assert link_of(out) == done.name
    assert names_in(folder) == {path.name for path in done.files}
    assert names_in(out / "releases") == {done.name, "latest"}
    assert {mode(path) for path in done.files} == {0o644}
    assert {mode(path) for path in (tmp_path / "deep", out, folder, folder.parent)} == {0o755}
    assert {mode(done.private), mode(out / "private")} == {0o700}
    kept = {path.name: mode(path) for path in done.private.iterdir()}
    assert kept == dict.fromkeys(("ledger.parquet", "cost.parquet", "rejected.parquet"), 0o600)
    assert names_in(out / "private") == {done.name}
    assert verify_file(folder / "threads.parquet", K).ok
    columns = {"sets": ["thread_id", "keywords"], "queries": ["thread_id", "position", "query"]}
    assert parquet.read_schema(folder / "threads.parquet").names == columns[form]


def test_the_certificate_has_parameters_cost_verdict_and_digest(tmp_path):
    done = published(inputs(tmp_path / "in"), tmp_path / "out", min_owners=2)
    told = json.loads((done.folder / "certificate.json").read_text())
    assert (told["schema"], told["k"], told["min_owners"], told["format"]) == (1, K, 2, "sets")
    assert told["sha256"] == {"threads.parquet": done.digest}
    assert told["cost"] == COST | {"factor": None}
    assert told["parameters"]["method"] == "best"
    assert told["parameters"]["min_owners"] == 2
    assert told["verdict"]["records"] == 18
    assert told["verdict"]["smallest_group"] == K
    assert set(told["versions"]) == {"setanon", "duckdb"}


def test_the_data_sheet_says_how_to_verify_and_what_is_not_promised(tmp_path):
    done = published(inputs(tmp_path / "in"), tmp_path / "out")
    sheet = (done.folder / "DATASHEET.md").read_text()
    assert f"setanon verify threads.parquet --k {K}" in sheet
    assert done.digest in sheet
    assert "not differential privacy" in sheet
    assert "| threads withdrawn | 3 |" in sheet
    assert "{" not in sheet


def test_nothing_public_but_the_threads_has_a_word_or_a_user_or_a_path(tmp_path):
    done = published(inputs(tmp_path / "in"), tmp_path / "out")
    for file in done.files[1:]:
        text = file.read_text()
        assert not [word for word in (*CANARIES, str(tmp_path)) if word in text]
    assert b"canaryuser" not in done.files[0].read_bytes()


SPOILED = {
    "one user": ("ledger", lambda t: t.set_column(2, "user", [["canaryuser0"] * len(t)])),
    "a thread less in the ledger": ("ledger", lambda t: t.slice(1)),
    "a thread less in the file": ("anonymized_threads", lambda t: t.slice(1)),
    "nobody typed it": ("clusters", lambda t: t.slice(0, 0)),
    "a thread twice": ("anonymized_threads", lambda t: pa.concat_tables([t, t.slice(0, 1)])),
}


@pytest.mark.parametrize(("what", "change"), SPOILED.values(), ids=SPOILED.keys())
def test_a_refused_release_leaves_all_as_it_was(tmp_path, what, change):
    out = tmp_path / "out"
    published(inputs(tmp_path / "in"), out)
    before = tree(out)
    paths = inputs(tmp_path / "next", threads=10)
    spoil(paths, what, change)
    with pytest.raises(NotAnonymousError) as caught:
        published(paths, out)
    assert tree(out) == before
    assert not [word for word in CANARIES if word in str(caught.value)]


def test_a_first_release_that_is_refused_has_no_name(tmp_path):
    paths = inputs(tmp_path / "in", users=K - 1)
    with pytest.raises(NotAnonymousError, match="2 sets have fewer users, with 18 threads"):
        published(paths, tmp_path / "out")
    assert tree(tmp_path / "out").keys() == {"releases", "private"}


def test_an_empty_release_is_refused(tmp_path):
    paths = inputs(tmp_path / "in")
    for what in ("anonymized_threads", "ledger"):
        spoil(paths, what, lambda table: table.slice(0, 0))
    with pytest.raises(InvalidParameterError, match="3 threads were withdrawn"):
        published(paths, tmp_path / "out")
    assert tree(tmp_path / "out").keys() == {"releases", "private"}


def test_spelled_as_typed_is_judged_like_all_others(tmp_path):
    paths = inputs(tmp_path / "in", users=K - 1)
    with pytest.raises(NotAnonymousError):
        published(paths, tmp_path / "out", parameters={"spelling": "as_typed"})


def test_to_publish_twice_is_to_publish_once(tmp_path):
    paths, out = inputs(tmp_path / "in"), tmp_path / "out"
    first = published(paths, out)
    before = tree(out)
    again = published(paths, out)
    assert again == first
    assert tree(out) == before


def test_every_release_keeps_its_ledger_and_latest_is_the_last(tmp_path):
    out = tmp_path / "out"
    first = published(inputs(tmp_path / "a"), out)
    before = tree(first.folder), tree(first.private)
    second = published(inputs(tmp_path / "b", threads=10), out)
    assert first.name != second.name
    assert link_of(out) == second.name
    assert (tree(first.folder), tree(first.private)) == before


def test_a_folder_with_other_bytes_is_refused(tmp_path):
    paths, out = inputs(tmp_path / "in"), tmp_path / "out"
    done = published(paths, out)
    with (done.folder / "threads.parquet").open("ab") as file:
        file.write(b"more")
    before = tree(out / "releases")
    with pytest.raises(InvalidParameterError, match="must not have been changed"):
        published(paths, out)
    assert tree(out / "releases") == before


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "../up"},
        {"name": ""},
        {"name": ".hidden"},
        {"k": 1},
        {"min_owners": -1},
        {"format": "html"},
        {"parameters": {"secret": "canaryword"}},
        {"parameters": {"k": 5}},
        {"parameters": {"measure": b"canaryword"}},
    ],
)
def test_what_is_out_of_range_is_refused(tmp_path, changed):
    with pytest.raises(InvalidParameterError) as caught:
        published(inputs(tmp_path / "in"), tmp_path / "out", **changed)
    assert "canary" not in str(caught.value)
    assert not list((tmp_path / "out").rglob("*.*"))


@pytest.mark.parametrize("cost", [{}, {"threads": 1}])
def test_a_cost_without_its_numbers_is_refused(tmp_path, cost):
    with pytest.raises(MalformedInputError, match="additions"):
        published(inputs(tmp_path / "in") | {"cost_report": cost}, tmp_path / "out")


def test_the_cost_may_come_as_numbers(tmp_path):
    done = published(
        inputs(tmp_path / "in") | {"cost_report": COST, "rejected_rows": None}, tmp_path / "out"
    )
    assert json.loads(done.files[1].read_text())["cost"]["additions"] == 1
    assert names_in(done.private) == {"ledger.parquet"}


def test_bytes_do_not_depend_on_cores_nor_on_the_order_of_the_input(tmp_path):
    paths = inputs(tmp_path / "in", threads=70_000)
    digests = {published(paths, tmp_path / f"{n}", cores=n).digest for n in (1, 2, 4)}
    spoil(paths, "anonymized_threads", lambda table: table.take(list(range(len(table)))[::-1]))
    digests.add(published(paths, tmp_path / "reversed").digest)
    assert len(digests) == 1


def test_what_killed_processes_left_is_removed_after_a_day(tmp_path):
    releases = tmp_path / "out" / "releases"
    for name in (".staging-old", ".staging-new"):
        (releases / name).mkdir(parents=True)
        (releases / name / "threads.parquet").touch()
    (releases / ".staging-link").symlink_to("demo")
    for name in (".staging-old", ".staging-link"):
        long_ago = time.time() - 2 * 24 * 60 * 60
        os.utime(releases / name, (long_ago, long_ago), follow_symlinks=False)
    published(inputs(tmp_path / "in"), tmp_path / "out")
    assert [path.name for path in releases.glob(".*")] == [".staging-new"]


KILLED = """
import os, shutil, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.publishing import inputs, published

left = 0
def dying(real):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os._exit(9)
        return real(*args, **kwargs)
    return call

for name in ("fsync", "rename", "replace", "symlink", "chmod", "mkdir", "rmdir", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
root = Path(sys.argv[2])
paths = {path.stem: path for path in (root / "in").iterdir()}
for n in range(1, 200, 2):
    shutil.copytree(root / "start", root / "outs" / str(n), symlinks=True)
    # A child for each point: forked, so that nothing is imported again.
    child = os.fork()
    if child == 0:
        left = n
        published(paths, root / "outs" / str(n))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(n, code, flush=True)
    if code == 0:
        break
"""


@pytest.mark.slow
def test_latest_is_whole_wherever_publishing_is_killed(tmp_path):
    first = published(inputs(tmp_path / "first"), tmp_path / "start")
    paths = inputs(tmp_path / "in", threads=10)
    due = published(paths, tmp_path / "due")
    here = str(Path(__file__).parents[1])
    told = subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-c", KILLED, here, tmp_path], check=True, capture_output=True, text=True
    ).stdout.split("\n")
    codes = {int(n): int(code) for n, code in (line.split() for line in told if line)}
    *killed, last = codes
    assert codes[last] == 0
    assert len(killed) > 15, "points at which it was killed"
    assert {codes[n] for n in killed} == {9}
    seen = set()
    for n, code in codes.items():
        releases = tmp_path / "outs" / str(n) / "releases"
        latest = link_of(releases.parent)
        whole = {first.name: first, due.name: due}[latest]
        assert tree(releases / latest) == tree(whole.folder)
        assert tree(releases / first.name) == tree(first.folder)
        assert (releases.parent / "private" / latest / "ledger.parquet").is_file()
        names = {path.name for path in releases.iterdir() if not path.name.startswith(".staging-")}
        assert names <= {first.name, due.name, "latest"}
        if due.name in names:
            assert tree(releases / due.name) == tree(due.folder)
        assert code or latest == due.name
        seen.add(latest)
    assert seen == {first.name, due.name}
    # Whatever was left, the next one publishes.
    assert published(paths, tmp_path / "outs" / str(killed[len(killed) // 2])).name == due.name


def test_a_ledger_that_names_other_users_than_the_log_is_refused(tmp_path):
    paths = inputs(tmp_path / "in")
    ledger = parquet.read_table(paths["ledger"])
    users = ledger["user"].to_pylist()
    wrong = ledger.set_column(2, "user", pa.array(users[1:] + users[:1]))
    parquet.write_table(wrong, paths["ledger"])

    with pytest.raises(NotAnonymousError, match="must name the user of each thread") as caught:
        published(paths, tmp_path / "out")

    assert not any(canary in str(caught.value) for canary in CANARIES)
    assert not (tmp_path / "out" / "releases" / "latest").exists()


def test_where_records_stand_in_for_users_certificate_and_data_sheet_say_so(tmp_path):
    paths = inputs(tmp_path / "in", users=18)
    clusters = parquet.read_table(paths["clusters"])
    parquet.write_table(clusters.set_column(2, "name", clusters["user"]), paths["clusters"])

    alone = published(paths, tmp_path / "alone")
    owned = published(inputs(tmp_path / "other", users=18), tmp_path / "owned")

    sheets = [(each.folder / "DATASHEET.md").read_text() for each in (alone, owned)]
    units = [
        json.loads((each.folder / "certificate.json").read_text())["unit"]
        for each in (alone, owned)
    ]
    assert units == ["record", "user"]
    assert ["every record counts as a user" in sheet for sheet in sheets] == [True, False]
    assert ["different users" in sheet for sheet in sheets] == [False, True]


@pytest.mark.parametrize("spoil", ["certificate", "more", "link"])
def test_a_folder_of_that_name_that_is_not_this_release_is_refused(tmp_path, spoil):
    paths = inputs(tmp_path / "in")
    folder = published(paths, tmp_path / "out").folder
    if spoil == "certificate":
        certificate = json.loads((folder / "certificate.json").read_text())
        (folder / "certificate.json").write_text(json.dumps(certificate | {"k": 100}))
    elif spoil == "more":
        (folder / "ledger.parquet").write_bytes(b"")
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InvalidParameterError, match="must not have been changed"):
        published(paths, tmp_path / "out")
