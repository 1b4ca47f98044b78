"""The gate publishes a verified release atomically, and refuses any other without a change."""

import json
import os
import shutil
from hashlib import sha256
from time import sleep

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import log_stages, publish_log
from support.publishing import (
    COST,
    K,
    folder_state,
    latest_name,
    modify,
    publish_files,
    stage_files,
)
from support.scripts import run_script
from support.signing import signer

from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_dagster.gate import publish as gate
from setanon_dagster.verifier.release_file import verify_file

CANARIES = ("canaryword", "canaryother", "canaryuser")


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_release_has_its_files_modes_and_digest(tmp_path, form):
    before = os.umask(0o077)
    try:
        out = tmp_path / "deep" / "out"
        release = publish_files(stage_files(tmp_path / "in", form), out, format=form)
    finally:
        os.umask(before)
    folder = out / "releases" / "demo" / release.name
    digest = sha256((folder / "threads.parquet").read_bytes()).hexdigest()
    assert (release.folder, release.digest) == (folder, digest)
    assert release.name == f"demo-{digest[:12]}"
    assert latest_name(out) == release.name
    assert names_in(folder) == {path.name for path in release.files}
    assert names_in(out / "releases" / "demo") == {release.name, "latest"}
    assert {mode(path) for path in release.files} == {0o644}
    assert {mode(path) for path in (tmp_path / "deep", out, folder, folder.parent)} == {0o755}
    assert {mode(release.private), mode(out / "private")} == {0o700}
    private_modes = {path.name: mode(path) for path in release.private.iterdir()}
    assert private_modes == dict.fromkeys(
        ("ledger.parquet", "cost.parquet", "rejected.parquet", "certificate.json"), 0o600
    )
    assert names_in(out / "private") == {release.name}
    assert verify_file(folder / "threads.parquet", K).ok
    columns = {"sets": ["thread_id", "keywords"], "queries": ["thread_id", "position", "query"]}
    assert parquet.read_schema(folder / "threads.parquet").names == columns[form]


def test_certificate_has_parameters_cost_verdict_and_digest(tmp_path):
    release = publish_files(stage_files(tmp_path / "in"), tmp_path / "out", min_owners=2)
    certificate = json.loads((release.folder / "certificate.json").read_text())
    assert (
        certificate["schema"],
        certificate["k"],
        certificate["min_owners"],
        certificate["format"],
    ) == (3, K, 2, "sets")
    assert certificate["sha256"]["threads.parquet"] == release.digest
    exact = json.loads((release.private / "certificate.json").read_text())
    assert exact["cost"] == COST | {"factor": None}
    assert certificate["cost"] == {
        "threads": 118, "keywords": 127, "additions": 100, "deletions": 100, "withdrawals": 100,
        "respellings": 100, "lower_bound": 0, "factor": None, "retained": None,
    }  # fmt: skip
    assert certificate["parameters"]["method"] == "best"
    assert certificate["parameters"]["min_owners"] == 2
    assert certificate["verdict"]["records"] == 18
    assert exact["verdict"]["smallest_group"] == K
    assert "smallest_group" not in certificate["verdict"]
    assert set(certificate["versions"]) == {"setanon", "duckdb"}


def test_data_sheet_has_digest_costs_and_verification(small_release):
    sheet = (small_release.folder / "DATASHEET.md").read_text()
    assert "setanon verify ." in sheet
    assert small_release.digest in sheet
    assert "not differential privacy" in sheet
    assert "| threads withdrawn | fewer than 100 |" in sheet
    assert "{" not in sheet


def test_certificate_and_data_sheet_contain_no_keyword_user_or_path(small_release):
    folder = str(small_release.folder.parents[2])
    for file in small_release.files[1:]:
        text = file.read_text()
        assert not [word for word in (*CANARIES, folder) if word in text]
    assert b"canaryuser" not in small_release.files[0].read_bytes()


FAULTS = {
    "one user for all threads": (
        "ledger",
        lambda t: t.set_column(1, "user", [["canaryuser0"] * len(t)]),
    ),
    "a thread without ledger entry": ("ledger", lambda t: t.slice(1)),
    "a ledger entry without thread": ("anonymized_threads", lambda t: t.slice(1)),
    "keywords that no user typed": ("clusters", lambda t: t.slice(0, 0)),
    "a repeated thread": ("anonymized_threads", lambda t: pa.concat_tables([t, t.slice(0, 1)])),
}


