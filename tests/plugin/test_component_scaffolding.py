"""Files written by `dg scaffold defs` for a release."""

from dataclasses import fields

import dagster as dg
import pytest
import yaml
from dagster.components.component_scaffolding import scaffold_object
from dagster.components.testing import create_defs_folder_sandbox
from pydantic import ValidationError
from support.components import STAGES, TYPE, component

from setanon_dagster import ReleaseConfig, SetanonReleaseComponent, Source, release_executor

# Warnings of Dagster whenever it loads YAML.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
]


def test_scaffolded_release_loads_with_all_definitions():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetanonReleaseComponent, "searches", {"source": "data/log.tsv", "k": 4}
        )
        with sandbox.load_component_and_build_defs(path) as (loaded, defs):
            assert loaded.release == ReleaseConfig(
                name="searches", source=Source("data/log.tsv"), k=4, out="out", in_process=True
            )
            assert defs.executor is release_executor
            graph = defs.resolve_asset_graph()
            assert {key.path[-1] for key in graph.get_all_asset_keys()} == STAGES
            assert {key.path[0] for key in graph.get_all_asset_keys()} == {"searches"}
            checked = {key.asset_key.path[-1] for key in graph.asset_check_keys}
            assert checked == {"raw_log", "threads", "clusters", "anonymized_threads"}
            assert defs.resolve_job_def("searches_release_job")
            assert defs.resolve_job_def("searches_verify_job")
            assert defs.resolve_schedule_def("searches_schedule").cron_schedule == "0 6 * * *"
            assert defs.resolve_sensor_def("searches_source_sensor")


def test_scaffolded_file_lists_every_parameter_once_and_sets_only_the_given_ones():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(SetanonReleaseComponent, "searches")
        lines = (path / "defs.yaml").read_text(encoding="utf-8").splitlines()
    listed = [line.strip().lstrip("#").split(":")[0] for line in lines if not _is_comment(line)]
    owners = (ReleaseConfig, Source)
    names = [field.name for owner in owners for field in fields(owner) if field.init]
    assert sorted(listed) == sorted([*names, "type", "attributes"])
    active = {line.split(":")[0].strip() for line in lines if line and "#" not in line}
    assert active == {
        "type",
        "attributes",
        "name",
        "source",
        "uri",
        "kind",
        "k",
        "out",
        "in_process",
    }


def _is_comment(line):
    return not line.strip() or line.strip().startswith("# ")


def test_commented_defaults_of_a_scaffolded_file_are_the_real_defaults():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(SetanonReleaseComponent, "searches") / "defs.yaml"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text(
            "\n".join(line if _is_comment(line) else line.replace("#", "", 1) for line in lines),
            encoding="utf-8",
        )
        with sandbox.load_component_and_build_defs(path.parent) as (loaded, _):
            assert loaded.release == component(in_process=True).release


@pytest.mark.filterwarnings("ignore::dagster.PreviewWarning")
def test_release_can_be_scaffolded_in_python():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetanonReleaseComponent, "9-Baskets", {"kind": "baskets"}, "python"
        )
        with sandbox.load_component_and_build_defs(path) as (_, defs):
            keys = defs.resolve_asset_graph().get_all_asset_keys()
            assert dg.AssetKey(["release_9_baskets", "raw_baskets"]) in keys


@pytest.mark.parametrize(
    ("params", "message"), [({"k": 1}, "at least 2"), ({"kind": "x"}, "'log'")]
)
def test_values_that_would_not_load_are_not_scaffolded(params, message):
    with create_defs_folder_sandbox() as sandbox:
        with pytest.raises(ValidationError, match=message):
            sandbox.scaffold_component(SetanonReleaseComponent, "searches", params)
        assert not (sandbox.defs_folder_path / "searches").exists()


def test_release_is_appended_to_an_existing_file(tmp_path):
    path = tmp_path / "visits" / "defs.yaml"
    path.parent.mkdir()
    path.write_text("type: first\n", encoding="utf-8")
    scaffold_object(path, TYPE, None, "yaml", tmp_path, append=True)
    first, second = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    assert first == {"type": "first"}
    assert second["type"] == TYPE
    assert second["attributes"] == {
        "name": "visits",
        "source": {"uri": "data/log.tsv", "kind": "log"},
        "k": 3,
        "out": "out",
        "in_process": True,
    }
