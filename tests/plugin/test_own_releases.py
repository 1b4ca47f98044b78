"""`setanon ui --out`: the parameters that a release stores, and what is recorded of its files."""

import importlib
import json
import stat
from dataclasses import replace

import dagster as dg
import pytest

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster import ReleaseConfig, Source
from setanon_dagster.cli.main import main
from setanon_dagster.cli.recorded_files import record_files
from setanon_dagster.stored_parameters import store_parameters, stored_parameters

BASKETS = "".join(f"{i}\ttea\n{i}\trum\n" for i in range(8))


def config(tmp_path, **changes):
    values = {"name": "baskets", "source": Source("log.tsv", kind="baskets"), "k": 2}
    return ReleaseConfig(**values | {"out": str(tmp_path)} | changes)


@pytest.fixture
def released(tmp_path, capsys, monkeypatch):
    """Release the baskets; return the exit code. Changes are further options."""
    monkeypatch.delenv("SETANON_SECRET", raising=False)
    (tmp_path / "log.tsv").write_text(BASKETS)

    def run(*options):
        arguments = [str(tmp_path / "log.tsv"), "--kind", "baskets", "--k", "2"]
        arguments += ["--name", "baskets", "--out", str(tmp_path / "out"), *options]
        with pytest.raises(SystemExit) as exit_info:
            main(["release", *arguments])
        capsys.readouterr()
        assert exit_info.value.code == 0
        return tmp_path / "out"

    return run


def test_stored_parameters_are_read_again_except_the_settings_of_spark(tmp_path):
    settings = {"spark_settings": ("a.secret=b",), "spark_submit": ("spark-submit",)}
    stored = config(
        tmp_path, source=Source(("a.tsv", "b.tsv"), user_column=2), owners=("team:x",),
        engine="spark", partition="day", start="2026-03-01", timezone="Europe/Berlin", **settings
    )  # fmt: skip
    store_parameters(stored)
    paths = tuple(
        str(path / name)
        for path, name in zip([tmp_path.cwd()] * 2, ["a.tsv", "b.tsv"], strict=True)
    )
    without = replace(stored, spark_settings=(), spark_submit=())
    assert stored_parameters(tmp_path) == [
        replace(without, source=replace(stored.source, uri=paths))
    ]
    file = tmp_path / "private" / "parameters" / "baskets.json"
    assert "secret" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_releases_of_several_names_are_stored_beside_each_other_wherever_they_are_moved(tmp_path):
    for name in ("b", "a"):
        store_parameters(config(tmp_path / "old", name=name))
    (tmp_path / "old").rename(tmp_path / "new")
    found = stored_parameters(tmp_path / "new")
    assert [(each.name, each.out) for each in found] == [
        ("a", str(tmp_path / "new")),
        ("b", str(tmp_path / "new")),
    ]


def test_a_release_of_an_upstream_asset_stores_nothing(tmp_path):
    store_parameters(config(tmp_path, upstream="team/baskets"))
    assert not (tmp_path / "private").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "Secret Name"}', "\udcff"])
def test_parameters_that_cannot_be_read_are_refused_without_their_content(tmp_path, text):
    store_parameters(config(tmp_path))
    file = tmp_path / "private" / "parameters" / "baskets.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(MalformedInputError, match=r"baskets\.json must have the param") as error:
        stored_parameters(tmp_path)
    assert "Secret" not in str(error.value)


def test_a_folder_without_releases_is_refused_and_unchanged(tmp_path, capsys):
    with pytest.raises(InvalidParameterError, match="must be the folder of releases"):
        stored_parameters(tmp_path)
    pytest.importorskip("dagster_webserver")
    with pytest.raises(SystemExit) as exit_info:
        main(["ui", "--out", str(tmp_path)])
    assert exit_info.value.code == 2
    assert "--out must be the folder of releases" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # three releases
def test_files_are_recorded_once_with_their_counts(released):
    out = released()
    [stored] = stored_parameters(out)
    release = dg.AssetKey(["baskets", "release"])
    with dg.instance_for_test() as instance:
        for _ in range(2):
            record_files(instance, stored)
        recorded = records(instance, release)
        assert len(recorded) == 1
        metadata = {name: each.value for name, each in recorded[0].metadata.items()}
        name = (out / "releases" / "baskets" / "latest").resolve().name
        exact = json.loads((out / "private" / name / "certificate.json").read_text())
        assert metadata["setanon/release"] == name
        assert metadata["setanon/groups"] == exact["verdict"]["groups"]
        assert metadata["setanon/deletions"] == exact["cost"]["deletions"]
        assert metadata["setanon/report"] == str(out / "private" / name / "report.html")
        for stage, rows in (("raw_baskets", 16), ("rejected_rows", 0), ("ledger", 8)):
            [event] = records(instance, dg.AssetKey(["baskets", stage]))
            assert event.metadata["dagster/row_count"].value == rows
        assert "tea" not in str(recorded)

        # Another release, then the first one again: what is latest is recorded last.
        released("--min-owners", "3")
        record_files(instance, *stored_parameters(out))
        other = (out / "releases" / "baskets" / "latest").resolve().name
        released()
        record_files(instance, *stored_parameters(out))
        names = [each.metadata["setanon/release"].value for each in records(instance, release)]
        assert names == [name, other, name]
        assert len(records(instance, dg.AssetKey(["baskets", "ledger"]))) == 3


@pytest.mark.slow
def test_definitions_of_the_folder_have_all_releases_and_their_jobs(released, monkeypatch):
    out = released()
    monkeypatch.setenv("SETANON_OUT", str(out))
    from setanon_dagster.cli import own_definitions

    # The collection of tests has imported the module, without the variable.
    defs = importlib.reload(own_definitions).defs
    assert {job.name for job in defs.resolve_all_job_defs() if "__ASSET" not in job.name} == {
        "baskets_release_job", "baskets_verify_job"
    }  # fmt: skip
    with dg.instance_for_test() as instance:
        result = defs.resolve_job_def("baskets_verify_job").execute_in_process(instance=instance)
        assert result.success


def records(instance, key):
    """The materializations of an asset, the oldest first."""
    found = instance.fetch_materializations(key, limit=10).records
    return [record.asset_materialization for record in reversed(found)]