@pytest.mark.parametrize(("stage", "change"), FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.usefixtures("small_copy")
def test_refused_release_changes_nothing(tmp_path, stage, change):
    out = tmp_path / "out"
    before = folder_state(out)
    paths = stage_files(tmp_path / "next", threads=10)
    modify(paths, stage, change)
    with pytest.raises(NotAnonymousError) as caught:
        publish_files(paths, out)
    assert folder_state(out) == before
    assert not [word for word in CANARIES if word in str(caught.value)]


def test_refused_first_release_publishes_nothing(tmp_path):
    paths = stage_files(tmp_path / "in", users=K - 1)
    with pytest.raises(NotAnonymousError, match="2 sets have fewer users, with 18 threads"):
        publish_files(paths, tmp_path / "out")
    assert folder_state(tmp_path / "out").keys() == {"releases", "private"}


def test_empty_release_is_refused(tmp_path):
    paths = stage_files(tmp_path / "in")
    for stage in ("anonymized_threads", "ledger"):
        modify(paths, stage, lambda table: table.slice(0, 0))
    with pytest.raises(InvalidParameterError, match="3 threads were withdrawn"):
        publish_files(paths, tmp_path / "out")
    assert folder_state(tmp_path / "out").keys() == {"releases", "private"}


def test_as_typed_release_is_verified_like_any_other(tmp_path):
    paths = stage_files(tmp_path / "in", users=K - 1)
    with pytest.raises(NotAnonymousError):
        publish_files(paths, tmp_path / "out", parameters={"spelling": "as_typed"})


def test_publishing_twice_changes_nothing(tmp_path):
    paths, out = stage_files(tmp_path / "in"), tmp_path / "out"
    first = publish_files(paths, out)
    before = folder_state(out)
    again = publish_files(paths, out)
    assert again == first
    assert folder_state(out) == before


def test_old_releases_keep_their_ledgers_and_latest_is_the_newest(tmp_path, small_copy):
    out = tmp_path / "out"
    before = folder_state(small_copy.folder), folder_state(small_copy.private)
    second = publish_files(stage_files(tmp_path / "b", threads=10), out)
    assert small_copy.name != second.name
    assert latest_name(out) == second.name
    assert (folder_state(small_copy.folder), folder_state(small_copy.private)) == before


def test_existing_folder_with_other_bytes_is_refused(tmp_path, small_copy):
    paths, out = stage_files(tmp_path / "in"), tmp_path / "out"
    with (small_copy.folder / "threads.parquet").open("ab") as file:
        file.write(b"more")
    before = folder_state(out / "releases")
    with pytest.raises(InvalidParameterError, match="must have its files unchanged"):
        publish_files(paths, out)
    assert folder_state(out / "releases") == before


def test_same_threads_with_other_costs_are_already_published(tmp_path, small_copy):
    paths, out = stage_files(tmp_path / "in"), tmp_path / "out"
    before = folder_state(out)
    with pytest.raises(InvalidParameterError) as caught:
        publish_files(paths | {"cost_report": COST | {"deletions": 20_000}}, out)
    assert f"already published as {small_copy.name}, with other parameters" in str(caught.value)
    assert "changed" not in str(caught.value)
    assert folder_state(out) == before, "the private files are those of the first release, too"


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
        {"parameters": {"canaryword": "canaryword"}},
        {"parameters": {"user_names": "folded"}, "user_names": "exact"},
    ],
)
def test_invalid_parameter_is_refused(tmp_path, changed):
    with pytest.raises(InvalidParameterError) as caught:
        publish_files(stage_files(tmp_path / "in"), tmp_path / "out", **changed)
    assert "canary" not in str(caught.value)
    assert not list((tmp_path / "out").rglob("*.*"))


def test_comparison_that_outlasts_a_refusal_leaves_nothing(tmp_path, monkeypatch):
    def compare_slowly(*_, **__):
        sleep(0.5)
        return []

    monkeypatch.setattr(gate, "source_failures", compare_slowly)
    with pytest.raises(InvalidParameterError):
        publish_files(stage_files(tmp_path / "in"), tmp_path / "out", min_owners=-1)
    assert not list((tmp_path / "out").rglob("*.*"))


@pytest.mark.parametrize("cost", [{}, {"threads": 1}])
def test_incomplete_cost_is_refused(tmp_path, cost):
    with pytest.raises(MalformedInputError, match="additions"):
        publish_files(stage_files(tmp_path / "in") | {"cost_report": cost}, tmp_path / "out")


