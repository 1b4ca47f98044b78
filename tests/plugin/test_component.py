"""The release component: its definitions, its subclasses, and a run from YAML."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
from dagster.components.testing import create_defs_folder_sandbox
from dagster_shared.libraries import DagsterLibraryRegistry
from support.components import ATTRIBUTES, STAGES, TYPE, schema, schema_errors

from setanon_dagster import SetanonReleaseComponent

# Warnings of Dagster whenever it loads YAML.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
]

ROOT = Path(__file__).parents[2]


class Renamed(SetanonReleaseComponent):
    def get_asset_spec(self, stage):
        spec = super().get_asset_spec(stage)
        return spec.replace_attributes(
            key=dg.AssetKey(["shop", stage.config.name, stage.name]), tags={"team": "privacy"}
        )


def write_log(path, users=6):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        f"u{user}\t2006-03-0{day} 10:00:00\t{query}"
        for user in range(users)
        for day, query in enumerate(["red apple pie", "train to paris", f"odd{user} word{user}"], 1)
    ]
    path.write_text("\n".join(["user\ttime\tquery", *rows]) + "\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:module 'sre_")  # in an import of Great Expectations
def test_release_from_yaml_reads_and_writes_below_the_project_root(monkeypatch):
    monkeypatch.setenv("MIN_USERS", "3")
    attributes = {**ATTRIBUTES, "k": "{{ env('MIN_USERS') }}", "out": "a/b"}
    with create_defs_folder_sandbox() as sandbox:
        write_log(sandbox.project_root / "data" / "log.tsv")
        path = sandbox.scaffold_component(
            Renamed,
            "searches",
            defs_yaml_contents={"type": f"{__name__}.Renamed", "attributes": attributes},
        )
        monkeypatch.setitem(sys.modules, __name__, sys.modules[Renamed.__module__])
        with (
            sandbox.load_component_and_build_defs(path) as (_, defs),
            dg.DagsterInstance.ephemeral() as instance,
        ):
            job = defs.resolve_job_def("searches_release_job")
            result = job.execute_in_process(instance=instance)
            assert result.success
            keys = {
                event.asset_key.to_user_string()
                for event in result.get_asset_materialization_events()
            }
            assert keys == {f"shop/searches/{stage}" for stage in STAGES}
            evaluations = result.get_asset_check_evaluations()
            assert len(evaluations) > 10
            assert all(evaluation.passed for evaluation in evaluations)
        published = list(
            (sandbox.project_root / "a/b/releases").glob("searches/searches-*/threads.parquet")
        )
        assert len(published) == 1
        assert set(pq.read_table(published[0])["query"].to_pylist()) == {
            "red apple pie",
            "train to paris",
        }


def test_subclass_renames_assets_by_overriding_get_asset_spec():
    renamed = Renamed.from_attributes_dict(attributes=ATTRIBUTES)
    tree = dg.ComponentTree.for_test()
    graph = renamed.build_defs(tree.load_context).resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        f"shop/searches/{stage}" for stage in STAGES
    }
    assert all(graph.get(key).tags["team"] == "privacy" for key in graph.get_all_asset_keys())


def test_upstream_asset_replaces_the_source_file():
    attributes = {"name": "searches", "k": 3, "out": "out", "upstream": "team/queries"}
    assert schema_errors(attributes) == []
    component = SetanonReleaseComponent.from_attributes_dict(attributes=attributes)
    defs = dg.Definitions.merge(
        component.build_defs(dg.ComponentTree.for_test().load_context),
        dg.Definitions(assets=[dg.AssetSpec(dg.AssetKey(["team", "queries"]))]),
    )
    graph = defs.resolve_asset_graph()
    parents = graph.get(dg.AssetKey(["searches", "raw_log"])).parent_keys
    assert parents == {dg.AssetKey(["team", "queries"])}


@dataclass(frozen=True, kw_only=True)
class Tagged(SetanonReleaseComponent):
    team: str = "none"
    """Team that maintains the release."""

    def get_asset_spec(self, stage):
        return super().get_asset_spec(stage).merge_attributes(tags={"team": self.team})


def test_subclass_may_declare_more_parameters():
    properties = schema(Tagged)["properties"]
    assert properties.keys() - schema()["properties"].keys() == {"team"}
    assert properties["team"]["description"] == "Team that maintains the release."
    tagged = Tagged.from_attributes_dict(attributes={**ATTRIBUTES, "team": "privacy"})
    graph = tagged.build_defs(dg.ComponentTree.for_test().load_context).resolve_asset_graph()
    assert {graph.get(key).tags["team"] for key in graph.get_all_asset_keys()} == {"privacy"}


def test_project_may_have_several_releases():
    second = {**ATTRIBUTES, "name": "baskets", "source": {"uri": "b.csv", "kind": "baskets"}}
    with create_defs_folder_sandbox() as sandbox:
        for attributes in (ATTRIBUTES, second):
            sandbox.scaffold_component(
                SetanonReleaseComponent,
                attributes["name"],
                defs_yaml_contents={"type": TYPE, "attributes": attributes},
            )
        with sandbox.build_all_defs() as defs:
            keys = defs.resolve_asset_graph().get_all_asset_keys()
            assert {key.path[0] for key in keys} == {"searches", "baskets"}
            assert defs.get_repository_def().get_all_jobs()


def test_component_is_documented_and_its_library_is_registered():
    assert SetanonReleaseComponent.__doc__
    assert "setanon" in DagsterLibraryRegistry.get()


LOAD_DEFINITIONS = """
import sys
import setanon_dagster
assert "dagster" not in sys.modules, "import setanon_dagster loads dagster"
assert "pyarrow" not in sys.modules, "import setanon_dagster loads pyarrow"
component = setanon_dagster.SetanonReleaseComponent.from_attributes_dict(
    attributes=dict(name="searches", source=dict(uri="x"), k=3, out="out"))
import dagster as dg
component.build_defs(dg.ComponentTree.for_test().load_context).get_repository_def()
heavy = {"great_expectations", "scipy.optimize", "pyspark", "matplotlib", "pandas"}
heavy &= set(sys.modules)
assert not heavy, f"{heavy} loaded with the definitions: see python -X importtime"
"""


def test_loading_definitions_imports_no_heavy_library():
    subprocess.run([sys.executable, "-c", LOAD_DEFINITIONS], check=True, cwd=ROOT)  # noqa: S603
