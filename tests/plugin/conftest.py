"""One good run for the whole session: Great Expectations takes seconds to import."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_secret(monkeypatch):
    monkeypatch.delenv("SETANON_SECRET", raising=False)


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_valid():
    """Whatever certificate is made in a test is what the published schema says."""
    pytest.importorskip("duckdb")
    from support.certificates import faults_of

    from setanon_dagster.gate import publish

    real = publish.build_certificate

    def held(*args, **kwargs):
        certificate = real(*args, **kwargs)
        assert faults_of(certificate) == []
        return certificate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "build_certificate", held)
        yield


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """A whole run of the small log, with all checks: how it was asked for, and what came of it."""
    pytest.importorskip("dagster")
    pytest.importorskip("great_expectations")
    from support.trial import asked, run

    config = asked(tmp_path_factory.mktemp("good"))
    ran = run(config)
    assert ran.success, ran.failures
    return config, ran


@pytest.fixture
def stored(good, tmp_path):
    """A copy of what the good run has stored and published, for a test to spoil."""
    from support.trial import asked

    folder = Path(good[0].out).parent
    shutil.copytree(folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    return asked(tmp_path, rows=None)


@pytest.fixture
def read(tmp_path):
    """A function that reads bytes as a source file of the given name."""
    pytest.importorskip("duckdb")
    from setanon_dagster.sources.read import read_source
    from setanon_dagster.sources.source import Source

    def read_bytes(data, name="log.tsv", window=None, **parameters):
        path = tmp_path / name
        path.write_bytes(data)
        return read_source(Source(str(path), **parameters), window)

    return read_bytes
