"""The command `release`: what it publishes, what it prints, and its exit codes."""

import errno
import gzip
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.terminal import ROWS, WORDS, call, has_no_data, text, write_log

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from setanon_core.errors import InvalidParameterError
from setanon_dagster import assets, checks
from setanon_dagster.cli import main, verify
from setanon_dagster.sources.read import read_source

ROOT = Path(__file__).parents[2]
QUERIES = [("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")]
SETS = [("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")]


def columns(path):
    with duckdb.connect() as connection:
        relation = connection.read_parquet(str(path))
        return list(zip(relation.columns, map(str, relation.types), strict=True))


def tsv_with_header(folder):
    return [write_log(folder)]


def tsv_without_header(folder):
    path = folder / "log.tsv"
    path.write_text(text(ROWS))
    return [path, "--no-header", "--format", "sets"]


def gzip_csv_with_other_columns(folder, rows=ROWS):
    path = folder / "log.csv.gz"
    path.write_bytes(gzip.compress(text([("Who", "When", "What"), *rows], ";").encode()))
    return [path, "--delimiter", ";", "--user-column", 0, "--time-column", "When",
            "--query-column", "what", "--header"]  # fmt: skip


def parquet_file(folder):
    path = folder / "log.parquet"
    users, times, queries = zip(*ROWS, strict=True)
    parquet.write_table(pa.table({"user": users, "time": times, "query": queries}), path)
    return [path]


def baskets_by_line(folder):
    path = folder / "baskets.txt"
    path.write_text(text([(f"kestrel{n}", "glimmerwick", "thornbury") for n in range(4)]))
    return [path, "--kind", "baskets", "--layout", "lines", "--with-user", "--delimiter", r"\t"]


