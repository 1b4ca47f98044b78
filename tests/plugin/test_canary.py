"""No word of a query and no user gets into what Dagster records, says or shows."""

from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import asked, latest, make, public_files, published, run

from setanon_core.errors import MalformedInputError
from setanon_dagster import assets
from setanon_dagster.stages import anonymize, clusters, threads

WORD = "canary"
"""In every word and user of these logs, and nowhere else."""

ROWS = [
    ("canaryann", "2006-03-01 08:00:00", "canarypine canarystraw"),
    ("canarybob", "2006-03-01 08:01:00", "canarypine canarystraw"),
    ("canary o'Neil; DROP", "2006-03-01 08:02:00", "canarypine canarystraw canarymulch"),
    ("canarydan", "2006-03-01 08:03:00", "canarylone \"canary\\quoted' {canary}"),
    ("canaryeve", "canarytime", "canarybad"),
    ("canaryfay", "2006-13-01 08:00:00", "canarybad"),
    ("canarygil", "2006-03-01 08:00:00\tcanaryextra", "canarybad"),
    ("", "2006-03-01 08:00:00", "canarybad"),
]


@pytest.fixture
def silent(capfd, caplog):
    """Nothing that was said under way has the word in it."""
    yield
    said = "".join(capfd.readouterr()) + caplog.text
    assert "trial__" in said, "it is listened to"
    assert WORD not in said


def assert_nothing_told(config, ran):
    assert WORD not in ran.told
    names = [str(path.relative_to(config.out)) for path in Path(config.out).rglob("*")]
    assert not any(WORD in name for name in names)
    for name, contents in public_files(config).items():
        assert name.endswith("threads.parquet") or WORD.encode() not in (contents or b"")
    docs = Path(config.out) / "private" / "data_docs"
    assert not any(WORD in path.read_text() for path in docs.rglob("*.html"))


@pytest.mark.usefixtures("silent")
def test_a_good_run_tells_nothing(tmp_path):
    config = asked(tmp_path, ROWS)
    ran = run(config)
    assert ran.success, ran.failures
    assert ran.metadata["rejected_rows"]["dagster/row_count"] == 4
    assert list((tmp_path / "out" / "private" / "data_docs").rglob("*.html"))
    assert_nothing_told(config, ran)
    words = {word for query in published(config)["query"].to_pylist() for word in query.split()}
    assert words == {"canarypine", "canarystraw"}
    assert published(config).column_names == ["thread_id", "position", "query"]


@pytest.mark.usefixtures("silent")
def test_a_failed_check_tells_nothing(tmp_path, monkeypatch):
    real = assets.anonymize_clusters

    def careless(clusters, params, *_):
        found = real(clusters, params)
        threads = found.threads.read_all()
        named = threads.append_column("user", [["canaryann"] * len(threads)])
        object.__setattr__(found, "threads", named)
        return found

    monkeypatch.setattr(assets, "anonymize_clusters", careless)
    config = asked(tmp_path, ROWS)
    ran = run(config)
    assert not ran.success
    assert not ran.checks["no_user_or_time_column"]
    assert latest(config) is None
    assert_nothing_told(config, ran)


QUOTED = KeyError("canaryann typed canarypine")


def fail(*_args, **_kwargs):
    raise ValueError("canaryann typed canarypine") from QUOTED


CALLS = {
    "reading": (assets, "read_source"),
    "threads": (threads, "separate"),
    "keywords": (clusters, "_worded"),
    "clusters": (clusters, "cluster_keys"),
    "a count for the metadata": (clusters, "cluster_sizes"),
    "reading back": (anonymize, "threads_of"),
    "groups": (anonymize, "group_threads"),
    "edits": (anonymize, "edited_threads"),
    "another count": (anonymize, "count_smallest_group"),
    "writing": (anonymize, "hexadecimal"),
    "publishing": (assets, "publish"),
}


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(("module", "function"), CALLS.values(), ids=CALLS.keys())
def test_whatever_raises_a_text_with_data_the_text_is_withheld(
    tmp_path, monkeypatch, module, function
):
    monkeypatch.setattr(module, function, fail)
    monkeypatch.setattr(assets, "RETRIES", None)
    config = asked(tmp_path, ROWS)
    ran = make(config)
    assert not ran.success
    assert "ValueError was raised in fail" in ran.failures[0]
    assert latest(config) is None
    assert_nothing_told(config, ran)


@pytest.mark.usefixtures("silent")
def test_our_own_errors_keep_their_sentence_and_not_their_cause(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise MalformedInputError("the file must be whole; it is not.") from QUOTED

    monkeypatch.setattr(assets, "read_source", refuse)
    monkeypatch.setattr(assets, "RETRIES", None)
    config = asked(tmp_path, ROWS)
    ran = make(config)
    assert "the file must be whole; it is not." in ran.failures[0]
    assert_nothing_told(config, ran)


@pytest.mark.usefixtures("silent")
def test_a_log_of_bad_rows_only_is_refused_without_a_word_of_it(tmp_path):
    config = asked(tmp_path, ROWS[4:])
    ran = run(config)
    assert "Rejected lines: columns: 1, user missing: 1, time unreadable: 2" in ran.failures[0]
    assert_nothing_told(config, ran)
