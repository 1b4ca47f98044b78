import subprocess
import sys
from datetime import datetime
from functools import partial
from pathlib import Path

import duckdb
import pytest

dg = pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from setanon_dagster.checks import CLUSTER_CHECKS, LINE_CHECKS, THREAD_CHECKS, build_checks  # noqa: E402
from setanon_dagster.quality import release_counts, validation  # noqa: E402 - after the skip
from setanon_dagster.quality.promises import PROMISES, ReleasePromises  # noqa: E402
from setanon_dagster.quality.stage_views import open_stages  # noqa: E402

K = 3
CANARIES = ("canaryuser", "canaryword", "canarycolumn")
STAGES = (
    "raw_log",
    "rejected_rows",
    "threads",
    "clusters",
    "anonymized_threads",
    "ledger",
    "cost_report",
)
KEYS = {stage: dg.AssetKey(["trial", stage]) for stage in STAGES}

# Three users look for pine straw, one of them for mulch too; a fourth is alone, and withdrawn.
LOG = [
    ("canaryuser1", "canaryword straw"),
    ("canaryuser2", "canaryword straw"),
    ("canaryuser3", "canaryword straw canarymulch"),
    ("canaryuser4", "canarysurname"),
]
GOOD = {
    "raw_log": "SELECT user, time, query, line FROM typed",
    "rejected_rows": "SELECT 99::BIGINT AS line, 'no user' AS reason",
    "threads": "SELECT line - 1 AS thread, user, time, 0::BIGINT AS position, query FROM typed",
    "clusters": """SELECT line - 1 AS thread, user, user || '-0' AS name,
        string_split(query, ' ') AS words, [len(string_split(query, ' '))::INTEGER] AS lengths,
        list_sort(string_split(query, ' ')) AS items, [1, line]::UBIGINT[] AS keys FROM typed""",
    "anonymized_threads": """SELECT md5(line::VARCHAR) AS thread_id, 0::BIGINT AS "group",
        0::BIGINT AS position, 'canaryword straw' AS query FROM typed WHERE line < 4""",
    "ledger": """SELECT md5(line::VARCHAR) AS thread_id, line - 1 AS thread, user
        FROM typed WHERE line < 4""",
    "cost_report": """SELECT 3 AS k, 'best' AS method, round, 4 AS threads, 8 AS keywords,
        0 AS additions, 2 AS deletions, 1 AS withdrawals, 0 AS respellings, 2 AS lower_bound,
        1.0 AS factor, 0.75 AS retained FROM (VALUES ('star'), ('total')) rounds(round)""",
}
AS_SETS = {
    "anonymized_threads": """SELECT md5(line::VARCHAR) AS thread_id, 0::BIGINT AS "group",
        ['canaryword', 'straw'] AS keywords FROM typed WHERE line < 4"""
}
NOTHING = {
    "anonymized_threads": GOOD["anonymized_threads"].replace("line < 4", "false"),
    "ledger": GOOD["ledger"].replace("line < 4", "false"),
    "cost_report": GOOD["cost_report"]
    .replace("1 AS with", "4 AS with")
    .replace("2 AS d", "8 AS d"),
}


class Paths(dg.IOManager):
    def __init__(self, files):
        self.files = files

    def handle_output(self, context, obj):
        pass

    def load_input(self, context):
        assert context.dagster_type.typing_type is Path
        return self.files[context.asset_key.path[-1]]


def written(folder, **queries):
    con = duckdb.connect()
    con.execute("CREATE TABLE typed (line BIGINT, user VARCHAR, time TIMESTAMP, query VARCHAR)")
    rows = [[n, user, datetime(2006, 3, n), text] for n, (user, text) in enumerate(LOG, 1)]  # noqa: DTZ001
    con.executemany("INSERT INTO typed VALUES (?, ?, ?, ?)", rows)
    files = {stage: folder / f"{stage}.parquet" for stage in STAGES}
    for stage, query in {**GOOD, **queries}.items():
        con.execute(f"COPY ({query}) TO '{files[stage]}' (FORMAT parquet)")
    return files


def run(files, said=None, partition=None, **knobs):
    """Whether the asset after the checks was made, the checks' results, and all events as text."""

    days = dg.DailyPartitionsDefinition("2006-03-01") if partition else None

    @dg.multi_asset(
        outs={s: dg.AssetOut(key=KEYS[s], dagster_type=dg.Any) for s in STAGES[:2]},
        partitions_def=days,
    )
    def read():
        yield dg.Output(None, "raw_log", metadata=said or {})
        yield dg.Output(None, "rejected_rows")

    @dg.asset(key=KEYS["threads"], deps=[KEYS["raw_log"]], partitions_def=days)
    def threads():
        pass

    @dg.asset(key=KEYS["clusters"], deps=[KEYS["threads"]], partitions_def=days)
    def clusters():
        pass

    @dg.multi_asset(
        outs={s: dg.AssetOut(key=KEYS[s], dagster_type=dg.Any) for s in STAGES[4:]},
        deps=[KEYS["clusters"]],
        partitions_def=days,
    )
    def anonymized():
        yield from (dg.Output(None, stage) for stage in STAGES[4:])

    @dg.asset(deps=[KEYS["anonymized_threads"]], partitions_def=days)
    def release():
        pass

    checks = build_checks(KEYS, k=K, partitions_def=days, **knobs)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [read, threads, clusters, anonymized, release, *checks],
            instance=instance,
            resources={"io_manager": Paths(files)},
            raise_on_error=False,
            partition_key=partition,
        )
        logs = instance.all_logs(result.run_id)
    made = any(
        event.asset_key == dg.AssetKey("release")
        for event in result.get_asset_materialization_events()
    )
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return made, found, "\n".join(map(str, logs)) + str(found)