def test_cost_may_be_a_mapping(tmp_path):
    release = publish_files(
        stage_files(tmp_path / "in") | {"cost_report": COST, "rejected_rows": None},
        tmp_path / "out",
    )
    exact = json.loads((release.private / "certificate.json").read_text())
    assert exact["cost"]["additions"] == 1
    assert names_in(release.private) == {"ledger.parquet", "certificate.json"}


@pytest.mark.slow
def test_bytes_do_not_depend_on_cores_or_the_order_of_the_input(tmp_path):
    paths = stage_files(tmp_path / "in", threads=70_000)
    digests = {publish_files(paths, tmp_path / f"{n}", cores=n).digest for n in (1, 3)}
    modify(paths, "anonymized_threads", lambda table: table.take(list(range(len(table)))[::-1]))
    digests.add(publish_files(paths, tmp_path / "reversed").digest)
    assert len(digests) == 1


KILLED = """
import shutil, sys
from pathlib import Path
from support.killed_calls import count_changes, exit_at_change, exit_code_of
from support.publishing import publish_files
from support.signing import signer

count_changes()
root = Path(sys.argv[1])
paths = {path.stem: path for path in (root / "in").iterdir()}
for n in range(1, 200, 2):
    folder = root / "outs" / str(n)
    shutil.copytree(root / "start", folder, symlinks=True)

    def publish_until_killed():
        exit_at_change(n)
        publish_files(paths, folder, signing_key=signer())

    code = exit_code_of(publish_until_killed)
    print(n, code, flush=True)
    if code == 0:
        break
"""


@pytest.mark.slow
def test_killed_publish_leaves_latest_unchanged_or_complete(tmp_path):
    key = signer()
    first = publish_files(stage_files(tmp_path / "first"), tmp_path / "start", signing_key=key)
    paths = stage_files(tmp_path / "in", threads=10)
    shutil.copytree(tmp_path / "start", tmp_path / "due", symlinks=True)
    expected = publish_files(paths, tmp_path / "due", signing_key=key)
    expected_state = folder_state(tmp_path / "due")
    codes = dict(map(int, line.split()) for line in run_script(KILLED, tmp_path))
    *killed, last = codes
    assert codes[last] == 0
    assert len(killed) > 15, "calls at which it was killed"
    assert {codes[n] for n in killed} == {9}
    seen = set()
    for n, code in codes.items():
        out = tmp_path / "outs" / str(n)
        releases = out / "releases" / "demo"
        latest = latest_name(out)
        release = {first.name: first, expected.name: expected}[latest]
        assert folder_state(releases / latest) == folder_state(release.folder)
        assert folder_state(releases / first.name) == folder_state(first.folder)
        assert (out / "private" / latest / "ledger.parquet").is_file()
        names = names_in(releases)
        assert names <= {first.name, expected.name, "latest"}
        if expected.name in names:
            assert folder_state(releases / expected.name) == folder_state(expected.folder)
        assert code or latest == expected.name
        seen.add(latest)
        # The next run publishes, and removes all that is left.
        publish_files(paths, out, signing_key=key)
        assert folder_state(out) == expected_state
    assert seen == {first.name, expected.name}


def test_ledger_with_wrong_users_is_refused(tmp_path):
    paths = stage_files(tmp_path / "in")
    ledger = parquet.read_table(paths["ledger"])
    users = ledger["user"].to_pylist()
    wrong = ledger.set_column(1, "user", pa.array(users[1:] + users[:1]))
    parquet.write_table(wrong, paths["ledger"])

    with pytest.raises(NotAnonymousError, match="must name the user of each thread") as caught:
        publish_files(paths, tmp_path / "out")

    assert not any(canary in str(caught.value) for canary in CANARIES)
    assert names_in(tmp_path / "out" / "releases") == set()


