"""Findings of the attacks: plain words for every attack, the worst first, and those not run."""

from dataclasses import replace
from math import nan

import pytest
from support.release_runs import ROWS, release_config, write_log
from support.reports import SMALL

from setanon_dagster.cli.attack import attack_source
from setanon_dagster.report.findings import MAIN_FIGURES, findings, not_run, worst_first
from setanon_dagster.report.tables import risk_table
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure


def attack(name, *figures):
    return AttackResult(name, "How.", "Found.", figures)


SETS = attack(
    "Combinations",
    RiskFigure("sets typed whole by one user", 0.9, 0.01),
    RiskFigure("sets typed whole by fewer than k users", 0.9, 0.2),
)
KNOWLEDGE = attack(
    "Partial knowledge",
    RiskFigure("1 random keyword of one thread", 0.6, 0.0),
    RiskFigure("2 random keywords of all threads", 0.7, 0.05),
    RiskFigure("4 random keywords of all threads", 0.7, 0.3),
    RiskFigure("1 to k - 1 candidates, by any knowledge of one thread", 0.9, 0.0),
)
LINKS = attack("Stitching", RiskFigure("threads found among many", nan, nan))
UNKNOWN = attack("Of a later version", RiskFigure("share", 1.0, 1.0))
REPORT = replace(SMALL, risk=(UNKNOWN, LINKS, SETS, KNOWLEDGE))


def test_largest_share_is_first():
    assert [each.line for each in findings(REPORT)] == [
        ("People singled out, if all their threads were linked", "30.0%"),
        ("Sets that fewer than 3 people have whole", "20.0%"),
        ("People with fewer than 3 candidates, by what is known of one thread", "0.0%"),
    ]
    assert [each.name for each in worst_first(REPORT)] == [
        "Partial knowledge", "Combinations", "Of a later version", "Stitching",
    ]  # fmt: skip
    assert [row[0] for row in risk_table(REPORT, KNOWLEDGE).rows][:2] == [
        "4 random keywords of all threads", "2 random keywords of all threads",
    ]  # fmt: skip


def test_scores_keep_their_order():
    scores = attack("Stitching", RiskFigure("AUC", 0.5, 0.5, unit="score"), RiskFigure("x", 1, 1))
    assert [row[0] for row in risk_table(REPORT, scores).rows] == ["AUC", "x"]


def test_figure_that_does_not_apply_is_last():
    figures = RiskFigure("a", 1.0, nan), RiskFigure("b", 0.0, 0.0), RiskFigure("c", 0.0, 0.5)
    assert [row[0] for row in risk_table(REPORT, attack("x", *figures)).rows] == ["c", "b", "a"]


def test_attacks_that_were_not_run_are_named():
    assert not_run(REPORT) == [
        "comparing releases with and without one person", "accounts of an attacker in the source",
    ]  # fmt: skip
    assert len(not_run(replace(SMALL, risk=()))) == 3


@pytest.mark.parametrize(
    ("value", "cell"),
    [(0.0, "0.0%"), (1e-6, "<0.1%"), (0.00099, "<0.1%"), (0.001, "0.1%"), (0.0625, "6.2%")],
)
def test_small_share_is_not_rounded_to_none(value, cell):
    assert RiskFigure("share", nan, value).cells == ("-", cell, "-")


def test_every_attack_has_main_figures_in_plain_words(tmp_path):
    config = release_config(tmp_path)
    write_log(tmp_path / "log.tsv", ROWS)
    results = tuple(attack_source(config, full=True))
    assert [each.name for each in results] == list(MAIN_FIGURES)
    for result in results:
        for part in MAIN_FIGURES[result.name]:
            assert any(part in each.name for each in result.figures), (result.name, part)
    found = findings(replace(SMALL, risk=results))
    assert {each.attack for each in found} == MAIN_FIGURES.keys() - {"Stitching"}  # too few users
    assert not any("{" in each.words for each in found)
    assert not_run(replace(SMALL, risk=results)) == []