def failed(found):
    return {name for name, one in found.items() if not one.passed}


def numbers(check):
    return {name: value.value for name, value in check.metadata.items()}


def test_good_data_pass_and_the_release_is_made(tmp_path):
    made, found, _ = run(written(tmp_path), docs=tmp_path / "docs")
    assert made
    assert set(found) == {*PROMISES, *LINE_CHECKS, *THREAD_CHECKS, *CLUSTER_CHECKS}
    assert not failed(found)
    assert all(one.severity is dg.AssetCheckSeverity.ERROR for one in found.values())
    sets = numbers(found["every_set_has_k_users"])
    assert (sets["sets"], sets["threads"], sets["smallest_group"]) == (1, 3, 3)
    edits = numbers(found["edits_match_the_cost_report"])
    assert (edits["additions"], edits["deletions"], edits["withdrawals"]) == (0, 2, 1)
    assert (tmp_path / "docs" / "all" / "index.html").is_file()


@pytest.mark.parametrize(("files", "knobs"), [(AS_SETS, {"format": "sets"}), (NOTHING, {})])
def test_sets_pass_too_and_so_does_a_release_of_nothing(tmp_path, files, knobs):
    made, found, _ = run(written(tmp_path, **files), **knobs)
    assert (made, failed(found)) == (True, set())


