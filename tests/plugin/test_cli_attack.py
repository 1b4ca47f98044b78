"""The command `attack`: figures of the attacks as text and CSV, without data."""

import csv

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.terminal import call, has_no_data, write_log

from setanon_dagster.cli.attack import HEADER, WIDTH, format_result
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure

CHEAP = ["Uniqueness", "Partial knowledge", "Homogeneity", "Combinations"]


def test_attack_prints_and_writes_the_figures_of_the_cheap_attacks(tmp_path):
    table = tmp_path / "figures.csv"
    result = call("attack", write_log(tmp_path), "--k", 3, "--csv", table)

    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == HEADER
    lines = result.stdout.splitlines()
    assert [line for line in lines if line in CHEAP] == CHEAP
    with table.open(newline="") as file:
        rows = {row["figure"]: row for row in csv.DictReader(file)}
    # One of eleven threads of the log is that of one user; the release withdraws it.
    single = rows["list of queries of one user"]
    assert float(single["raw_log"]) == pytest.approx(1 / 11)
    assert float(single["release"]) == float(single["paper"]) == 0
    assert float(rows["all queries of one thread"]["raw_log"]) == pytest.approx(1 / 6)
    assert has_no_data(table.read_text())


def test_attack_compares_with_an_earlier_release(tmp_path):
    earlier = pa.table(
        {"thread_id": ["a", "b"], "position": [0, 0], "query": ["thornbury glimmerwick"] * 2}
    )
    (tmp_path / "release").mkdir()
    parquet.write_table(earlier, tmp_path / "release" / "threads.parquet")
    result = call("attack", write_log(tmp_path), "--k", 4, "--earlier", tmp_path / "release")

    assert result.exit_code == 0, result.output
    # One set has 3 more threads, the other one 5.
    expected = "2 sets have more threads than in the earlier release; 1 of them have fewer than"
    assert expected in " ".join(result.stdout.split())


def test_attack_refuses_a_folder_without_a_release(tmp_path):
    (tmp_path / "empty").mkdir()
    result = call("attack", write_log(tmp_path), "--k", 3, "--earlier", tmp_path / "empty")

    assert result.exit_code == 1
    assert "the earlier release must be a folder with threads.parquet" in result.output


def test_lines_are_aligned_and_at_most_as_wide_as_the_header():
    figures = (RiskFigure("share", 0.5, 0.25), RiskFigure("count", 1, 12_345, 3, "count"))
    lines = list(format_result(AttackResult("Name", "Meaning.", "A sentence. " * 20, figures)))

    assert lines[0] == "\nName"
    assert [line.split() for line in lines[1:3]] == [
        ["share", "50.0%", "25.0%", "-"],
        ["count", "1", "12,345", "3"],
    ]
    assert {len(line) for line in lines[1:3]} == {len(HEADER)} == {WIDTH}
    assert max(map(len, lines)) <= WIDTH
