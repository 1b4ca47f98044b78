"""What the assets make of a small log with a known answer, however it is asked for."""

import json

import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import (  # noqa: E402 - after the skip
    SETS,
    STAGES,
    asked,
    latest,
    make,
    path_of,
    public_files,
    published,
    releases,
    run,
    run_job,
    sets_of,
    storage,
    table_of,
)

from setanon_dagster.config import SECRET  # noqa: E402
from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import STAGES as DESCRIBED  # noqa: E402
from setanon_dagster.translator import SetanonTranslator, asset_specs  # noqa: E402

TEXT, WHOLE = "VARCHAR", "BIGINT"
COLUMNS = {
    "raw_log": {"user": TEXT, "time": "TIMESTAMP", "query": TEXT, "line": WHOLE},
    "rejected_rows": {"line": WHOLE, "reason": TEXT},
    "threads": {
        "thread": WHOLE, "user": TEXT, "time": "TIMESTAMP", "position": WHOLE, "query": TEXT,
    },
    "clusters": {
        "thread": WHOLE, "user": TEXT, "words": "VARCHAR[]", "lengths": "INTEGER[]",
        "items": "VARCHAR[]", "keys": "UBIGINT[]",
    },
    "anonymized_threads": {"thread_id": TEXT, "group": WHOLE, "position": WHOLE, "query": TEXT},
    "ledger": {"thread_id": TEXT, "thread": WHOLE, "user": TEXT},
    "cost_report": {
        "k": WHOLE, "method": TEXT, "round": TEXT, "threads": WHOLE, "keywords": WHOLE,
        "additions": WHOLE, "deletions": WHOLE, "withdrawals": WHOLE, "respellings": WHOLE,
        "lower_bound": WHOLE, "factor": "DOUBLE", "retained": "DOUBLE",
    },
}  # fmt: skip
NUMBERS = {
    "raw_log": {
        "dagster/row_count": 10,
        "setanon/lines": 12,
        "setanon/accepted": 10,
        "setanon/outside_partition": 0,
    },
    "rejected_rows": {
        "dagster/row_count": 2,
        "setanon/rejected/user missing": 1,
        "setanon/rejected/time unreadable": 1,
    },
    "threads": {
        "dagster/row_count": 10,
        "setanon/users": 7,
        "setanon/threads": 10,
        "setanon/queries_per_thread": 1.0,
    },
    "clusters": {
        "setanon/threads": 10,
        "setanon/keywords_per_thread": 2.0,
        "setanon/largest_cluster": 3,
    },
    "anonymized_threads": {
        "setanon/threads": 9,
        "setanon/groups": 3,
        "setanon/smallest_group": 3,
        "setanon/withdrawals": 1,
    },
    "ledger": {"dagster/row_count": 9, "setanon/threads": 9},
    "cost_report": {
        "setanon/additions": 0,
        "setanon/deletions": 2,
        "setanon/respellings": 0,
        "setanon/retained": 0.9,
    },
    "release": {
        "dagster/row_count": 9,
        "setanon/groups": 3,
        "setanon/smallest_group": 3,
        "setanon/violations": 0,
    },
}


@pytest.mark.parametrize("stage", NUMBERS)
def test_an_asset_tells_the_numbers_that_a_person_wants(good, stage):
    metadata = good[1].metadata[stage]
    assert {name: metadata.get(name) for name in NUMBERS[stage]} == NUMBERS[stage]


@pytest.mark.parametrize("stage", COLUMNS)
def test_an_asset_is_a_private_file_with_its_columns(good, stage):
    config, ran = good
    path = path_of(config, stage)
    assert ran.metadata[stage]["dagster/uri"] == str(path)
    assert path.stat().st_mode & 0o777 == 0o600
    schema = ran.metadata[stage]["dagster/column_schema"]
    assert {column.name: column.type for column in schema.columns} == COLUMNS[stage]
    assert table_of(config, stage).column_names == list(COLUMNS[stage])


def test_the_release_has_the_known_answer_and_says_where_it_is(good):
    config, ran = good
    told = ran.metadata["release"]
    assert sets_of(published(config)) == SETS
    assert latest(config) == told["setanon/release"] == f"trial-{told['setanon/sha256'][:12]}"
    assert told["setanon/folder"] == str(releases(config) / told["setanon/release"])
    certificate = json.loads((releases(config) / "latest" / "certificate.json").read_text())
    assert certificate["cost"]["deletions"] == 2
    assert certificate["parameters"]["k"] == 3
    assert all(ran.checks.values())
    assert len(ran.checks) == 12


