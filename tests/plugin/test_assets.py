"""Assets of a small log with a known result: files, metadata, keys, and several releases."""

import json

import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import (  # noqa: E402 - after the skip
    EXPECTED_SETS,
    STAGES,
    keyword_sets,
    latest_release,
    materialize,
    public_files,
    published_table,
    release_config,
    releases_folder,
    run_release,
    storage,
    stored_path,
    stored_table,
)

from setanon_core.errors import InvalidParameterError  # noqa: E402
from setanon_core.partition import plan  # noqa: E402
from setanon_dagster.assets import build_setanon_assets, storage_key  # noqa: E402
from setanon_dagster.config import SECRET  # noqa: E402
from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import STAGES as DESCRIPTIONS  # noqa: E402
from setanon_dagster.translator import SetanonTranslator, asset_specs  # noqa: E402

TEXT, INTEGER = "VARCHAR", "BIGINT"
COLUMNS = {
    "raw_log": {"user": TEXT, "time": "TIMESTAMP", "query": TEXT, "line": INTEGER},
    "rejected_rows": {"line": INTEGER, "reason": TEXT},
    "threads": {
        "thread": INTEGER, "user": TEXT, "time": "TIMESTAMP", "position": INTEGER, "query": TEXT,
    },
    "clusters": {
        "thread": INTEGER, "user": TEXT, "words": "VARCHAR[]", "lengths": "INTEGER[]",
        "items": "VARCHAR[]", "keys": "UBIGINT[]", "places": "SMALLINT[]", "savings": "TINYINT[]",
    },
    "anonymized_threads": {
        "thread": INTEGER, "group": INTEGER, "position": INTEGER, "query": TEXT,
    },
    "ledger": {"thread": INTEGER, "user": TEXT},
    "cost_report": {
        "k": INTEGER, "method": TEXT, "round": TEXT, "threads": INTEGER, "keywords": INTEGER,
        "additions": INTEGER, "deletions": INTEGER, "withdrawals": INTEGER,
        "respellings": INTEGER, "query_rows": INTEGER, "true_query_rows": INTEGER,
        "lower_bound": INTEGER, "factor": "DOUBLE", "retained": "DOUBLE",
    },
}  # fmt: skip
COUNTS = {
    "raw_log": {
        "dagster/row_count": 10, "setanon/lines": 12, "setanon/accepted": 10,
        "setanon/outside_partition": 0,
    },
    "rejected_rows": {
        "dagster/row_count": 2, "setanon/rejected/user missing": 1,
        "setanon/rejected/time unreadable": 1,
    },
    "threads": {
        "dagster/row_count": 10, "setanon/users": 7, "setanon/threads": 10,
        "setanon/queries_per_thread": 1.0,
    },
    "clusters": {
        "setanon/users": 7, "setanon/threads": 10, "setanon/keywords_per_thread": 2.0,
        "setanon/p": 2, "setanon/clusters": 5, "setanon/largest_cluster": 3,
        "setanon/places": 1, "setanon/largest_place": 10, "setanon/threads_without_place": 0,
    },
    "anonymized_threads": {
        "setanon/threads": 9, "setanon/groups": 3, "setanon/smallest_group": 3,
        "setanon/withdrawals": 1,
    },
    "ledger": {"dagster/row_count": 9, "setanon/threads": 9},
    "cost_report": {
        "setanon/additions": 0, "setanon/deletions": 2, "setanon/respellings": 0,
        "setanon/retained": 0.9,
    },
    "release": {
        "dagster/row_count": 9, "setanon/groups": 3, "setanon/smallest_group": 3,
        "setanon/violations": 0,
    },
}  # fmt: skip


@pytest.mark.parametrize("stage", COUNTS)
def test_materialization_has_the_counts_of_its_stage(finished_release, stage):
    metadata = finished_release[1].metadata[stage]
    assert {key: metadata.get(key) for key in COUNTS[stage]} == COUNTS[stage]


