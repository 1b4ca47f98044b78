"""A small report, stage files of a small release, and a parser of pages."""

from dataclasses import replace
from html.parser import HTMLParser

import pyarrow as pa
from pyarrow import parquet

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
from setanon_dagster.risk.attack_result import AttackResult, RiskFigure

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
    risk=(
        AttackResult(
            "Uniqueness",
            "Share of the published threads whose list few users share.",
            "No published thread has a list that fewer than k = 3 users have.",
            (RiskFigure("list of one user", 0.75, 0.0), RiskFigure("AUC", 0.6, 0.5, unit="score")),
        ),
    ),
    utility=(UtilityMeasure("Top words", "Share of the frequent words.", 1.0, 0.9, 0.5, 100),),
)

THREADS = (
    ShownThread(((Word("pine", "kept"), Word("ashby", "deleted"), Word("mulch", "added")),)),
    ShownThread(((Word("quimsby", "deleted"),),), withdrawn=True),
)


def certified(report=SMALL, **changes):
    """The report with these changes of its certificate."""
    return replace(report, certificate={**report.certificate, **changes})


TYPED = {
    0: ("ann", "pine straw ashby"), 1: ("bob", "pine straw ashby"), 2: ("cem", "pine straw mulch"),
    3: ("ann", "garden hose"), 4: ("bob", "garden"), 5: ("dan", "hose garden"),
    6: ("gil", "xylotrope quimsby"), 7: ("hal", "pine garden hose straw quay"),
    8: ("ann", "pine straw ashby"),
}  # fmt: skip
"""User and query of each thread of a small release."""

CENTERS = {0: "pine straw", 1: "garden hose"}
GROUPS = {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 8: 0}
"""Group of each thread: ann is in the first twice, bob lacks a hose; 6 and 7 are withdrawn."""

ROUNDS = [("star", 3, 9, 4), ("reassign", 1, 9, 2), ("total", 1, 11, 2)]


def write_stages(folder):
    """Write the stage files of the small release; return their paths by stage."""
    tables = {
        "clusters": [
            {"thread": thread, "user": user, "words": text.split(), "lengths": [len(text.split())],
             "items": sorted(set(text.split()))}
            for thread, (user, text) in TYPED.items()
        ],
        "ledger": [
            {"thread": thread, "user": TYPED[thread][0]}
            for thread in GROUPS
        ],
        "anonymized_threads": [
            {"thread": thread, "group": group, "position": 0, "query": CENTERS[group]}
            for thread, group in GROUPS.items()
        ],
        "cost_report": [
            {"k": k, "method": method, "round": name, "additions": a, "deletions": d,
             "withdrawals": w}
            for k, method in ((3, "best"), (3, "paper"), (4, "best"))
            for name, a, d, w in ROUNDS
        ],
    }  # fmt: skip
    for stage, rows in tables.items():
        parquet.write_table(pa.Table.from_pylist(rows), folder / f"{stage}.parquet")
    return {stage: folder / f"{stage}.parquet" for stage in tables}


def stage_certificate(**changes):
    """Certificate of the small release."""
    cost = {**COST, "additions": 1, "deletions": 11, "threads": 9, "keywords": 24}
    return certified(cost=cost, **changes).certificate


class Page(HTMLParser):
    """Elements of a page with their attributes, and its text by element name."""

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

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self):
        return " ".join("".join("".join(texts) for texts in self.texts.values()).split())