def baskets_by_item(folder):
    path = folder / "baskets.csv"
    items = [(str(n), word) for n in range(4) for word in WORDS[:2]]
    path.write_text(text([("record", "item"), *items], ","))
    return [path, "--kind", "baskets", "--name", "shop"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (tsv_with_header, (11, "queries", "log")),
        (tsv_without_header, (11, "sets", "log")),
        (gzip_csv_with_other_columns, (11, "queries", "log")),
        (parquet_file, (11, "queries", "log")),
        (baskets_by_line, (8, "sets", "baskets")),
        (baskets_by_item, (8, "sets", "shop")),
    ],
)
def test_options_describe_the_source(tmp_path, monkeypatch, source, expected):
    configs = []
    monkeypatch.setattr(main, "_release", configs.append)
    result = call("release", *source(tmp_path), "--k", 3, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    (config,) = configs
    read = read_source(config.source)
    assert (len(read.accepted), config.format, config.name) == expected
    assert (len(read.rejected), config.k) == (0, 3)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of the small log: its folder, and the result of the command."""
    folder = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SETANON_SECRET", "made up for this test")
        result = call("release", *tsv_with_header(folder), "--k", 3, "--out", folder / "out")
    assert result.exit_code == 0, result.output
    return folder / "out", result


@pytest.fixture
def out(released):
    return released[0]


def latest(out):
    return (out / "releases" / "log" / "latest").readlink()


def test_release_of_queries_has_exactly_these_columns(released):
    out, result = released
    folder = (out / "releases" / "log" / "latest").resolve()
    assert columns(folder / "threads.parquet") == QUERIES
    assert folder.name.startswith("log-")
    assert str(folder) in result.stdout
    ledger = out / "private" / folder.name / "ledger.parquet"
    assert call("verify", folder, "--k", 3, "--ledger", ledger).exit_code == 0


def test_release_of_baskets_has_exactly_these_columns(tmp_path):
    out = tmp_path / "out"
    result = call("release", *baskets_by_line(tmp_path), "--k", 3, "--out", out)
    assert result.exit_code == 0, result.output
    folder = (out / "releases" / "baskets" / "latest").resolve()
    assert columns(folder / "threads.parquet") == SETS
    assert folder.name.startswith("baskets-")
    assert "4 of them published" in result.stdout
    ledger = out / "private" / folder.name / "ledger.parquet"
    assert call("verify", folder, "--k", 3, "--ledger", ledger).exit_code == 0


def test_summary_has_the_cost_and_each_stage_has_a_line(released):
    _, result = released
    summary = dict(
        line.split(maxsplit=1) for line in result.stdout.splitlines() if line[:2] == "  "
    )
    assert summary["users"] == "6"
    assert summary["threads"] == "11, 10 of them published"
    assert summary["groups"] == "2, the smallest of 5 users"
    costs = ("additions", "deletions", "withdrawals", "respellings")
    assert [summary[name] for name in costs] == ["0", "1", "1", "0"]
    assert summary["retained"] == "95.2% of 21 keywords"
    assert summary["factor"] == "at most 1.000 times the least possible cost"
    stages = [line.split()[0] for line in result.stderr.splitlines() if line[:1] != " "]
    assert stages == ["raw_log", "threads", "clusters", "anonymized_threads", "release"]


@pytest.mark.slow
def test_rejected_lines_are_counted_by_reason(tmp_path):
    rows = [*ROWS, ("kestrel9", "soon", "quxxolot")]
    source = gzip_csv_with_other_columns(tmp_path, rows)
    options = ["--k", 3, "--max-rejected", 0.2]
    result = call("release", *source, *options, "--out", tmp_path / "out")
    assert "1 of them rejected: time unreadable 1" in result.stdout


def test_refused_release_exits_1_and_leaves_latest_unchanged(out):
    before = latest(out)
    result = call("release", out.parent / "log.tsv", "--k", 6, "--out", out)
    assert result.exit_code == 1
    assert "Error: All checks must pass; something_is_left did not." in result.stderr
    assert "Set --k to a lower value, or add data of more users." in result.stderr
    assert latest(out) == before
    assert "published, " not in result.stdout


def test_full_disk_exits_1_with_a_sentence(out, monkeypatch):
    def disk_full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = latest(out)
    monkeypatch.setattr(os, "fsync", disk_full)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    assert "Free space, or set --out to a folder on another disk." in result.stderr
    assert "Internal error" not in result.stderr
    assert latest(out) == before


def test_k_larger_than_the_number_of_users_is_refused_when_the_source_is_read(out):
    before = latest(out)
    result = call("release", out.parent / "log.tsv", "--k", 1_000_000, "--out", out)
    assert result.exit_code == 1
    assert "got k = 1000000 for 6 users. Set a lower k" in result.stderr
    assert "clusters" not in result.stderr, "no later stage runs"
    assert latest(out) == before


def test_failed_check_exits_1_with_the_name_of_the_check(out, monkeypatch):
    anonymize_clusters = assets.anonymize_clusters

    def anonymize_wrongly(clusters, params, *_):
        result = anonymize_clusters(clusters, params)
        threads = result.threads.read_all().slice(4)
        is_first = pa.array([True] + [False] * (len(threads) - 1))
        queries = pa.compute.if_else(is_first, "quxxolot", threads["query"])
        column = threads.column_names.index("query")
        return replace(result, threads=threads.set_column(column, "query", queries))

    before = latest(out)
    monkeypatch.setattr(assets, "anonymize_clusters", anonymize_wrongly)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    assert (
        "Error: All checks must pass; every_list_has_k_users, every_set_has_k_users"
        in result.stderr
    )
    assert latest(out) == before


def test_check_that_cannot_run_exits_1_with_what_to_do(out, monkeypatch):
    def out_of_memory(*_):
        raise InvalidParameterError("memory must suffice. Set a higher memory limit.")

    before = latest(out)
    monkeypatch.setattr(checks, "validate", out_of_memory)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    assert "Error: All checks must run; every_list_has_k_users" in result.stderr
    assert "something_is_left could not or failed: memory must suffice." in result.stderr
    assert "lower value" not in result.stderr
    assert latest(out) == before


def test_internal_error_exits_1_without_its_message(out, monkeypatch):
    def broken(*_, **__):
        raise ValueError(*WORDS)

    monkeypatch.setattr(assets, "anonymize_clusters", broken)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    step = "The stage anonymized_threads failed. Internal error: ValueError in broken"
    assert step in result.stderr
    monkeypatch.setattr(verify, "verify_folder", broken)
    result = call("verify", out / "releases" / "log" / "latest", "--k", 3)
    assert result.exit_code == 1
    assert "Internal error: ValueError in broken" in result.stderr
    assert "during setanon verify (message withheld" in result.stderr


@pytest.mark.slow
def test_process_prints_nothing_of_dagster_and_sets_exit_codes(tmp_path):
    def run(*arguments):
        return subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "setanon_dagster.cli", *map(str, arguments)], cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SETANON_SECRET": "made up for a test"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run("--version").stdout.startswith("setanon, version ")
    completed = run("release", *tsv_with_header(tmp_path), "--k", 3, "--out", tmp_path / "out")
    assert completed.returncode == 0, completed.stderr
    assert has_no_data(completed.stdout + completed.stderr)
    # Dagster's log and warnings of libraries are not printed.
    assert len(completed.stderr.splitlines()) == 9
    assert run("release", tmp_path / "log.tsv", "--k", 3).returncode == 2


def test_parameters_in_errors_are_named_as_options(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("u1\t2024-01-02\tpine\n" * 9 + "u1\t02/03/2024\tpine\n")
    for command in (["sweep"], ["release", "--out", tmp_path / "out"]):
        result = call(*command, path, "--k", 2)
        assert result.exit_code == 1
        assert "at most --max-rejected = 0.01 of the lines" in result.stderr
        assert (
            "1 of 10 were (time unreadable: 1, first line 10). Set --time-format" in result.stderr
        )
    result = call("sweep", path, "--k", 2, "--max-rejected", 0.1)
    assert "lines        10 (utf-8), 1 of them rejected: time unreadable 1" in result.stderr
    path.write_text("uid\twhen\ttext\nu1\t2024-01-02\tpine\n")
    assert "Set --header, --user-column, --time-column" in call("sweep", path, "--k", 2).stderr
    assert call("sweep", path, "--k", 1).stderr.startswith("Error: --k must be at least 2")


def test_an_output_folder_that_cannot_be_written_is_refused_before_reading(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("not even a log\n")
    result = call("release", path, "--k", 2, "--out", path)
    assert result.exit_code == 2
    assert "--out must be a folder that can be created and written" in result.stderr
