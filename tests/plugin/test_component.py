import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest
import yaml
from dagster.components.component_scaffolding import scaffold_object
from dagster.components.testing import create_defs_folder_sandbox
from dagster_shared.libraries import DagsterLibraryRegistry
from jsonschema import Draft202012Validator
from pydantic import ValidationError

import setanon_dagster
from setanon_core.errors import InvalidParameterError
from setanon_dagster import ReleaseConfig, SetAnonReleaseComponent, Source
from setanon_dagster.knobs import RANGES

# What Dagster warns of when it loads any YAML of its own accord.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
]

ROOT = Path(__file__).parents[2]
TYPE = "setanon_dagster.SetAnonReleaseComponent"
LEAST = {"name": "searches", "source": {"uri": "data/log.tsv"}, "k": 3, "out": "out"}
STAGES = {
    "raw_log",
    "rejected_rows",
    "threads",
    "clusters",
    "anonymized_threads",
    "ledger",
    "cost_report",
    "release",
}


class Renamed(SetAnonReleaseComponent):
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


def component(**changes):
    return SetAnonReleaseComponent.from_attributes_dict(attributes={**LEAST, **changes})


def schema(kind=SetAnonReleaseComponent):
    return kind.model().model_json_schema()


def complaints(attributes):
    """What `dg check yaml` says of these attributes."""
    return [error.message for error in Draft202012Validator(schema()).iter_errors(attributes)]


def refused(given):
    """What is said when a file with these attributes is loaded."""
    try:
        SetAnonReleaseComponent.from_attributes_dict(attributes=given)
    except ValidationError as error:  # kept by a name, it would keep all modules until the end
        return str(error)
    return "nothing was refused"


def test_a_scaffolded_release_loads_with_all_its_definitions():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetAnonReleaseComponent, "searches", {"source": "data/log.tsv", "k": 4}
        )
        with sandbox.load_component_and_build_defs(path) as (made, defs):
            assert made.release == ReleaseConfig(
                name="searches", source=Source("data/log.tsv"), k=4, out="out"
            )
            graph = defs.resolve_asset_graph()
            assert {key.path[-1] for key in graph.get_all_asset_keys()} == STAGES
            assert {key.path[0] for key in graph.get_all_asset_keys()} == {"searches"}
            checked = {key.asset_key.path[-1] for key in graph.asset_check_keys}
            assert checked == {"raw_log", "threads", "clusters", "anonymized_threads"}
            assert defs.resolve_job_def("searches_release_job")
            assert defs.resolve_job_def("searches_verify_job")
            assert defs.resolve_schedule_def("searches_schedule").cron_schedule == "0 6 * * *"
            assert defs.resolve_sensor_def("searches_source_sensor")


def test_a_scaffolded_file_names_every_knob_once_and_none_is_active_by_accident():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(SetAnonReleaseComponent, "searches")
        lines = (path / "defs.yaml").read_text(encoding="utf-8").splitlines()
    shown = [line.strip().lstrip("#").split(":")[0] for line in lines if not _is_sentence(line)]
    knobs = [field.name for owner in (ReleaseConfig, Source) for field in fields(owner)]
    assert sorted(shown) == sorted([*knobs, "type", "attributes"])
    active = {line.split(":")[0].strip() for line in lines if line and "#" not in line}
    assert active == {"type", "attributes", "name", "source", "uri", "kind", "k", "out"}


def _is_sentence(line):
    return not line.strip() or line.strip().startswith("# ")


def test_every_default_that_a_scaffolded_file_shows_is_the_default():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(SetAnonReleaseComponent, "searches") / "defs.yaml"
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text(
            "\n".join(line if _is_sentence(line) else line.replace("#", "", 1) for line in lines),
            encoding="utf-8",
        )
        with sandbox.load_component_and_build_defs(path.parent) as (made, _):
            assert made.release == component().release


@pytest.mark.filterwarnings("ignore::dagster.PreviewWarning")
def test_a_release_is_scaffolded_in_python_too():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetAnonReleaseComponent, "9-Baskets", {"kind": "baskets"}, "python"
        )
        with sandbox.load_component_and_build_defs(path) as (_, defs):
            keys = defs.resolve_asset_graph().get_all_asset_keys()
            assert dg.AssetKey(["release_9_baskets", "raw_baskets"]) in keys