@pytest.mark.parametrize("stage", COLUMNS)
def test_asset_is_stored_as_a_private_file_with_its_columns(finished_release, stage):
    config, result = finished_release
    path = stored_path(config, stage)
    assert result.metadata[stage]["dagster/uri"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    schema = result.metadata[stage]["dagster/column_schema"]
    assert {column.name: column.type for column in schema.columns} == COLUMNS[stage]
    assert stored_table(config, stage).column_names == list(COLUMNS[stage])


def test_a_log_of_several_places_is_planned_in_clusters_and_published(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "PLACE", 4)
    config = release_config(tmp_path)
    result = run_release(config)
    assert result.success
    assert result.checks["every_thread_has_a_place"]
    counts = result.metadata["clusters"]
    assert counts["setanon/places"] > 1
    assert counts["setanon/largest_place"] < counts["setanon/threads"] == 10
    assert keyword_sets(published_table(config)) == EXPECTED_SETS


def test_row_count_of_a_release_is_its_rows_not_its_threads(tmp_path):
    typed = [(8, "pine straw"), (9, "pine straw mulch")]
    rows = [(u, f"2006-03-01 0{hour}:00:00", q) for u in ("ann", "bob", "cem") for hour, q in typed]
    config = release_config(tmp_path, rows)
    metadata = materialize(config).metadata
    assert metadata["ledger"]["dagster/row_count"] == 3
    assert metadata["release"]["dagster/row_count"] == len(published_table(config)) == 6


def test_release_has_the_known_result_and_metadata_names_its_folder(finished_release):
    config, result = finished_release
    metadata = result.metadata["release"]
    name, digest = metadata["setanon/release"], metadata["setanon/sha256"]
    assert keyword_sets(published_table(config)) == EXPECTED_SETS
    assert latest_release(config) == name == f"trial-{digest[:12]}"
    assert metadata["setanon/folder"] == str(releases_folder(config) / name)
    latest = (releases_folder(config) / "latest").resolve()
    certificate = json.loads((config.private / latest.name / "certificate.json").read_text())
    assert certificate["cost"]["deletions"] == 2
    assert certificate["parameters"]["k"] == 3
    assert all(result.checks.values())
    assert len(result.checks) == 15


def test_metadata_links_the_data_docs_that_the_checks_wrote(finished_release):
    config, result = finished_release
    page = result.metadata["release"]["setanon/data_docs"]
    assert page == str(config.data_docs / "all" / "index.html")
    assert (config.data_docs / "all" / "index.html").is_file()


def test_assets_have_group_kinds_owners_and_descriptions(tmp_path):
    config = release_config(tmp_path, owners=("team:search",))
    graph = build_setanon_definitions(config).resolve_asset_graph()
    assert {key.path[-1] for key in graph.get_all_asset_keys()} == set(STAGES)
    for stage in STAGES:
        node = graph.get(dg.AssetKey(["trial", stage]))
        assert (node.group_name, node.description) == ("trial", DESCRIPTIONS[stage])
        assert node.kinds == {"parquet", "duckdb"}
        assert list(node.owners) == ["team:search"]


class RenamingTranslator(SetanonTranslator):
    def get_asset_spec(self, stage):
        spec = super().get_asset_spec(stage)
        return spec.replace_attributes(key=dg.AssetKey(["team", f"our_{stage.name}"]))


@pytest.mark.slow
def test_translator_renames_assets_checks_and_files(tmp_path):
    config, translator = release_config(tmp_path), RenamingTranslator()
    graph = build_setanon_definitions(config, translator).resolve_asset_graph()
    names = {f"our_{stage}" for stage in STAGES}
    assert {key.path[-1] for key in graph.get_all_asset_keys()} == names
    assert len(graph.asset_check_keys) == 15
    assert {check.asset_key.path[-1] for check in graph.asset_check_keys} <= names
    result = materialize(config, translator=translator)
    assert result.success, result.failures
    assert set(result.metadata) == names
    assert storage(config).path(dg.AssetKey(["team", "our_ledger"])).is_file()
    assert keyword_sets(published_table(config)) == EXPECTED_SETS


@pytest.mark.slow
def test_two_releases_in_one_code_location_are_independent(tmp_path):
    loose = release_config(tmp_path, name="loose", k=2)
    tight = release_config(tmp_path, name="tight", k=3)
    merged = dg.Definitions.merge(*map(build_setanon_definitions, (loose, tight)))
    assert merged.resolve_job_def("loose_release_job")
    assert merged.resolve_job_def("tight_release_job")
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [*build_setanon_assets(loose), *build_setanon_assets(tight)],
            resources={storage_key(config): storage(config) for config in (loose, tight)},
            instance=instance,
        )
    for config in (loose, tight):
        (event,) = result.asset_materializations_for_node(f"{config.name}__release")
        folder = releases_folder(config) / event.metadata["setanon/release"].value
        assert json.loads((folder / "certificate.json").read_text())["k"] == config.k
    before = {path: data for path, data in public_files(tight).items() if "latest" not in path}
    assert materialize(loose).success
    after = public_files(tight)
    assert {path: after[path] for path in before} == before


