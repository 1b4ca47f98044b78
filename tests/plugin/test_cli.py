"""The command line as people use it: what it publishes, what it says, how it exits."""

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
from support.terminal import ROWS, WORDS, call, silent, text, write_log

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from setanon_dagster import assets
from setanon_dagster.cli import main

ROOT = Path(__file__).parents[2]
QUERIES = [("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")]
SETS = [("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")]


def columns(path):
    with duckdb.connect() as connection:
        shape = connection.read_parquet(str(path))
        return list(zip(shape.columns, map(str, shape.types), strict=True))


def named(folder):
    return [write_log(folder)]


def unnamed(folder):
    path = folder / "log.tsv"
    path.write_text(text(ROWS))
    return [path, "--no-header", "--format", "sets"]


def packed_and_renamed(folder):
    path = folder / "log.csv.gz"
    path.write_bytes(gzip.compress(text([("Who", "When", "What"), *ROWS], ";").encode()))
    return [path, "--delimiter", ";", "--user-column", 0, "--time-column", "When",
            "--query-column", "what", "--header"]  # fmt: skip


def parquet_file(folder):
    path = folder / "log.parquet"
    users, times, queries = zip(*ROWS, strict=True)
    parquet.write_table(pa.table({"user": users, "time": times, "query": queries}), path)
    return [path]


def lines(folder):
    path = folder / "baskets.txt"
    path.write_text(text([(f"kestrel{n}", "glimmerwick", "thornbury") for n in range(4)]))
    return [path, "--kind", "baskets", "--layout", "lines", "--with-user", "--delimiter", r"\t"]


def pairs(folder):
    path = folder / "baskets.csv"
    bought = [(str(n), word) for n in range(4) for word in WORDS[:2]]
    path.write_text(text([("record", "item"), *bought], ","))
    return [path, "--kind", "baskets", "--name", "shop"]


@pytest.mark.parametrize(
    ("source", "shape", "published", "name"),
    [
        (named, QUERIES, 10, "log"),
        (unnamed, SETS, 10, "log"),
        (packed_and_renamed, QUERIES, 10, "log"),
        (parquet_file, QUERIES, 10, "log"),
        (lines, SETS, 4, "baskets"),
        (pairs, SETS, 4, "shop"),
    ],
)
def test_a_release_has_these_columns_and_no_others(tmp_path, source, shape, published, name):
    out = tmp_path / "out"
    result = call("release", *source(tmp_path), "--k", 3, "--out", out)
    assert result.exit_code == 0, result.output
    latest = out / "releases" / "latest"
    assert columns(latest / "threads.parquet") == shape
    assert latest.resolve().name.startswith(f"{name}-")
    assert f"{published} of them published" in result.stdout
    assert str(latest.resolve()) in result.stdout
    ledger = out / "private" / latest.resolve().name / "ledger.parquet"
    assert call("verify", latest, "--k", 3, "--ledger", ledger).exit_code == 0


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SETANON_SECRET", "made up for this test")
        assert call("release", *named(folder), "--k", 3, "--out", folder / "out").exit_code == 0
    return folder / "out"


def latest(out):
    return (out / "releases" / "latest").readlink()


def test_the_summary_tells_the_cost_and_each_stage_has_a_line(tmp_path):
    result = call("release", *named(tmp_path), "--k", 3, "--out", tmp_path / "out")
    told = dict(line.split(maxsplit=1) for line in result.stdout.splitlines() if line[:2] == "  ")
    assert told["users"] == "6"
    assert told["threads"] == "11, 10 of them published"
    assert told["groups"] == "2, the smallest of 5 users"
    costs = ("additions", "deletions", "withdrawals", "respellings")
    assert [told[name] for name in costs] == ["0", "1", "1", "0"]
    assert told["retained"] == "95.2% of 21 keywords"
    assert told["factor"] == "at most 1.000 times the least possible cost"
    stages = [line.split()[0] for line in result.stderr.splitlines() if line[:1] != " "]
    assert stages == ["raw_log", "threads", "clusters", "anonymized_threads", "release"]