@pytest.mark.parametrize(("params", "said"), [({"k": 1}, "at least 2"), ({"kind": "x"}, "'log'")])
def test_nothing_is_scaffolded_that_would_not_load(params, said):
    with create_defs_folder_sandbox() as sandbox:
        with pytest.raises(ValidationError, match=said):
            sandbox.scaffold_component(SetAnonReleaseComponent, "searches", params)
        assert not (sandbox.defs_folder_path / "searches").exists()


@pytest.mark.filterwarnings("ignore:module 'sre_")  # in what Great Expectations imports
def test_a_release_runs_from_yaml_with_its_paths_from_the_root_of_the_project(monkeypatch):
    monkeypatch.setenv("LEAST_USERS", "3")
    attributes = {**LEAST, "k": "{{ env('LEAST_USERS') }}", "out": "a/b"}
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
        published = list((sandbox.project_root / "a/b/releases").glob("searches-*/threads.parquet"))
        assert len(published) == 1
        assert set(pq.read_table(published[0])["query"].to_pylist()) == {
            "red apple pie",
            "train to paris",
        }


def test_subclasses_change_assets_by_overriding_get_asset_spec():
    made = Renamed.from_attributes_dict(attributes=LEAST)
    tree = dg.ComponentTree.for_test()
    graph = made.build_defs(tree.load_context).resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        f"shop/searches/{stage}" for stage in STAGES
    }
    assert all(graph.get(key).tags["team"] == "privacy" for key in graph.get_all_asset_keys())


@pytest.mark.parametrize(
    ("changes", "by_the_schema", "by_loading"),
    [
        ({"k": 1}, "1 is less than the minimum of 2", "k must be at least 2; got 1. At k=1"),
        ({"k": "3"}, "'3' is not of type 'integer'", "k must be of type integer; got a value"),
        ({"k": True}, "True is not of type 'integer'", "k must be of type integer; got a value"),
        ({"p": 9}, "9 is greater than the maximum of 4", "p must be from 1 to 4; got 9."),
        ({"method": "foo"}, "is not one of ['best', 'paper']", "one of best, paper; got 'foo'."),
        ({"grouper": 3}, "3 is not one of ['star'", "one of star, suppression, facility_location"),
        ({"min_owners": -1}, "-1 is less than the minimum of 0", "min_owners must be 0 (off) or"),
        ({"min_owner": 0}, "('min_owner' was unexpected)", "attributes must be among name, "),
        ({"name": "Log 1"}, "'Log 1' does not match", "name must be lower case letters"),
        ({"owners": "me"}, "'me' is not of type 'array'", "owners must be of type array; got"),
        ({"source": {}}, "'uri' is a required property", "source must have uri; it is missing."),
        (
            {"source": "log.tsv"},
            "is not of type 'object'",
            "source must be knobs and their values; got",
        ),
        (
            {"source": {"uri": "x", "kind": "logs"}},
            "'logs' is not one of ['log', 'baskets']",
            "kind must be one of log, baskets; got 'logs'.",
        ),
        (
            {"source": {"uri": "x", "header": "yes"}},
            "'yes' is not of type 'boolean', 'null'",
            "header must be of type boolean or null; got a value of type str.",
        ),
        (
            {"source": {"uri": "x", "user": "id"}},
            "('user' was unexpected)",
            "with_user, longest_line; got 'user'.",
        ),
    ],
)
def test_bad_values_are_refused_by_the_schema_and_by_loading(changes, by_the_schema, by_loading):
    given = {**LEAST, **changes}
    assert any(by_the_schema in said for said in complaints(given))
    assert by_loading in refused(given)


@pytest.mark.parametrize("missing", list(LEAST))
def test_what_is_missing_is_named(missing):
    given = {name: value for name, value in LEAST.items() if name != missing}
    assert complaints(given) == [f"'{missing}' is a required property"]
    assert f"attributes must have {missing}; it is missing." in refused(given)