def test_assets_have_group_kinds_owners_and_descriptions(tmp_path):
    config = asked(tmp_path, owners=("team:search",))
    graph = build_setanon_definitions(config).resolve_asset_graph()
    assert {key.path[-1] for key in graph.get_all_asset_keys()} == set(STAGES)
    for stage in STAGES:
        node = graph.get(dg.AssetKey(["trial", stage]))
        assert (node.group_name, node.description) == ("trial", DESCRIBED[stage])
        assert node.kinds == {"parquet", "duckdb"}
        assert list(node.owners) == ["team:search"]


class Renaming(SetanonTranslator):
    def get_asset_spec(self, stage):
        spec = super().get_asset_spec(stage)
        return spec.replace_attributes(key=dg.AssetKey(["team", f"our_{stage.name}"]))


def test_a_translator_renames_assets_checks_and_files(tmp_path):
    config = asked(tmp_path)
    ran = run(config, translator=Renaming())
    assert ran.success, ran.failures
    assert set(ran.metadata) == {f"our_{stage}" for stage in STAGES}
    assert len(ran.checks) == 12
    assert storage(config).path(dg.AssetKey(["team", "our_ledger"])).is_file()
    assert sets_of(published(config)) == SETS


def test_two_releases_in_one_code_location_do_not_disturb_each_other(tmp_path):
    first, second = asked(tmp_path, name="loose", k=2), asked(tmp_path, name="tight", k=3)
    defs = dg.Definitions.merge(*map(build_setanon_definitions, (first, second)))
    for config in (first, second):
        ran = run_job(defs.resolve_job_def(f"{config.name}_release_job"))
        assert ran.success, ran.failures
        told = releases(config) / ran.metadata["release"]["setanon/release"] / "certificate.json"
        assert json.loads(told.read_text())["k"] == config.k
    before = public_files(second)
    assert make(first).success
    after = public_files(second)
    assert {name: after[name] for name in before if "latest" not in name} == {
        name: before[name] for name in before if "latest" not in name
    }


BASKETS = "record,item,user\n" + "".join(
    f"{n},{item},u{n % 4}\n" for n in range(8) for item in ("tea", "milk", *["rum"] * (n == 7))
)


def test_baskets_skip_the_threads_and_publish_sets(tmp_path):
    (tmp_path / "baskets.csv").write_text(BASKETS + "9,,u1\n")
    source = Source(str(tmp_path / "baskets.csv"), kind="baskets")
    config = asked(tmp_path, None, source=source)
    ran = run(config)
    assert ran.success, ran.failures
    assert set(ran.metadata) == set(STAGES) - {"raw_log", "threads"} | {"raw_baskets"}
    assert sets_of(published(config)) == [["milk", "tea"]] * 8
    assert ran.metadata["rejected_rows"]["setanon/rejected/item missing"] == 1
    assert ran.metadata["cost_report"]["setanon/deletions"] == 1
    assert table_of(config, "raw_baskets").column_names == ["record", "item", "user", "line"]


def test_the_secret_of_the_environment_gives_the_same_ids_and_is_told_to_nobody(
    tmp_path, monkeypatch
):
    ids = []
    for n, secret in enumerate(("canarysecret" * 2, "canarysecret" * 2, "")):
        folder = tmp_path / str(n)
        folder.mkdir()
        monkeypatch.setenv(SECRET, secret)
        config = asked(folder)
        ran = make(config)
        assert "canarysecret" not in ran.told
        files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        assert not any(b"canarysecret" in each for each in files)
        ids.append(published(config)["thread_id"].to_pylist())
    assert ids[0] == ids[1]
    assert not {*ids[0]} & {*ids[2]}


@pytest.mark.parametrize("secret", ["x" * 65, "x" * 15, "\udc80canarysecret" * 2])
def test_a_secret_that_is_too_long_or_odd_is_not_quoted(tmp_path, monkeypatch, secret):
    monkeypatch.setenv(SECRET, secret)
    ran = make(asked(tmp_path))
    assert ran.success == ("canary" in secret)
    assert "canarysecret" not in ran.told
    assert "x" * 15 not in ran.told


@pytest.mark.parametrize(
    ("upstream", "waiting"), [(None, ["raw_log", "rejected_rows"]), ("team/queries", [])]
)
def test_automation_follows_assets_and_not_files(tmp_path, upstream, waiting):
    specs = asset_specs(asked(tmp_path, upstream=upstream))
    assert [stage for stage, spec in specs.items() if not spec.automation_condition] == waiting