def test_lines_that_were_set_aside_are_counted(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text(text([("user", "time", "query"), *ROWS, ("kestrel9", "soon", "quxxolot")]))
    result = call("release", path, "--k", 3, "--out", tmp_path / "out")
    assert "1 lines (time unreadable 1)" in result.stdout


def test_a_refused_release_exits_1_and_leaves_the_latest(out):
    before = latest(out)
    result = call("release", out.parent / "log.tsv", "--k", 7, "--out", out)
    assert result.exit_code == 1
    assert "Error: k = 7 must leave something to publish; 11 threads were" in result.stderr
    assert latest(out) == before
    assert "published, " not in result.stdout


def test_a_broken_check_exits_1_by_its_name(out, monkeypatch):
    made = assets.anonymize_clusters

    def exposing(clusters, params, *_):
        found = made(clusters, params)
        kept = found.threads.read_all().slice(4)
        words = pa.compute.if_else(pa.array([True] + [False] * (len(kept) - 1)), "quxxolot",
                                   kept["query"])  # fmt: skip
        place = kept.column_names.index("query")
        return replace(found, threads=kept.set_column(place, "query", words))

    before = latest(out)
    monkeypatch.setattr(assets, "anonymize_clusters", exposing)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    assert "Error: All checks must pass; every_set_has_k_users" in result.stderr
    assert latest(out) == before


def test_an_error_that_is_not_ours_exits_1_and_its_text_is_withheld(out, monkeypatch):
    def broken(*_):
        raise ValueError(*WORDS)

    monkeypatch.setattr(assets, "anonymize_clusters", broken)
    result = call("release", out.parent / "log.tsv", "--k", 3, "--out", out)
    assert result.exit_code == 1
    assert "ValueError was raised" in result.stderr
    monkeypatch.setattr(main, "verify_file", broken)
    result = call("verify", out / "releases" / "latest", "--k", 3)
    assert result.exit_code == 1
    assert "ValueError was raised in broken" in result.stderr


@pytest.mark.parametrize("path", ["releases/latest", "releases/latest/threads.parquet"])
def test_what_was_published_is_verified(out, path):
    result = call("verify", out / path, "--k", 5)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "groups       2, the smallest of 5 threads" in result.stdout
    result = call("verify", out / path, "--k", 6)
    assert result.exit_code == 1
    assert "violations   10 threads in 2 groups" in result.stdout
    assert "every set must be that of k = 6 users; 2 are not" in result.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.slice(1), "the ledger must have published threads only; 1 are not"),
        (lambda table: table.append_column("user", table["query"]), "columns must be"),
        (lambda table: table.slice(0, 0), "the ledger must have published threads only"),
        (lambda table: pa.concat_tables([table, table]), "rows must ascend"),
    ],
)
def test_what_was_changed_is_not(out, tmp_path, change, said):
    path = tmp_path / "threads.parquet"
    parquet.write_table(change(parquet.read_table(out / "releases/latest/threads.parquet")), path)
    ledger = out / "private" / latest(out).name / "ledger.parquet"
    result = call("verify", path, "--k", 3, "--ledger", ledger)
    assert result.exit_code == 1
    assert said in result.stderr


def test_an_empty_file_is_no_release(out, tmp_path):
    path = tmp_path / "threads.parquet"
    parquet.write_table(parquet.read_table(out / "releases/latest/threads.parquet")[:0], path)
    assert call("verify", path, "--k", 3).exit_code == 1


@pytest.mark.parametrize(
    "command", [["--help"], ["release", "--help"], ["verify", "@", "--k", "3"]]
)
def test_help_and_verify_load_nothing_that_is_slow(out, command):
    arguments = [str(out / "releases" / "latest") if each == "@" else each for each in command]
    heavy = ["dagster", "great_expectations", "pandas", "scipy.optimize", "matplotlib"]
    script = (
        "import sys; from setanon_dagster.cli.main import main\n"
        f"try: main({arguments!r})\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr.strip()) == (0, "[]"), "import it where it is used"


def test_version_and_errors_of_a_real_process(tmp_path):
    def run(*arguments):
        return subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "setanon_dagster.cli.main", *map(str, arguments)], cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    assert run("--version").stdout.startswith("setanon, version ")
    ran = run("release", *named(tmp_path), "--k", 3, "--out", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert silent(ran.stdout + ran.stderr)
    # Dagster's own log, and warnings of whoever, are not for this terminal.
    assert len(ran.stderr.splitlines()) == 9
    assert run("release", tmp_path / "log.tsv", "--k", 3).returncode == 2