def test_a_file_without_attributes_is_refused_in_our_words():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            SetAnonReleaseComponent, "searches", defs_yaml_contents={"type": TYPE}
        )
        with (
            pytest.raises(Exception, match="Error while loading component") as caught,
            sandbox.load_component_and_build_defs(path),
        ):
            pass
    assert "attributes must have" in str(caught.value.__cause__)


def test_templates_are_filled_in_and_then_checked(monkeypatch):
    monkeypatch.setenv("LEAST_USERS", "1")
    given = {"k": "{{ env('LEAST_USERS') }}"}
    assert complaints({**LEAST, **given}) == []
    with pytest.raises(InvalidParameterError, match="k must be at least 2; got 1"):
        component(**given)
    monkeypatch.setenv("LEAST_USERS", "7")
    assert component(**given).k == 7


def test_a_word_that_looks_like_a_number_stays_a_word():
    made = component(source={"uri": ["1", "2"], "user_column": "0", "time_column": 1})
    assert made.source == Source(("1", "2"), user_column="0", time_column=1)


def test_an_upstream_asset_stands_in_for_the_file():
    given = {"name": "searches", "k": 3, "out": "out", "upstream": "team/queries"}
    assert complaints(given) == []
    made = SetAnonReleaseComponent.from_attributes_dict(attributes=given)
    defs = dg.Definitions.merge(
        made.build_defs(dg.ComponentTree.for_test().load_context),
        dg.Definitions(assets=[dg.AssetSpec(dg.AssetKey(["team", "queries"]))]),
    )
    graph = defs.resolve_asset_graph()
    parents = graph.get(dg.AssetKey(["searches", "raw_log"])).parent_keys
    assert parents == {dg.AssetKey(["team", "queries"])}


def test_every_knob_has_a_sentence_a_default_and_a_range_or_choices():
    attributes = schema()["properties"]
    knobs = {
        **{name: rule for name, rule in attributes.items() if name != "source"},
        **attributes["source"]["properties"],
    }
    expected = {field.name for owner in (ReleaseConfig, Source) for field in fields(owner)}
    assert knobs.keys() | {"source"} == expected
    for name, rule in knobs.items():
        assert len(rule["description"]) > 15, name
        assert rule["description"].endswith("."), name
        assert "default" in rule or name in {"name", "k", "out", "uri"}
        assert "enum" in rule["else"] or set(rule["else"]["type"]) - {"null"}, name
    assert set(schema()["required"]) == {"name", "k", "out"}


def test_the_ranges_of_the_schema_are_those_of_the_dataclasses():
    for name, limits in RANGES.items():
        for limit, step in (("minimum", -1), ("maximum", 1)):
            if limit in limits:
                good, bad = limits[limit], limits[limit] + step
                inside = name in {field.name for field in fields(Source)}
                at = {"source": {"uri": "x", name: good}} if inside else {name: good}
                beyond = {"source": {"uri": "x", name: bad}} if inside else {name: bad}
                assert component(**at)
                assert complaints({**LEAST, **at}) == []
                assert "must be" in refused({**LEAST, **beyond})
                assert complaints({**LEAST, **beyond})


@dataclass(frozen=True, kw_only=True)
class Tagged(SetAnonReleaseComponent):
    team: str = "nobody"
    """Who looks after the release."""

    def get_asset_spec(self, stage):
        return super().get_asset_spec(stage).merge_attributes(tags={"team": self.team})


def test_a_subclass_may_have_knobs_of_its_own():
    told = schema(Tagged)["properties"]
    assert told.keys() - schema()["properties"].keys() == {"team"}
    assert told["team"]["description"] == "Who looks after the release."
    made = Tagged.from_attributes_dict(attributes={**LEAST, "team": "privacy"})
    graph = made.build_defs(dg.ComponentTree.for_test().load_context).resolve_asset_graph()
    assert {graph.get(key).tags["team"] for key in graph.get_all_asset_keys()} == {"privacy"}


def test_a_release_is_scaffolded_behind_another_one_in_its_file(tmp_path):
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
    }


