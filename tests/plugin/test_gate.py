"""Whatever was or was not checked before: what is not k-anonymous is not published."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import (  # noqa: E402 - after the skip
    STAGES,
    K,
    asked,
    latest,
    make,
    path_of,
    public_files,
    releases,
    run,
    run_job,
    spoil,
)

from setanon_dagster import assets  # noqa: E402
from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402

ANONYMIZED = dg.AssetKey(["trial", "anonymized_threads"])


def one_user_fewer(table):
    """One of the k threads of a set gets another set, which k users share."""
    query = table["query"].to_pylist()
    [place, *_] = [n for n, text in enumerate(query) if text == "copper kettle"]
    query[place] = "pine straw"
    return table.set_column(table.column_names.index("query"), "query", [query])


def shared_by(table):
    return Counter(map(frozenset, (text.split() for text in table["query"].to_pylist())))


@pytest.fixture
def unpublished(stored):
    """A place where a bad file lies between the stages; afterwards all must be as it was."""
    spoil(stored, "anonymized_threads", one_user_fewer)
    before, link = public_files(stored), latest(stored)
    assert link
    yield stored
    assert latest(stored) == link
    assert public_files(stored) == before
    assert {path.name for path in releases(stored).iterdir()} == {link, "latest"}


@pytest.fixture
def careless(monkeypatch):
    """An anonymizer that leaves a set to k - 1 users."""
    real = assets.anonymize_clusters

    def anonymize(clusters, params, *_):
        found = real(clusters, params)
        threads = one_user_fewer(found.threads.read_all())
        assert min(shared_by(threads).values()) == K - 1
        return replace(found, threads=threads.to_reader())

    monkeypatch.setattr(assets, "anonymize_clusters", anonymize)


def refused(ran):
    """Whether the release itself refused."""
    return not ran.success and any("must be k-anonymous" in text for text in ran.failures)


@pytest.mark.usefixtures("careless")
def test_in_one_run_the_failed_check_stops_the_release(unpublished):
    ran = run(unpublished)
    assert not ran.success
    assert not ran.checks["every_set_has_k_users"]
    assert "release" not in ran.metadata
    assert not any("must be k-anonymous" in text for text in ran.failures), "it was not asked"


def test_a_release_made_alone_in_a_later_run_is_refused(unpublished):
    ran = make(unpublished, "release")
    assert refused(ran)
    assert "1 sets have fewer users, with 2 threads" in ran.failures[0]


@pytest.mark.usefixtures("careless")
def test_a_job_without_checks_is_refused(unpublished):
    keys = [dg.AssetKey(["trial", stage]) for stage in STAGES]
    defs = dg.Definitions.merge(
        build_setanon_definitions(unpublished),
        dg.Definitions(
            jobs=[
                dg.define_asset_job(
                    "bare",
                    dg.AssetSelection.assets(*keys).without_checks(),
                    op_retry_policy=dg.RetryPolicy(max_retries=3),
                )
            ]
        ),
    )
    ran = run_job(defs.resolve_job_def("bare"))
    assert refused(ran)
    assert not ran.checks
    assert ran.retries == 0, "what was refused once is refused again"


def test_a_release_whose_middle_is_skipped_is_refused(unpublished):
    assert refused(make(unpublished, "raw_log", "rejected_rows", "release"))


def test_a_release_after_new_clusters_and_old_threads_is_refused(unpublished):
    assert refused(make(unpublished, "clusters", "release"))


@dg.asset_check(asset=ANONYMIZED, blocking=True)
def warns(anonymized_threads: Path) -> dg.AssetCheckResult:  # noqa: ARG001 - the asset's name
    return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN)


@dg.multi_asset_check(
    specs=[dg.AssetCheckSpec("silent", asset=ANONYMIZED, blocking=True)], can_subset=True
)
def says_nothing():
    yield from ()


@dg.asset_check(asset=ANONYMIZED, blocking=True)
def raises() -> dg.AssetCheckResult:
    raise RuntimeError


@pytest.mark.usefixtures("careless")
@pytest.mark.parametrize("check", [warns, says_nothing], ids=["warns", "says nothing"])
def test_a_check_that_does_not_block_changes_nothing(unpublished, check):
    assert refused(make(unpublished, also=[check]))


@pytest.mark.usefixtures("careless")
def test_a_check_that_raises_blocks(unpublished):
    ran = make(unpublished, also=[raises])
    assert not ran.success
    assert "release" not in ran.metadata


def one_user(table):
    return table.set_column(2, "user", [["ann"] * len(table)])


def nobody_typed_it(table):
    place = table.column_names.index("words")
    return table.set_column(place, "words", pa.array([[]] * len(table), table["words"].type))


SPOILED = {
    "one user for all": ("ledger", one_user),
    "a made-up user for each": (
        "ledger",
        lambda table: table.set_column(2, "user", [[f"ann{n}" for n in range(len(table))]]),
    ),
    "an empty ledger": ("ledger", lambda table: table.slice(0, 0)),
    "no users": ("ledger", lambda table: table.drop_columns("user")),
    "others typed the words": ("clusters", nobody_typed_it),
    "no clusters": ("clusters", lambda table: table.slice(0, 0)),
    "a user in the file": (
        "anonymized_threads",
        lambda table: table.set_column(
            0, "thread_id", pc.utf8_lpad(table["group"].cast("string"), 4)
        ),
    ),
    "cost of another k": ("cost_report", lambda t: t.set_column(0, "k", [[2] * len(t)])),
}


@pytest.mark.parametrize(("stage", "change"), SPOILED.values(), ids=SPOILED.keys())
def test_whatever_stored_table_is_spoiled_nothing_is_published(stored, stage, change):
    before = public_files(stored)
    spoil(stored, stage, change)
    ran = make(stored, "release")
    assert not ran.success
    assert ran.retries == 0
    assert public_files(stored) == before


@pytest.mark.parametrize("stage", ["ledger", "clusters", "anonymized_threads", "cost_report"])
@pytest.mark.parametrize("how", ["missing", "torn"])
def test_a_stored_file_that_is_missing_or_torn_is_refused(stored, stage, how):
    before = public_files(stored)
    path = path_of(stored, stage)
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:100])
    assert not make(stored, "release").success
    assert public_files(stored) == before


def test_as_typed_is_refused_where_it_is_not_literally_k_anonymous(tmp_path):
    # The same item by its Min-Hashes, and three spellings of it.
    words = ("strawberries", "strawberris", "strawberriess")
    rows = [
        (user, "2006-03-01 08:00:00", f"{word} pie")
        for user, word in zip(("ann", "bob", "cem"), words, strict=True)
    ]
    knobs = {"identity": "minhash", "spelling": "as_typed", "min_owners": 0}
    config = asked(tmp_path, rows, **knobs)
    ran = make(config)
    assert ran.metadata["anonymized_threads"]["setanon/threads"] == len(rows), "all in one group"
    assert refused(ran)
    assert latest(config) is None


def requested(config, instance, cursor=None):
    """How many releases automation asks for, and its cursor for the next time."""
    defs = build_setanon_definitions(config)
    found = dg.evaluate_automation_conditions(defs, instance, cursor=cursor)
    return found.get_num_requested(dg.AssetKey(["trial", "release"])), found.cursor


def without_release(config, instance):
    """All stages and checks, but not the release."""
    keys = [dg.AssetKey(["trial", stage]) for stage in STAGES[:-1]]
    job = dg.define_asset_job("before", dg.AssetSelection.assets(*keys))
    defs = dg.Definitions.merge(build_setanon_definitions(config), dg.Definitions(jobs=[job]))
    return run_job(defs.resolve_job_def("before"), instance=instance)


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # Dagster's own, in its tester
def test_automation_asks_for_a_release_when_all_checks_have_passed(tmp_path):
    config = asked(tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        none, cursor = requested(config, instance)
        assert without_release(config, instance).success
        assert (none, requested(config, instance, cursor)[0]) == (0, 1)


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
@pytest.mark.usefixtures("careless")
def test_automation_does_not_ask_for_a_release_after_a_failed_check(tmp_path):
    config = asked(tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        _, cursor = requested(config, instance)
        assert not without_release(config, instance).success
        assert requested(config, instance, cursor)[0] == 0


def failing_read(monkeypatch, *errors):
    """Reading a source fails so often, and then goes well."""
    left = list(errors)
    real = assets.read_source

    def read(*args, **kwargs):
        if left:
            raise left.pop(0)
        return real(*args, **kwargs)

    monkeypatch.setattr(assets, "read_source", read)
    monkeypatch.setattr(assets, "RETRIES", dg.RetryPolicy(max_retries=2))


def test_reading_is_tried_again_after_an_oserror(tmp_path, monkeypatch):
    failing_read(monkeypatch, OSError("out of reach"), TimeoutError())
    ran = make(asked(tmp_path), "raw_log", "rejected_rows")
    assert (ran.success, ran.retries) == (True, 2)


def test_a_source_that_cannot_be_opened_for_a_moment_is_tried_again(tmp_path, monkeypatch):
    config = asked(tmp_path)
    monkeypatch.setattr(assets, "RETRIES", dg.RetryPolicy(max_retries=2))
    real, times = Path.open, []

    def opened(path, *args, **kwargs):
        if path.name == "log.tsv" and len(times) < 1:
            times.append(path)
            raise PermissionError
        return real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", opened)
    ran = make(config, "raw_log", "rejected_rows")
    assert (ran.success, ran.retries) == (True, 1)


def test_a_source_without_a_usable_row_is_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "RETRIES", dg.RetryPolicy(max_retries=2))
    ran = make(asked(tmp_path, [("ann", "never", "straw")]), "raw_log", "rejected_rows")
    assert (ran.success, ran.retries) == (False, 0)
    assert "must have a usable row" in ran.failures[0]


def test_a_good_release_is_published_again_under_its_name(stored):
    before, link = public_files(stored), latest(stored)
    assert make(stored, "release").success
    assert (public_files(stored), latest(stored)) == (before, link)
