"""A small report, made up, and pages taken apart."""

from dataclasses import replace
from html.parser import HTMLParser

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.report.model import (
    GroupSize,
    Losses,
    Report,
    RoundCost,
    ShownThread,
    SweepPoint,
    Word,
)

VERDICT = {
    "k": 3, "records": 90, "groups": 20, "smallest_group": 3, "violations": 0,
    "violating_groups": 0, "rare_keywords": 0,
}  # fmt: skip
COST = {
    "threads": 100, "keywords": 400, "additions": 5, "deletions": 95, "withdrawals": 10,
    "respellings": 2, "lower_bound": 80, "factor": 1.25, "retained": 0.75,
}  # fmt: skip
CERTIFICATE = {
    "schema": 1, "unit": "user", "k": 3, "min_owners": 3, "format": "queries",
    "sha256": {"threads.parquet": "0" * 64},
    "parameters": {"k": 3, "method": "best", "grouper": None},
    "cost": COST, "verdict": VERDICT, "versions": {"setanon": "1.2.3", "duckdb": "2.0.0"},
}  # fmt: skip
LOSSES = Losses(
    rare_published=40, rare_withdrawn=25, other_withdrawn=10, in_groups=20, added=5,
    threads_all_rare=8, threads_too_costly=2,
)  # fmt: skip


def point(k, method, retained, upper_bound=0.9):
    return SweepPoint(
        k=k, method=method, retained=retained, additions=1, deletions=2, withdrawals=3,
        upper_bound=upper_bound,
    )  # fmt: skip


SMALL = Report(
    name="trial-0123456789ab",
    certificate=CERTIFICATE,
    rounds=(RoundCost("open_itemsets", 6, 100, 12), RoundCost("local_search", 5, 95, 10)),
    sizes=(GroupSize(3, 12, 36), GroupSize(4, 5, 22), GroupSize(7, 3, 32)),
    losses=LOSSES,
    sweep=(point(2, "best", 0.8), point(3, "best", 0.75), point(2, "paper", 0.6)),
    utility=(UtilityMeasure("Top words", "Share of the frequent words.", 1.0, 0.9, 0.5, 100),),
)

THREADS = (
    ShownThread(((Word("pine", "kept"), Word("ashby", "deleted"), Word("mulch", "added")),)),
    ShownThread(((Word("quimsby", "deleted"),),), withdrawn=True),
)


def certified(report=SMALL, **changes):
    """The report, with another certificate."""
    return replace(report, certificate={**report.certificate, **changes})


class Page(HTMLParser):
    """The elements of a page: names, attributes, and the text of each kind."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.texts = {}
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def said(self):
        return " ".join("".join("".join(texts) for texts in self.texts.values()).split())