def test_several_releases_share_a_project():
    second = {**LEAST, "name": "baskets", "source": {"uri": "b.csv", "kind": "baskets"}}
    with create_defs_folder_sandbox() as sandbox:
        for attributes in (LEAST, second):
            sandbox.scaffold_component(
                SetAnonReleaseComponent,
                attributes["name"],
                defs_yaml_contents={"type": TYPE, "attributes": attributes},
            )
        with sandbox.build_all_defs() as defs:
            keys = defs.resolve_asset_graph().get_all_asset_keys()
            assert {key.path[0] for key in keys} == {"searches", "baskets"}
            assert defs.get_repository_def().get_all_jobs()


def test_public_names_are_found_and_listed():
    for name in setanon_dagster.__all__:
        assert getattr(setanon_dagster, name).__module__.startswith("setanon_dagster")
        assert name in dir(setanon_dagster)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = setanon_dagster.nothing
    assert import_module("setanon_dagster.component").SetAnonReleaseComponent.__doc__
    assert "setanon" in DagsterLibraryRegistry.get()


LOADED = """
import sys
import setanon_dagster
assert "dagster" not in sys.modules, "import setanon_dagster loads dagster"
assert "pyarrow" not in sys.modules, "import setanon_dagster loads pyarrow"
made = setanon_dagster.SetAnonReleaseComponent.from_attributes_dict(
    attributes=dict(name="searches", source=dict(uri="x"), k=3, out="out"))
import dagster as dg
made.build_defs(dg.ComponentTree.for_test().load_context).get_repository_def()
heavy = {"great_expectations", "scipy.optimize", "pyspark", "pandas"} & set(sys.modules)
assert not heavy, f"{heavy} loaded with the definitions: see python -X importtime"
"""


def test_loading_definitions_imports_nothing_heavy():
    subprocess.run([sys.executable, "-c", LOADED], check=True, cwd=ROOT)  # noqa: S603


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project as its owner would have it, and a way to run `dg` in it."""
    root = tmp_path_factory.mktemp("shop")
    package = root / "src" / "shop"
    (package / "defs").mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[project]\nname = "shop"\nversion = "0.1.0"\n'
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "shop"\n'
    )
    (package / "__init__.py").touch()
    (package / "defs" / "__init__.py").touch()
    (package / "definitions.py").write_text(
        "from pathlib import Path\n\nimport dagster as dg\n\n\n@dg.definitions\ndef defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    (root / "home").mkdir()
    (root / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    # What the entry point says once it is installed, whatever is installed here.
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (installed := root / "site" / "probe-0.dist-info").mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in groups.items()
        )
    )

    def run(*arguments):
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "dagster_dg_cli.cli", *arguments],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (root / "src", root / "site", ROOT))),
                "DAGSTER_HOME": str(root / "home"),
                "HOME": str(root / "home"),
                "NO_COLOR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return root, run


def test_a_project_lists_scaffolds_checks_and_loads_the_component(project):
    root, run = project
    listed = json.loads(run("list", "components", "--json").stdout)["items"]
    assert TYPE in {item["key"] for item in listed}

    made = run("scaffold", "defs", TYPE, "searches", "--source", "data/log.tsv", "--k", "4")
    assert made.returncode == 0, made.stderr
    assert "k: 4" in (root / "src/shop/defs/searches/defs.yaml").read_text()

    assert run("check", "yaml").returncode == 0
    found = json.loads(run("list", "defs", "--json").stdout)
    assert {asset["asset_key"] for asset in found["assets"]} == {
        f"searches/{stage}" for stage in STAGES
    }


def test_a_project_is_told_what_is_wrong_and_where(project):
    root, run = project
    path = root / "src" / "shop" / "defs" / "wrong" / "defs.yaml"
    path.parent.mkdir()
    path.write_text(
        f"type: {TYPE}\nattributes:\n  name: wrong\n  k: 1\n  method: foo\n  out: out\n"
    )
    said = run("check", "yaml", str(path.parent.parent))
    path.unlink()
    path.parent.rmdir()
    assert said.returncode == 1
    for sentence in (
        "defs.yaml:4",
        "1 is less than the minimum of 2",
        "'foo' is not one of ['best', 'paper']",
        "'source' is a required property",
    ):
        assert sentence in said.stdout
