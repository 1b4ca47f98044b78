"""Fixtures: one finished release per session, as Great Expectations takes seconds to import."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_secret(monkeypatch):
    for name in ("SETANON_SECRET", "SETANON_SIGNING_KEY", "SETANON_SIGNING_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_valid():
    """Every certificate written in a test must match the published JSON schema."""
    pytest.importorskip("duckdb")
    from support.certificates import faults_of

    from setanon_dagster.gate import publish

    certificate_files = publish.certificate_files

    def valid_files(title, exact):
        files = certificate_files(title, exact)
        assert faults_of(json.loads(files.public)) == []
        return files

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "certificate_files", valid_files)
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_templates():
    """Compile each page template once: Great Expectations has a new environment per page."""
    jinja2 = pytest.importorskip("jinja2")
    compiled = {}

    class Memory(jinja2.BytecodeCache):
        def load_bytecode(self, bucket):
            if bucket.key in compiled:
                bucket.bytecode_from_string(compiled[bucket.key])

        def dump_bytecode(self, bucket):
            compiled[bucket.key] = bucket.bytecode_to_string()

    original, memory = jinja2.Environment.__init__, Memory()

    def create(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.bytecode_cache = self.bytecode_cache or memory

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jinja2.Environment, "__init__", create)
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


@pytest.fixture(scope="session")
def small_release(tmp_path_factory):
    """A release of the small stage files for the gate. Read only."""
    from support.publishing import publish_files, stage_files

    folder = tmp_path_factory.mktemp("small")
    return publish_files(stage_files(folder / "in"), folder / "out")


@pytest.fixture
def small_copy(small_release, tmp_path):
    """The small release, copied into `tmp_path / "out"`; a test may change it."""
    old, out = small_release.folder.parents[2], tmp_path / "out"
    shutil.copytree(old, out, symlinks=True)
    return replace(
        small_release,
        folder=out / small_release.folder.relative_to(old),
        files=tuple(out / file.relative_to(old) for file in small_release.files),
        private=out / small_release.private.relative_to(old),
    )


@pytest.fixture
def read(tmp_path):
    """A function that reads bytes as a source file of the given name, whatever is rejected."""
    pytest.importorskip("duckdb")
    from setanon_dagster.sources.read import read_source
    from setanon_dagster.sources.source import Source

    def read_bytes(data, name="log.tsv", window=None, **parameters):
        path = tmp_path / name
        path.write_bytes(data)
        return read_source(Source(str(path), **{"max_rejected": 1} | parameters), window)

    return read_bytes
