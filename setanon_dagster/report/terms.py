"""Terms of a report: nouns by the kind of its source, and definitions for readers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from setanon_dagster.report.model import Report


@dataclass(frozen=True, slots=True)
class Nouns:
    """What the first page counts, in the plural."""

    people: str
    """Those who are counted up to k."""

    rows: str
    threads: str
    keywords: str
    lists: str
    """All that is published of a thread: its list of queries, or its set."""


THREADS: Final[Mapping[str, str]] = {
    "thread": "the queries of one user on one topic",
    "session": "all queries of one user",
    "query": "one query of one user",
}
"""What a thread is, by the parameter `unit`."""


def is_log(report: Report) -> bool:
    """Whether the source is a log of queries, which has times; otherwise it has baskets."""
    has_times = report.facts is not None and report.facts.first is not None
    return has_times or report.certificate["format"] != "sets"


def nouns(report: Report) -> Nouns:
    """The nouns of a log, or of baskets."""
    people = "records" if report.certificate["unit"] == "record" else "people"
    if not is_log(report):
        return Nouns(people, "items", "records", "items", "sets")
    lists = "sets" if report.certificate["format"] == "sets" else "lists"
    return Nouns(people, "queries", "threads", "keywords", lists)


def definitions(report: Report) -> Iterator[tuple[str, str]]:
    """Terms of the report and their meanings."""
    k, unit = report.k, report.certificate["unit"]
    if is_log(report):
        yield "thread", THREADS[report.certificate["parameters"].get("unit", "thread")]
        yield "keyword", "a word of a query"
        yield "list", "the queries of a thread, in their order"
        yield "set", "the keywords of a thread, without order and repetition"
    else:
        yield "thread", "one record of the source, such as a basket"
        yield "keyword", "an item of a record"
        yield "set", "the items of a record"
    if unit == "record":
        yield "user", "a record: the source does not say whose records they are"
    yield "group", f"threads that are published with the same set, of at least {k} {unit}s"
    yield "withdrawn", "not published"
    yield "ledger", "the private file with the user of each published thread"
    if report.sweep or report.utility:
        yield "paper's method", "that of Motwani and Nabar, for comparison; it is not published"