BASKETS = "record,item,user\n" + "".join(
    f"{n},{item},u{n % 4}\n" for n in range(8) for item in ("tea", "milk", *["rum"] * (n == 7))
)


def test_baskets_have_no_threads_stage_and_publish_sets(tmp_path):
    (tmp_path / "baskets.csv").write_text(BASKETS + "9,,u1\n")
    source = Source(str(tmp_path / "baskets.csv"), kind="baskets", max_rejected=0.1)
    config = release_config(tmp_path, None, source=source)
    result = run_release(config)
    assert result.success, result.failures
    assert set(result.metadata) == set(STAGES) - {"raw_log", "threads"} | {"raw_baskets"}
    assert keyword_sets(published_table(config)) == [["milk", "tea"]] * 8
    assert result.metadata["rejected_rows"]["setanon/rejected/item missing"] == 1
    assert result.metadata["cost_report"]["setanon/deletions"] == 1
    assert stored_table(config, "raw_baskets").column_names == ["record", "item", "user", "line"]


@pytest.mark.slow
def test_secret_of_the_environment_determines_the_ids_and_is_stored_nowhere(
    release_copy, tmp_path, monkeypatch
):
    def thread_ids():
        return published_table(release_copy)["thread_id"].to_pylist()

    monkeypatch.setenv(SECRET, "canarysecret" * 2)
    result = materialize(release_copy, "anonymized_threads", "ledger", "cost_report", "release")
    assert result.success, result.failures
    with_secret = thread_ids()
    assert materialize(release_copy, "release").success
    assert thread_ids() == with_secret
    assert "canarysecret" not in result.events
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"canarysecret" in data for data in files)
    monkeypatch.setenv(SECRET, "")
    assert materialize(release_copy, "release").success
    assert not {*with_secret} & {*thread_ids()}


def test_a_missing_secret_is_announced(release_copy, monkeypatch):
    sentence = f"{SECRET} is not set: the key of the thread ids is a random one"
    monkeypatch.delenv(SECRET, raising=False)
    assert sentence in materialize(release_copy, "release").events
    monkeypatch.setenv(SECRET, "made up for a test")
    assert sentence not in materialize(release_copy, "release").events


def test_secret_of_wrong_length_or_invalid_unicode_is_not_quoted(release_copy, monkeypatch):
    for secret in ("x" * 65, "x" * 15):
        monkeypatch.setenv(SECRET, secret)
        with pytest.raises(InvalidParameterError) as error:
            release_copy.params()
        assert "x" * 15 not in str(error.value)
    result = materialize(release_copy, "threads")
    assert not result.success
    assert "x" * 15 not in result.events
    monkeypatch.setenv(SECRET, "\udc80canarysecret" * 2)
    assert release_copy.params().secret == b"\x80canarysecret" * 2
    result = materialize(release_copy, "threads")
    assert result.success, result.failures
    assert "canarysecret" not in result.events


@pytest.mark.parametrize(
    ("upstream", "without_condition"),
    [(None, ["raw_log", "rejected_rows"]), ("team/queries", [])],
)
def test_automation_conditions_apply_to_assets_and_not_to_files(
    tmp_path, upstream, without_condition
):
    specs = asset_specs(release_config(tmp_path, upstream=upstream))
    assert [
        stage for stage, spec in specs.items() if not spec.automation_condition
    ] == without_condition
