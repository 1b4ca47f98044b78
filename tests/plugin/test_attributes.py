"""Attributes from the source to the published file: what is read, published, and refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import change_column
from support.terminal import call

from setanon_core import anonymize_log
from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_core.params import ReleaseParams
from setanon_core.partition import parts, plan
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.stages import load_threads
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_stream, clusters_table
from setanon_dagster.stages.threads import threads_stream, threads_table
from setanon_dagster.verifier.certificate_schema import schema_faults
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.release_folder import verify_folder

SECRET = b"a secret of the tests"
PARAMS = ReleaseParams(3, attributes=("week", "shop"), secret=SECRET)
ROWS = [
    # user, day of March 2026, query, click, shop: two groups that differ in their weeks only
    *((f"ann{n}", 2, "pine straw", "http://www.Mill.com/a", "corner  shop") for n in range(3)),
    *((f"bob{n}", 9, "pine straw", "mill.com:80?q=1", "corner shop") for n in range(4)),
    *((f"cem{n}", 9, "copper kettle", "", f"card {n}") for n in range(4)),
]


def write_log(folder, rows=ROWS, name="log.tsv"):
    path = folder / name
    lines = [
        f"{user}\t2026-03-{day:02} 23:30:00\t{query}\t{click}\t{shop}"
        for user, day, query, click, shop in rows
    ]
    path.write_text("\n".join(["user\ttime\tquery\tclick\tshop", *lines]) + "\n")
    return path


def read(path, attributes, **options):
    table = read_source(Source(str(path), **options.pop("source", {})), attributes=attributes,
                        **options).accepted.to_arrow_table()  # fmt: skip
    return {name: table[name].to_pylist() for name in table.column_names if "attribute" in name}


@pytest.mark.parametrize(
    ("timezone", "expected"),
    [
        ("UTC", ["2026-03-01", "2026-W09", "2026-03", "Sunday", "23"]),
        ("Asia/Tokyo", ["2026-03-02", "2026-W10", "2026-03", "Monday", "08"]),
        ("America/New_York", ["2026-03-01", "2026-W09", "2026-03", "Sunday", "18"]),
    ],
)
def test_parts_of_times_are_those_of_a_clock_in_the_time_zone(tmp_path, timezone, expected):
    path = tmp_path / "log.tsv"
    path.write_text("user\ttime\tquery\nann\t2026-03-01T23:30:00Z\ttea\n")
    names = ["day", "week", "month", "weekday", "hour"]
    values = read(path, names, timezone=timezone)
    assert [values[f"attribute_{name}"] for name in names] == [[each] for each in expected]


def test_weeks_are_those_of_iso(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("user\ttime\tquery\nann\t2027-01-03 10:00:00\ttea\n")
    assert read(path, ["week"]) == {"attribute_week": ["2026-W53"]}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://www.Mill.com/a?b=http://x.y", "mill.com"),
        ("https://ann@shop.example.org:8080/", "shop.example.org"),
        ("mill.com", "mill.com"),
        ("https://bücher.example/", "bücher.example"),
        ("http://a.b@john.doe@mill.example/", "mill.example"),
        (r"http://mill.example\\page.html", "mill.example"),
        ("http://cafe\u0301.example.:80", "caf\u00e9.example"),
        ("http://mill.example;id=7/a", None),
        ("http://mill.example%2fpage.html", None),
        ("http://mi\x01ll.example", None),
        ("http://mi\u200bll.example", None),
        ("10.30 Meier", None),
        ("no url", None),
        ("/path/file.html", None),
        ("", None),
    ],
)
def test_host_of_a_url(tmp_path, url, host):
    path = write_log(tmp_path, [("ann", 2, "tea", url, "x")])
    assert read(path, ["host:click"]) == {"attribute_host": [host]}


def test_cells_are_trimmed_and_empty_ones_have_no_value(tmp_path):
    rows = [("ann", 2, "tea", "", shop) for shop in ("  a \u00a0 b ", "", " ", "e\u0301")]
    assert read(write_log(tmp_path, rows), ["shop", "store=shop"]) == {
        "attribute_shop": ["a b", None, None, "é"],
        "attribute_store": ["a b", None, None, "é"],
    }


def test_rows_without_a_value_are_not_rejected_and_quoted_cells_are_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('user,time,query,shop\nann,2026-03-02,tea,"a, b"\nbob,2026-03-02,tea,\n')
    assert read(path, ["shop"]) == {"attribute_shop": ["a, b", None]}


def test_columns_of_a_parquet_file_may_have_any_plain_type(tmp_path):
    path = tmp_path / "log.parquet"
    times = [datetime(2026, 3, 2, tzinfo=UTC)] * 2
    columns = {"user": ["a", "b"], "time": times, "query": ["x", "y"], "shop": [7.0, None]}
    table = pa.table(columns)
    parquet.write_table(table, path)
    assert read(path, ["shop", "day"]) == {
        "attribute_shop": ["7", None],
        "attribute_day": ["2026-03-02"] * 2,
    }


def test_source_without_the_column_is_refused(tmp_path):
    with pytest.raises(MalformedInputError, match="clicks is missing"):
        read(write_log(tmp_path), ["host:clicks"])
    path = tmp_path / "plain.tsv"
    path.write_text("ann\t2026-03-02\ttea\n")
    with pytest.raises(MalformedInputError, match="columns"):
        read(path, ["shop"])
    with pytest.raises(InvalidParameterError, match="lines"):
        read(path, ["shop"], source={"kind": "baskets", "layout": "lines"})


@pytest.mark.parametrize("column", ["user", "time", "query"])
def test_users_times_and_queries_are_no_attributes(tmp_path, column):
    by_position = {"user_column": 0, "time_column": 1, "query_column": 2}
    for name in (column, column.upper(), f" {column}", f"host:{column.title()}"):
        for source in ({}, by_position):
            with pytest.raises(InvalidParameterError, match="other columns"):
                read(write_log(tmp_path), [f"x={name}"], source=source)


def test_baskets_with_and_without_users_have_attributes(tmp_path):
    path = tmp_path / "baskets.csv"
    path.write_text("record,shop,item\n1,x,tea\n1,y,rum\n2,,tea\n")
    source = Source(str(path), kind="baskets")
    raw = read_source(source, attributes=["shop"]).accepted.to_arrow_table()
    assert raw["user"].to_pylist() == ["1", "1", "2"]
    assert basket_clusters_table(raw)["attribute_shop"].to_pylist() == [["x", "y"], []]
    # `week` is a column of baskets, which have no time.
    with pytest.raises(MalformedInputError, match="week"):
        read_source(source, attributes=["week"])


def stages_of(folder, params=PARAMS, rows=ROWS):
    """The stages of a log as files."""
    folder.mkdir(exist_ok=True)
    raw = read_source(Source(str(write_log(folder, rows))), attributes=params.attributes)
    raw = raw.accepted.to_arrow_table()
    threads = threads_table(raw, params)
    clusters = clusters_table(threads, params)
    result = anonymize_clusters(clusters, params)
    tables = {
        "raw_log": raw,
        "threads": threads,
        "clusters": clusters,
        "anonymized_threads": result.threads.read_all(),
        "ledger": result.ledger.read_all(),
        "cost_report": result.cost(),
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        parquet.write_table(table, paths[name])
    return paths


def published(paths, out, params=PARAMS, **changed):
    names = params.attribute_names
    spec = ReleaseSpec(
        name="log", k=3, format=params.format, attributes=names, secret=SECRET,
        parameters={"attributes": ", ".join(names)} if names else {},
    )  # fmt: skip
    return publish(StageFiles(**paths), replace(spec, **changed), out)


def column(release, name):
    rows = parquet.read_table(release.folder / "threads.parquet")
    key = "query" if "query" in rows.column_names else "keywords"
    return sorted(zip(map(str, rows[key].to_pylist()), rows[name].to_pylist(), strict=True))


@pytest.mark.parametrize("form", ["queries", "sets"])
def test_release_has_a_column_per_attribute(tmp_path, form):
    params = replace(PARAMS, format=form)
    release = published(stages_of(tmp_path / "s", params), tmp_path / "out", params)
    rows = parquet.read_table(release.folder / "threads.parquet")
    assert rows.column_names[-2:] == ["week", "shop"]
    pine, kettle = (
        ("pine straw", "copper kettle") if form == "queries"
        else ("['pine', 'straw']", "['copper', 'kettle']")
    )  # fmt: skip
    assert column(release, "week") == sorted(
        [(pine, ["2026-W10"])] * 3 + [(pine, ["2026-W11"])] * 4 + [(kettle, ["2026-W11"])] * 4
    )
    # Cards are unique, and vanish.
    assert column(release, "shop") == sorted([(pine, ["corner shop"])] * 7 + [(kettle, [])] * 4)
    private = tmp_path / "out" / "private" / release.name
    assert verify_folder(release.folder, private=private).ok
    assert verify_folder(release.folder).ok
    exact = json.loads((private / "certificate.json").read_text())
    assert exact["cost"]["attributes"]["shop"] == {
        "total": 11, "additions": 0, "deletions": 4, "retained": pytest.approx(7 / 11),
    }  # fmt: skip
    assert exact["verdict"]["attributes"] == {"week": 11, "shop": 7}
    assert exact["verdict"]["keywords"] == 22
    public = json.loads((release.folder / "certificate.json").read_text())
    assert public["cost"]["attributes"]["shop"]["deletions"] == 100
    assert public["parameters"]["attributes"] == "week, shop"
    sheet = (release.folder / "DATASHEET.md").read_text()
    assert "`week` (sorted values)" in sheet
    assert "card" not in sheet


def test_file_alone_is_verified_with_its_attributes_only(tmp_path):
    release = published(stages_of(tmp_path / "s"), tmp_path / "out")
    file = release.folder / "threads.parquet"
    assert verify_file(file, 3, attributes=("week", "shop")).ok
    assert verify_file(file, 3).wrong_columns == 2
    assert verify_file(file, 3, attributes=("shop", "week")).wrong_columns == 2
    # Seven threads have the list, but only three of them this week.
    assert verify_file(file, 4, attributes=("week", "shop")).violations == 3


@pytest.mark.parametrize("name", ["previous_0", "previous_id", "week", "v", "previous_1"])
def test_values_differ_in_the_rows_of_a_thread_whatever_the_attribute_is_called(tmp_path, name):
    # Only the first row of a thread has the values that its group shares.
    columns = {
        "thread_id": [f"{n // 2:032x}" for n in range(6)],
        "position": [0, 1] * 3,
        "query": ["pine straw", "straw"] * 3,
        name: [["a"], ["card 1"], ["a"], ["card 2"], ["a"], ["card 3"]],
    }
    parquet.write_table(pa.table(columns), tmp_path / "threads.parquet")
    verdict = verify_file(tmp_path / "threads.parquet", 3, attributes=(name,))
    assert verdict.differing_values == 3
    assert not verdict.ok


@pytest.mark.parametrize(
    ("name", "change"), [("total", 1), ("total", -100), ("additions", 1), ("deletions", -1)]
)
def test_costs_that_do_not_give_the_published_values_are_refused(tmp_path, name, change):
    paths = stages_of(tmp_path / "s")
    change_column(
        paths, "cost_report", f"attribute_week_{name}", lambda v: [each + change for each in v]
    )
    with pytest.raises(NotAnonymousError, match=r"costs of attributes .* 1 do not"):
        published(paths, tmp_path / "out")


def test_negative_costs_are_refused(tmp_path):
    paths = stages_of(tmp_path / "s")
    for name in ("additions", "deletions"):
        change_column(
            paths, "cost_report", f"attribute_week_{name}", lambda v: [each - 5 for each in v]
        )
    with pytest.raises(NotAnonymousError, match="costs of attributes"):
        published(paths, tmp_path / "out")


def test_attributes_with_edited_queries_are_refused(tmp_path):
    # k users share the sets of edited queries, not the rows.
    paths = stages_of(tmp_path / "s")
    with pytest.raises(InvalidParameterError, match="queries or sets"):
        published(paths, tmp_path / "out", format="edited")
    release = published(paths, tmp_path / "out")
    file = release.folder / "threads.parquet"
    with pytest.raises(InvalidParameterError, match="queries or sets"):
        verify_file(file, 3, format="edited", attributes=("week", "shop"))


def test_texts_of_a_certificate_have_no_line_end(tmp_path):
    release = published(stages_of(tmp_path / "s"), tmp_path / "out")
    certificate = json.loads((release.folder / "certificate.json").read_text())
    assert not schema_faults(certificate)
    for name, value in (("attributes", "week, shop\n"), ("timezone", "UTC\n")):
        certificate["parameters"][name] = value
        assert f"certificate.parameters.{name}" in schema_faults(certificate)


def test_attributes_may_have_the_names_that_statements_use(tmp_path):
    names = ("id", "ids", "previous_0", "due", "stage")
    params = replace(PARAMS, attributes=tuple(f"{name}=shop" for name in names))
    release = published(stages_of(tmp_path / "s", params), tmp_path / "out", params)
    for name in names:
        assert [values for _, values in column(release, name)].count(["corner shop"]) == 7
    assert verify_folder(release.folder).ok


def changed(index, value):
    return lambda values: [value if n == index else each for n, each in enumerate(values)]


@pytest.mark.parametrize(
    "changes",
    [
        ("raw_log", "attribute_week", changed(0, "2026-W40"), "rows of the source"),
        ("threads", "attribute_week", changed(0, None), "rows of the source"),
        ("clusters", "attribute_week", changed(0, ["2026-W11"]), "attributes of its rows"),
        ("clusters", "attribute_shop", changed(0, []), "attributes of its rows"),
        ("anonymized_threads", "week", changed(0, []), "share every list"),
        ("anonymized_threads", "week", changed(0, None), "null"),
        ("anonymized_threads", "week", changed(0, ["2026-W10", None]), "values of attributes"),
        ("anonymized_threads", "week", lambda v: [["2026-W12"]] * len(v), "min_owners"),
        ("anonymized_threads", "week", lambda v: [["2026-W10"] * 2] * len(v), "values of"),
        ("anonymized_threads", "shop", lambda v: [["straw"]] * len(v), "min_owners"),
        ("anonymized_threads", "shop", lambda v: [["x\x1f"]] * len(v), "values of attributes"),
    ],
)
@pytest.mark.parametrize("form", ["queries", "sets"])
def test_changed_stage_is_refused(tmp_path, form, changes):
    stage, name, change, message = changes
    params = replace(PARAMS, format=form)
    paths = stages_of(tmp_path / "s", params)
    change_column(paths, stage, name, change)
    with pytest.raises(NotAnonymousError, match=message.replace("list", "list|every set")):
        published(paths, tmp_path / "out", params)
    assert not list((tmp_path / "out" / "releases").iterdir())


def test_column_that_is_not_declared_is_not_published(tmp_path):
    paths = stages_of(tmp_path / "s")
    spec = {"attributes": ("week",), "parameters": {"attributes": "week"}}
    rows = published(paths, tmp_path / "out", **spec)
    file = parquet.read_table(rows.folder / "threads.parquet")
    assert file.column_names == ["thread_id", "position", "query", "week"]


def test_certificate_must_state_the_verified_attributes(tmp_path):
    paths = stages_of(tmp_path / "s")
    with pytest.raises(InvalidParameterError, match="attributes"):
        published(paths, tmp_path / "out", parameters={"attributes": "week"})
    with pytest.raises(InvalidParameterError, match="attributes"):
        published(paths, tmp_path / "out", attributes=())


def many_rows():
    queries = ["pine straw", "pine straw mulch", "copper kettle", "kettle", "garden hose"]
    return [
        (f"user{n % 61}", 1 + n * 7 % 20, queries[n * n % 5], f"s{n % 7}.com", f"shop {n % 5}")
        for n in range(400)
    ]


def rows_of(result):
    return result.threads.read_all().sort_by([("thread", "ascending"), ("position", "ascending")])


def test_streams_of_an_engine_give_the_tables(tmp_path):
    path = write_log(tmp_path, many_rows())
    raw = read_source(Source(str(path)), attributes=PARAMS.attributes).accepted.to_arrow_table()
    parquet.write_table(raw, tmp_path / "raw.parquet")
    threads = threads_table(raw, PARAMS)
    with EmbeddedEngine(tmp_path, workers=2, memory_limit="500MB", min_parallel_rows=1) as engine:
        stream = threads_stream(engine, engine.read(str(tmp_path / "raw.parquet")), PARAMS)
        engine.write(stream, str(tmp_path / "threads.parquet"))
        stored = engine.read(str(tmp_path / "threads.parquet"))
        engine.write(clusters_stream(engine, stored, PARAMS), str(tmp_path / "clusters.parquet"))
    assert parquet.read_table(tmp_path / "threads.parquet").to_pylist() == threads.to_pylist()
    clusters = parquet.read_table(tmp_path / "clusters.parquet")
    assert clusters.to_pylist() == clusters_table(threads, PARAMS).to_pylist()


@pytest.mark.parametrize("form", ["queries", "sets"])
def test_release_of_the_core_has_the_same_rows(tmp_path, form):
    params = replace(PARAMS, format=form)
    path = write_log(tmp_path, many_rows())
    raw = read_source(Source(str(path)), attributes=params.attributes).accepted.to_arrow_table()
    result = anonymize_clusters(clusters_table(threads_table(raw, params), params), params)
    table = {
        "user": raw["user"].to_pylist(),
        "time": raw["time"].to_pylist(),
        "query": raw["query"].to_pylist(),
        "week": raw["attribute_week"].to_pylist(),
        "shop": raw["attribute_shop"].to_pylist(),
    }
    core = anonymize_log(table, 3, format=form, attributes=["week", "shop"], secret=SECRET)
    staged = result.threads.read_all().to_pylist()
    content = {"queries": "query", "sets": "keywords"}[form]

    def contents(rows):
        return sorted(str((row[content], row["week"], row["shop"])) for row in rows)

    shown = core.release.to_arrow().to_pylist()
    assert contents(shown) == contents(staged)
    total = result.cost().to_pylist()[-1]
    assert [(each.total, each.additions, each.deletions) for each in core.cost.attributes] == [
        tuple(total[f"attribute_{name}_{count}"] for count in ("total", "additions", "deletions"))
        for name in ("week", "shop")
    ]


def test_threads_in_files_give_the_same_rows_as_threads_in_memory(tmp_path, monkeypatch):
    path = write_log(tmp_path, many_rows())
    raw = read_source(Source(str(path)), attributes=PARAMS.attributes).accepted.to_arrow_table()
    clusters = clusters_table(threads_table(raw, PARAMS), PARAMS)
    monkeypatch.setattr(plan, "PLACE", 50)
    expected = anonymize_clusters(clusters, PARAMS)
    rows, cost = rows_of(expected), expected.cost()
    monkeypatch.setattr(load_threads, "BATCH_THREADS", 40)
    monkeypatch.setattr(parts, "RECORDS_AT_ONCE", 60)
    (tmp_path / "columns").mkdir()
    large = anonymize_clusters(clusters, PARAMS, tmp_path / "columns")
    assert rows_of(large) == rows
    assert large.cost() == cost


def test_sweep_prints_the_share_of_values(tmp_path):
    result = call(
        "sweep", write_log(tmp_path), "--k", "3,4", "--attributes", "week,site=host:click"
    )
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()[-3:]
    assert header.split()[-2:] == ["week", "site"]
    assert lines[0].split()[-2:] == ["100.0%", "100.0%"]
    assert lines[1].split()[-2] == "45.5%"


def test_file_without_attributes_needs_none(tmp_path):
    params = ReleaseParams(3, secret=SECRET)
    release = published(stages_of(tmp_path / "s", params), tmp_path / "out", params)
    assert verify_file(release.folder / "threads.parquet", 3).ok
    certificate = json.loads((release.folder / "certificate.json").read_text())
    assert "attributes" not in certificate["cost"] | certificate["verdict"]
    assert "malformed_values" not in certificate["verdict"]


def test_command_publishes_attributes_and_reports_them(tmp_path):
    log = write_log(tmp_path)
    options = ["--k", 3, "--out", tmp_path / "out", "--attributes", "day,site=host:click"]
    result = call("release", log, *options, "--timezone", "Asia/Tokyo")
    assert result.exit_code == 0, result.output
    assert "site         100.0% of 7 values retained, 0 added, 0 deleted" in result.stdout
    [report] = (tmp_path / "out" / "private").glob("log-*/report.html")
    page = report.read_text()
    assert "Deletions of values of site" in page
    assert "The same users share the values of day, site of each published thread." in page
    assert "Refused" not in page
    latest = tmp_path / "out" / "releases" / "log" / "latest"
    # Times without an offset are those of a clock in the zone.
    days = parquet.read_table(latest / "threads.parquet")["day"].to_pylist()
    assert sorted(map(str, days)) == ["['2026-03-02']"] * 3 + ["['2026-03-09']"] * 8
    file = latest / "threads.parquet"
    assert call("verify", file, "--k", 3, "--attributes", "day,site").exit_code == 0
    assert call("verify", file, "--k", 3).exit_code == 1
    assert call("verify", latest).exit_code == 0
