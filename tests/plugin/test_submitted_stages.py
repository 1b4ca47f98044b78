"""A submitted stage counts only with a report of the rows and the digest of its file."""

import sys
from hashlib import sha256

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.release_runs import materialize, release_config

from setanon_core.errors import InvalidParameterError
from setanon_dagster.pipes.submit import SubmittedStageError, accept_file

STAGES = ("raw_log", "rejected_rows", "threads", "clusters")

EMBEDDED = """
from pathlib import Path
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.pipes import run_stage

run_stage.SparkEngine = lambda folder, session, **options: EmbeddedEngine(folder, **options)
run_stage._submitted_session = lambda: None
run_stage.main()
"""
"""The script of a stage with the embedded engine in place of Spark."""

FAILING = """
from setanon_core.errors import MalformedInputError
from setanon_dagster.pipes import run_stage

def run(extras):
    raise {error}

run_stage.main(run)
"""


@pytest.fixture
def written(tmp_path):
    """A file, and the report of it."""
    path = tmp_path / "threads.parquet"
    parquet.write_table(pa.table({"thread": [1, 2, 3]}), path)
    return path, {"rows": 3, "sha256": sha256(path.read_bytes()).hexdigest()}


def submitting(tmp_path, script, **parameters):
    """The config of a release whose stages are submitted by this Python script."""
    path = tmp_path / "submit.py"
    path.write_text(script)
    return release_config(
        tmp_path, engine="spark", spark_submit=(sys.executable, str(path)), **parameters
    )


def stage_files(config):
    return {path.parent.name: path.read_bytes() for path in config.stages.rglob("all.parquet")}


def test_a_file_with_its_report_is_accepted(written):
    path, report = written
    stored = accept_file(path, [report])
    assert (stored.path, stored.rows) == (path, 3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ([], "reported 0 times"),
        ([{}, {}], "reported 2 times"),
        ([{"rows": 2}], "it differs"),
        ([{"sha256": "0" * 64}], "it differs"),
        ([{"error": "Java must be installed."}], r"^Java must be installed\.$"),
    ],
)
def test_other_reports_are_refused(written, changes, sentence):
    path, report = written
    with pytest.raises(SubmittedStageError, match=sentence):
        accept_file(path, [report | change for change in changes])


@pytest.mark.parametrize("report", ["done", {"rows": 3}, {"sha256": ""}, None])
def test_reports_without_rows_and_digest_are_refused(written, report):
    with pytest.raises(SubmittedStageError, match="reported 1 times"):
        accept_file(written[0], [report])


@pytest.mark.parametrize("content", [None, b"PAR1"])
def test_a_missing_or_cut_file_is_refused(written, content):
    path, report = written
    path.unlink()
    if content:
        path.write_bytes(content)
    with pytest.raises(SubmittedStageError, match="must share the folder `out`"):
        accept_file(path, [report])


def test_spark_submit_needs_the_engine_spark(tmp_path):
    with pytest.raises(InvalidParameterError, match="engine must be spark to submit"):
        release_config(tmp_path, spark_submit=("spark-submit",))


@pytest.mark.slow
def test_submitted_stages_have_the_bytes_of_the_embedded_engine(tmp_path):
    config = submitting(tmp_path, EMBEDDED)
    assert materialize(config, *STAGES).success
    embedded = release_config(tmp_path, out=str(tmp_path / "embedded"))
    assert materialize(embedded, *STAGES).success

    assert stage_files(config) == stage_files(embedded)
    assert stage_files(config).keys() == {*STAGES}
    assert list(config.stages.glob(".*")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("", "reported 0 times"),
        ("raise SystemExit(3)", "must end with exit code 0"),
        (FAILING.format(error="MalformedInputError('rows must be valid.')"), "rows must be valid."),
        (FAILING.format(error="KeyError('canary')"), "Internal error: KeyError"),
    ],
)
def test_a_stage_that_fails_or_does_nothing_fails_the_run(tmp_path, script, sentence):
    config = submitting(tmp_path, script)
    result = materialize(config, *STAGES)
    assert not result.success
    assert sentence in result.failures[0]
    assert "canary" not in result.events
    assert stage_files(config).keys() == {"raw_log", "rejected_rows"}


def test_a_command_that_cannot_be_started_is_named(tmp_path):
    missing = (str(tmp_path / "no-such-command"),)
    result = materialize(release_config(tmp_path, engine="spark", spark_submit=missing), *STAGES)
    assert "spark_submit must be a command of this machine" in result.failures[0]