def test_certificate_and_data_sheet_state_that_records_are_counted(tmp_path):
    paths = stage_files(tmp_path / "in", users=18)
    names = parquet.read_table(paths["clusters"])["name"]
    for stage in ("clusters", "ledger"):  # without users, the record is the user
        modify(paths, stage, lambda table: table.drop("user").append_column("user", names))
    modify(paths, "raw_baskets", lambda table: table.set_column(2, "user", table["record"]))

    without_users = publish_files(paths, tmp_path / "alone")
    with_users = publish_files(stage_files(tmp_path / "other", users=18), tmp_path / "owned")

    sheets = [
        " ".join((each.folder / "DATASHEET.md").read_text().split())
        for each in (without_users, with_users)
    ]
    units = [
        json.loads((each.folder / "certificate.json").read_text())["unit"]
        for each in (without_users, with_users)
    ]
    assert units == ["record", "user"]
    assert ["every record counts as a user" in sheet for sheet in sheets] == [True, False]
    assert ["different users" in sheet for sheet in sheets] == [False, True]


@pytest.mark.parametrize("fault", ["certificate", "no JSON", "file", "link"])
def test_existing_folder_with_other_files_is_refused(tmp_path, small_copy, fault):
    paths, folder = stage_files(tmp_path / "in"), small_copy.folder
    if fault == "certificate":
        certificate = json.loads((folder / "certificate.json").read_text())
        (folder / "certificate.json").write_text(json.dumps(certificate | {"k": 100}))
    elif fault == "no JSON":
        (folder / "certificate.json").write_text("{")
    elif fault == "file":
        (folder / "ledger.parquet").write_bytes(b"")
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InvalidParameterError, match="must have its files unchanged"):
        publish_files(paths, tmp_path / "out")


@pytest.mark.parametrize("format_", ["queries", "edited"])
def test_a_list_that_k_users_do_not_share_is_published_as_edited_only(tmp_path, format_):
    paths = stage_files(tmp_path / "in", "queries")

    def reverse_words_of_one_thread(table):
        texts = table["query"].to_pylist()
        number = next(n for n, text in enumerate(texts) if " " in text)
        texts[number] = " ".join(reversed(texts[number].split()))
        return table.set_column(table.column_names.index("query"), "query", [texts])

    modify(paths, "anonymized_threads", reverse_words_of_one_thread)

    if format_ == "edited":
        assert publish_files(paths, tmp_path / "out", format=format_).verdict.exposed_threads == 1
        return
    with pytest.raises(NotAnonymousError, match="users must share every list of queries; 1 lists"):
        publish_files(paths, tmp_path / "out", format=format_)
    assert names_in(tmp_path / "out" / "releases") == set()


def test_a_stage_that_is_written_while_it_is_published_is_refused(tmp_path, monkeypatch):
    paths = stage_files(tmp_path / "in")
    certificate_files = gate.certificate_files

    def write_stage(*args):
        paths["clusters"].write_bytes(paths["clusters"].read_bytes())
        return certificate_files(*args)

    monkeypatch.setattr(gate, "certificate_files", write_stage)

    with pytest.raises(NotAnonymousError, match="replaced or changed clusters"):
        publish_files(paths, tmp_path / "out")
    assert names_in(tmp_path / "out" / "releases") == set()


def test_parameters_are_optional_and_neither_secret_nor_tokenizer_is_in_the_repr():
    spec = gate.ReleaseSpec(name="demo", k=K)
    assert (spec.owners, spec.format, spec.parameters, spec.secret) == (K, "queries", {}, None)
    assert gate.ReleaseSpec(name="demo", k=K, min_owners=0).owners == 0
    shown = repr(gate.ReleaseSpec(name="demo", k=K, secret=b"canaryword", tokenizer=str.split))
    assert not [word for word in ("canaryword", "secret", "tokenizer", "split") if word in shown]


@pytest.mark.parametrize(
    ("memory", "half"),
    [("1GB", "0.5GB"), ("500 MiB", "250MiB"), ("1.5GB", "0.75GB"), ("-1", "-1"), (None, None)],
)
def test_each_of_two_databases_gets_half_of_the_memory(memory, half):
    assert gate._halved(memory) == half  # noqa: SLF001


def test_files_that_a_killed_process_left_are_removed(tmp_path):
    paths, out = stage_files(tmp_path / "in"), tmp_path / "out"
    for folder in ("releases", "private"):
        (out / folder).mkdir(parents=True)
        (out / folder / ".0123456789abcdef.part").write_bytes(b"")
    publish_files(paths, out)
    assert not list(out.rglob("*.part"))


def test_queries_are_split_by_the_tokenizer_of_the_release(tmp_path):
    paths = log_stages(tmp_path / "in")
    with pytest.raises(NotAnonymousError, match="keywords of its queries in order; 16 have others"):
        publish_log(paths, tmp_path / "out", tokenizer=lambda query: [query])
