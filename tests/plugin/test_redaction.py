"""No query and no user gets into Dagster's events, logs, output or pages."""

from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (
    ANONYMIZE_STAGES,
    READ_STAGES,
    latest_release,
    materialize,
    public_files,
    published_table,
    release_config,
    run_release,
)

from setanon_core.errors import MalformedInputError
from setanon_dagster import assets
from setanon_dagster.stages import anonymize, clusters, threads

CANARY = "canary"
"""Part of every word and user of this log, and of nothing else."""

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
def _output_without_data(capfd, caplog):
    """Neither output nor log of the test contains the canary."""
    yield
    output = "".join(capfd.readouterr()) + caplog.text
    assert "trial__" in output, "the output is captured"
    assert CANARY not in output


pytestmark = pytest.mark.usefixtures("_output_without_data")


def assert_no_data_outside_the_release(config, result):
    assert CANARY not in result.events
    names = [str(path.relative_to(config.out)) for path in Path(config.out).rglob("*")]
    assert not any(CANARY in name for name in names)
    for name, contents in public_files(config).items():
        assert name.endswith("threads.parquet") or CANARY.encode() not in (contents or b"")
    assert not any(CANARY in path.read_text() for path in config.data_docs.rglob("*.html"))


def test_successful_run_reveals_no_data(tmp_path):
    config = release_config(tmp_path, ROWS)
    result = run_release(config)
    assert result.success, result.failures
    assert result.metadata["rejected_rows"]["dagster/row_count"] == 4
    assert list(config.data_docs.rglob("*.html"))
    assert_no_data_outside_the_release(config, result)
    release = published_table(config)
    words = {word for query in release["query"].to_pylist() for word in query.split()}
    assert words == {"canarypine", "canarystraw"}
    assert release.column_names == ["thread_id", "position", "query"]


def test_failed_check_reveals_no_data(tmp_path, monkeypatch):
    anonymize_clusters = assets.anonymize_clusters

    def add_user_column(clusters, params, *_):
        result = anonymize_clusters(clusters, params)
        rows = result.threads.read_all()
        with_users = rows.append_column("user", [["canaryann"] * len(rows)])
        object.__setattr__(result, "threads", with_users)
        return result

    monkeypatch.setattr(assets, "anonymize_clusters", add_user_column)
    config = release_config(tmp_path, ROWS)
    result = run_release(config)
    assert not result.success
    assert not result.checks["no_user_or_time_column"]
    assert latest_release(config) is None
    assert_no_data_outside_the_release(config, result)


CAUSE = KeyError("canaryann typed canarypine")


def fail(*_args, **_kwargs):
    raise ValueError("canaryann typed canarypine") from CAUSE


FAILING_CALLS = {
    "read the source": (READ_STAGES, assets, "read_source"),
    "separate threads": (("threads",), threads, "separate_threads"),
    "count threads": (("threads",), assets, "thread_counts"),
    "tokenize": (("clusters",), clusters, "_tokenize_texts"),
    "compute cluster keys": (("clusters",), clusters, "cluster_keys"),
    "count clusters": (("clusters",), clusters, "cluster_sizes"),
    "load threads": (ANONYMIZE_STAGES, anonymize, "load_threads"),
    "group threads": (ANONYMIZE_STAGES, anonymize, "group_threads"),
    "edit threads": (ANONYMIZE_STAGES, anonymize, "edit_batches"),
    "count users": (ANONYMIZE_STAGES, anonymize, "smallest_group"),
    "write threads": (ANONYMIZE_STAGES, anonymize, "_batch_bounds"),
    "publish": (("release",), assets, "publish"),
}


@pytest.mark.parametrize(
    ("stages", "module", "function"), FAILING_CALLS.values(), ids=FAILING_CALLS
)
def test_message_of_an_unexpected_error_is_withheld(
    release_copy, monkeypatch, stages, module, function
):
    monkeypatch.setattr(module, function, fail)
    monkeypatch.setattr(assets, "READ_RETRIES", None)
    before = latest_release(release_copy)
    result = materialize(release_copy, *stages)
    assert not result.success
    assert "Internal error: ValueError in fail" in result.failures[0]
    assert "message withheld" in result.failures[0]
    assert latest_release(release_copy) == before
    assert_no_data_outside_the_release(release_copy, result)


def test_message_of_our_error_is_kept_and_its_cause_withheld(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise MalformedInputError("the file must be complete; it is not.") from CAUSE

    monkeypatch.setattr(assets, "read_source", refuse)
    monkeypatch.setattr(assets, "READ_RETRIES", None)
    config = release_config(tmp_path, ROWS)
    result = materialize(config, *READ_STAGES)
    assert "the file must be complete; it is not." in result.failures[0]
    assert_no_data_outside_the_release(config, result)


def test_log_of_rejected_rows_is_refused_without_quoting_them(tmp_path):
    config = release_config(tmp_path, ROWS[4:])
    result = materialize(config, *READ_STAGES)
    assert "Rejected lines: columns: 1, user missing: 1, time unreadable: 2" in result.failures[0]
    assert_no_data_outside_the_release(config, result)