BAD = {
    "a set of k - 1 users": (
        {"ledger": GOOD["ledger"].replace(", user", ", replace(user, '3', '2') AS user")},
        {"every_set_has_k_users", "thread_ids_are_unique"},
    ),
    "another set": (
        {
            "anonymized_threads": GOOD["anonymized_threads"].replace(
                "'canaryword straw' AS", "'straw' || repeat(' canaryword', (line < 3)::INT) AS"
            )
        },
        {"every_set_has_k_users", "edits_match_the_cost_report"},
    ),
    "a keyword of k - 1 owners": (
        {
            "clusters": GOOD["clusters"].replace(
                "string_split(query, ' ') AS words",
                "string_split(if(line = 1, 'pine straw', query), ' ') AS words",
            )
        },
        {"every_keyword_has_owners", "edits_match_the_cost_report"},
    ),
    "two blanks": (
        {"anonymized_threads": GOOD["anonymized_threads"].replace("word straw", "word  straw")},
        {"every_keyword_has_owners", "thread_ids_are_unique", "edits_match_the_cost_report"},
    ),
    "a row twice": (
        {
            "anonymized_threads": f"{GOOD['anonymized_threads']} "
            f"UNION ALL {GOOD['anonymized_threads']} AND line = 1"
        },
        {"thread_ids_are_unique"},
    ),
    "a readable id": (
        {
            stage: GOOD[stage].replace("md5(line::VARCHAR)", "'canaryuser' || line")
            for stage in ("anonymized_threads", "ledger")
        },
        {"thread_ids_are_unique"},
    ),
    "a user column": (
        {"anonymized_threads": GOOD["anonymized_threads"].replace("SELECT", "SELECT user,")},
        {"no_user_or_time_column"},
    ),
    "a column named for a user": (
        {
            "anonymized_threads": GOOD["anonymized_threads"].replace(
                "SELECT", "SELECT time AS canarycolumn,"
            )
        },
        {"no_user_or_time_column"},
    ),
    "a thread neither published nor withdrawn": (
        {"cost_report": GOOD["cost_report"].replace("1 AS with", "0 AS with")},
        {"every_row_is_accounted_for", "edits_match_the_cost_report"},
    ),
    "a wrong number of deletions": (
        {"cost_report": GOOD["cost_report"].replace("2 AS deletions", "1 AS deletions")},
        {"edits_match_the_cost_report"},
    ),
    "a cost report of another k": (
        {"cost_report": GOOD["cost_report"].replace("3 AS k", "2 AS k")},
        {"every_row_is_accounted_for", "edits_match_the_cost_report"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_promise_fails_and_blocks_the_release(tmp_path, case):
    files, broken = BAD[case]
    made, found, events = run(written(tmp_path, **files), docs=tmp_path / "docs")
    assert not made
    assert failed(found) == broken
    assert all(numbers(found[name])["violations"] for name in broken)
    pages = [page.read_text() for page in (tmp_path / "docs").rglob("*.html")]
    assert pages
    for canary in CANARIES:
        assert canary not in events
        assert not any(canary in page for page in pages)


@pytest.mark.parametrize(
    ("files", "said", "broken"),
    [
        ({"rejected_rows": "SELECT 1::BIGINT AS line, 'why' AS reason"}, {}, "every_line_is_accou"),
        ({"raw_log": f"{GOOD['raw_log']} UNION ALL {GOOD['raw_log']}"}, {}, "every_line_is_accoun"),
        ({}, {"setanon/lines": 6}, "every_line_is_accounted_for"),
        ({"raw_log": f"{GOOD['raw_log']} WHERE false"}, {}, "some_rows_are_usable"),
        ({"threads": f"{GOOD['threads']} WHERE line > 1"}, {}, "every_row_is_in_one_thread"),
        ({"threads": GOOD["threads"].replace(" query", " 'x' AS query")}, {}, "every_row_is_in_on"),
        ({"threads": GOOD["threads"].replace("line - 1", "0")}, {}, "no_thread_mixes_users"),
        ({"clusters": GOOD["clusters"].replace("[1, line]", "[]")}, {}, "every_thread_has_keys"),
        ({"clusters": GOOD["clusters"].replace("line - 1", "0")}, {}, "every_thread_has_keys"),
        ({"clusters": GOOD["clusters"].replace("[len(", "[1 + len(")}, {}, "keywords_and_items_ag"),
    ],
)
def test_a_broken_stage_fails_its_own_check_and_blocks(tmp_path, files, said, broken):
    made, found, events = run(written(tmp_path, **files), said)
    assert not made
    assert any(name.startswith(broken) for name in failed(found))
    assert not any(canary in events for canary in CANARIES)


def test_lines_of_other_partitions_are_accounted_for(tmp_path):
    made, found, _ = run(written(tmp_path), {"setanon/lines": 12, "setanon/outside_partition": 7})
    assert (made, failed(found)) == (True, set())


def test_a_partition_is_checked_by_itself(tmp_path):
    said = {"setanon/lines": 12, "setanon/outside_partition": 7}
    made, found, _ = run(written(tmp_path), said, "2006-03-02", docs=tmp_path / "docs")
    assert (made, failed(found)) == (True, set())
    assert numbers(found["every_line_is_accounted_for"])["outside"] == 7
    assert (tmp_path / "docs" / "2006-03-02" / "index.html").is_file()


def test_what_cannot_be_checked_has_failed(tmp_path):
    files = written(tmp_path)
    files["ledger"].write_text("canaryuser")
    made, found, events = run(files, docs=tmp_path / "docs")
    assert not made
    assert failed(found) == {
        "every_set_has_k_users",
        "every_keyword_has_owners",
        "thread_ids_are_unique",
        "no_user_or_time_column",
        "every_row_is_accounted_for",
        "edits_match_the_cost_report",
    }
    assert "SetanonError" in found["every_set_has_k_users"].description
    assert "canary" not in events
    assert not (tmp_path / "docs" / "all").exists()


def test_a_check_that_raises_fails_without_its_text(tmp_path, monkeypatch):
    def broken(*_):
        raise LookupError("canaryuser")

    monkeypatch.setattr(validation, "_validate", broken)
    made, found, events = run(written(tmp_path))
    assert not made
    assert failed(found) == set(PROMISES)
    assert all("LookupError" in found[name].description for name in PROMISES)
    assert "canary" not in events


def test_stale_data_docs_do_not_outlive_a_check_that_could_not_run(tmp_path):
    files = written(tmp_path)
    asked = ReleasePromises(k=K, min_owners=K, format="queries")
    validation.run_expectations(partial(open_stages, files), asked, tmp_path / "docs")
    assert (tmp_path / "docs" / "index.html").is_file()
    files["clusters"].unlink()
    validation.run_expectations(partial(open_stages, files), asked, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_respellings_widen_what_the_cost_report_may_say(tmp_path):
    # "straws" is of the item of "straw", and was respelled: a keyword kept, and none added.
    files = written(
        tmp_path,
        clusters=GOOD["clusters"].replace(
            "string_split(query, ' ') AS words",
            "string_split(if(line = 1, 'canaryword straws', query), ' ') AS words",
        ),
        cost_report=GOOD["cost_report"].replace("0 AS resp", "1 AS resp"),
    )
    with open_stages(files) as connection:
        edits = release_counts.edit_counts(connection, "queries", K).set_index("figure")
    assert edits.loc["additions", ["least", "most", "reported"]].tolist() == [0, 1, 0]
    assert edits.loc["deletions", ["least", "most", "reported"]].tolist() == [2, 3, 2]
    assert edits.loc["kept", ["least", "most", "reported"]].tolist() == [6, 6, 6]


def test_importing_the_checks_does_not_import_great_expectations():
    script = (
        "import sys, setanon_dagster.checks as checks, dagster as dg\n"
        f"keys = {{stage: dg.AssetKey(stage) for stage in {STAGES!r}}}\n"
        "checks.build_checks(keys, k=3)\n"
        "assert 'great_expectations' not in sys.modules, 'run python -X importtime to find out'\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - our own script
