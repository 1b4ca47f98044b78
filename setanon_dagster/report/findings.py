"""What the attacks find in a release, the worst first: lines of the first page of a report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from setanon_dagster.report.model import Report
from setanon_dagster.report.terms import nouns
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure

MAIN_FIGURES: Final[Mapping[str, Mapping[str, str]]] = {
    "Uniqueness": {
        "of fewer than k users": "{Threads} with a {list} of fewer than {k} {people}",
    },
    "Partial knowledge": {
        "by any knowledge of one thread": "{People} with fewer than {k} candidates, "
        "by what is known of one {thread}",
        "of all threads": "{People} singled out, if all their {threads} were linked",
    },
    "Homogeneity": {
        "true for their thread": "Published {keywords} that are true of their {thread}",
    },
    "Combinations": {
        "by fewer than k users": "Sets that fewer than {k} {people} have whole",
    },
    "Stitching": {
        "found among many": "{Threads} of one user linked correctly, among many others",
    },
    "Differencing": {
        "have a keyword of the person": "Sets that grow when a person is added to the source, "
        "and show a {keyword} of theirs",
    },
    "Attacker's accounts": {
        "true guesses": "True guesses confirmed by an attacker with {fewer} accounts",
    },
}
"""For each attack the end, or a part, of the names of its main figures, and their plain words."""

NOT_RUN: Final[Mapping[str, str]] = {
    "Stitching": "linking the threads of one user",
    "Differencing": "comparing releases with and without one person",
    "Attacker's accounts": "accounts of an attacker in the source",
}
"""Attacks that only a full report, or `setanon attack --full`, may have."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The main figure of an attack, in plain words."""

    attack: str
    words: str
    figure: RiskFigure

    @property
    def line(self) -> tuple[str, str]:
        """The words, and the value for this release."""
        return self.words, self.figure.cells[1]


def findings(report: Report) -> list[Finding]:
    """The main figures of all attacks; the largest share first."""
    found = [each for result in report.risk for each in _main_figures(report, result)]
    return sorted(found, key=lambda each: -each.figure.release)


def worst_first(report: Report) -> list[AttackResult]:
    """The attacks in the order of their largest main figures; others last."""
    order = list(dict.fromkeys(each.attack for each in findings(report)))
    return sorted(
        report.risk, key=lambda each: order.index(each.name) if each.name in order else len(order)
    )


def not_run(report: Report) -> list[str]:
    """Descriptions of the attacks that this report lacks."""
    run = {each.name for each in report.risk}
    return [words for name, words in NOT_RUN.items() if name not in run]


def _main_figures(report: Report, result: AttackResult) -> Iterator[Finding]:
    words = nouns(report)
    names = {
        "k": report.k,
        "fewer": report.k - 1,
        "people": words.people,
        "People": words.people.capitalize(),
        "threads": words.threads,
        "Threads": words.threads.capitalize(),
        "thread": words.threads.removesuffix("s"),
        "keywords": words.keywords,
        "keyword": words.keywords.removesuffix("s"),
        "list": words.lists.removesuffix("s"),
    }
    for part, text in MAIN_FIGURES.get(result.name, {}).items():
        figures = [each for each in result.figures if part in each.name and isfinite(each.release)]
        if figures:
            worst = max(figures, key=lambda each: each.release)
            yield Finding(result.name, text.format(**names), worst)
