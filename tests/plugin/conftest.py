"""Fixtures: one finished release per session, as Great Expectations takes seconds to import."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_secret(monkeypatch):
    monkeypatch.delenv("SETANON_SECRET", raising=False)


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_valid():
    """Every certificate written in a test must match the published JSON schema."""
    pytest.importorskip("duckdb")
    from support.certificates import faults_of

    from setanon_dagster.gate import publish

    public_certificate = publish.public_certificate

    def valid_certificate(exact):
        certificate = public_certificate(exact)
        assert faults_of(certificate) == []
        return certificate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "public_certificate", valid_certificate)
        yield


@pytest.fixture(scope="session")
def finished_release(tmp_path_factory):
    """One run of the small log with all checks: its config and its result. Read only."""
    pytest.importorskip("dagster")
    pytest.importorskip("great_expectations")
    from support.release_runs import release_config, run_release

    config = release_config(tmp_path_factory.mktemp("finished"))
    result = run_release(config)
    assert result.success, result.failures
    return config, result


@pytest.fixture
def release_copy(finished_release, tmp_path):
    """Config of a copy of the finished release, which a test may change."""
    from support.release_runs import release_config

    folder = Path(finished_release[0].out).parent
    shutil.copytree(folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    return release_config(tmp_path, rows=None)


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
