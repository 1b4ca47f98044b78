"""Lines and tables of the first page of a report: what somebody needs for a decision."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Final

from setanon_dagster.report.earlier_figures import decision_figures
from setanon_dagster.report.model import Report
from setanon_dagster.report.personal_words import KINDS, RARE, PersonalWords
from setanon_dagster.report.release_facts import (
    ReleaseFacts,
    lists_of_exactly,
    mean_chance_of_lists,
    mean_chance_of_people,
    worst_chance,
)
from setanon_dagster.report.tables import NONE, UNKNOWN, Table, count, percentage, share

Line = tuple[str, str]

FIRST_PAGE_WORDS: Final = 6
"""Words of each kind on the first page."""

MAX_SOURCE: Final = 80
"""Characters of the name of the source: the end of a long path is shown."""

COMPARED: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("k", "k", count),
    ("people", "people in the source", count),
    ("rows", "queries of the source", count),
    ("published_people", "people in the release", share),
    ("published_threads", "published threads", count),
    ("withdrawn", "threads withdrawn", share),
    ("retained", "keywords retained", share),
    ("chance_of_people", "average chance, over people", share),
)
"""Figures that are compared with the earlier release: key, name, and how it is written."""


def listed(report: Report) -> str:
    """What users share: lists of queries, or sets."""
    return "set" if report.certificate["format"] == "sets" else "list"


def people(report: Report) -> str:
    """Who is counted up to k."""
    return "records" if report.certificate["unit"] == "record" else "people"


def chance(value: float) -> str:
    """A chance as a percentage, rounded up: the shown chance is never too small.

    >>> chance(1 / 3)
    '33.4%'
    """
    return f"{ceil(1000 * value - 1e-9) / 10:.1f}%"


def data_lines(report: Report) -> Iterator[Line]:
    """What was read: source, period, people, rows, lines set aside, encoding."""
    facts, who = report.facts, people(report)
    if facts is None:
        return
    is_log = facts.first is not None or report.certificate["format"] != "sets"
    yield (
        "Source",
        facts.source if len(facts.source) <= MAX_SOURCE else f"…{facts.source[-MAX_SOURCE:]}",
    )
    yield (
        "Period",
        f"{facts.first:%Y-%m-%d %H:%M} to {facts.last:%Y-%m-%d %H:%M}"
        if facts.first
        else "no times",
    )
    yield who.capitalize(), count(facts.people)
    yield ("Queries" if is_log else "Items in all records"), count(facts.rows)
    yield "Lines set aside", _set_aside(facts)
    encodings = () if facts.counts is None else facts.counts.encodings
    yield "Encoding", ", ".join(encodings) or "not a text file, or not recorded"


def _set_aside(facts: ReleaseFacts) -> str:
    counts = facts.counts
    if counts is None:
        return UNKNOWN
    reasons = ", ".join(
        f"{name} {count(n)}" for name, n in sorted(counts.rejected_by_reason.items()) if n
    )
    text = f"{count(counts.rejected)} of {count(counts.lines)}" + (
        f" ({reasons})" if reasons else ""
    )
    if counts.outside:
        text += f"; {count(counts.outside)} outside the period"
    return text


def risk_lines(report: Report) -> Iterator[Line]:
    """How likely a reader who knows a published list guesses whose it is."""
    facts, who, what = report.facts, people(report), listed(report)
    if facts is None:
        return
    sharing = facts.sharing
    least = min((each.users for each in sharing), default=0)
    lists = sum(each.lists for each in sharing)
    exactly = lists_of_exactly(sharing, report.k)
    yield "Worst case", f"1 in {count(least)} ({chance(worst_chance(sharing))})"
    yield f"Average over {what}s", chance(mean_chance_of_lists(sharing))
    yield f"Average over {who}", chance(mean_chance_of_people(sharing))
    yield (
        f"{what.capitalize()}s of exactly {report.k} {who}",
        f"{count(exactly)} of {count(lists)} ({percentage(exactly, lists)})",
    )
    yield (
        f"{who.capitalize()} in the release",
        (
            f"{count(facts.published_people)} of {count(facts.people)} "
            f"({percentage(facts.published_people, facts.people)})"
        ),
    )


def loss_lines(report: Report) -> Iterator[Line]:
    """What the release lacks, compared with the source."""
    cost, facts = report.cost, report.facts
    yield "Keywords retained", f"{share(cost['retained'])} of {count(cost['keywords'])}"
    yield (
        "Threads withdrawn",
        (
            f"{count(cost['withdrawals'])} of {count(cost['threads'])} "
            f"({percentage(cost['withdrawals'], cost['threads'])})"
        ),
    )
    if facts is not None and report.certificate["format"] != "sets":
        yield (
            "Query rows that stay",
            (
                f"{count(facts.published_rows)} of {count(facts.rows)} "
                f"({percentage(facts.published_rows, facts.rows)})"
            ),
        )


def comparison_table(report: Report) -> Table:
    """Figures of the earlier release and of this one."""
    old = {} if report.earlier is None else report.earlier.figures
    new = decision_figures(report.certificate, report.facts)
    return Table(
        "Figures of both releases",
        ("", "earlier", "this"),
        tuple(
            (name, *(write(side[key]) if key in side else NONE for side in (old, new)))
            for key, name, write in COMPARED
        ),
    )


def personal_lines(report: Report) -> Iterator[tuple[PersonalWords, str, str]]:
    """Per kind of personal-looking word: the words, their name and number, and the rarest."""
    for each in () if report.personal is None else report.personal.words:
        if each.kind == "name" and not report.personal.capitalized:  # type: ignore[union-attr]
            yield each, KINDS["name"], UNKNOWN
        else:
            yield each, KINDS[each.kind], count(each.count)


def personal_limits(report: Report) -> str:
    """What the search for personal-looking words cannot see."""
    search = report.personal
    if search is None:
        return (
            "Not looked for: the source is too large for a plain report. A full report looks for "
            "them."
        )
    if search.capitalized is None:
        return "Names are not looked for: baskets have no queries."
    if not search.capitalized:
        return "The source has no capital letters, so names cannot be recognized."
    return (
        f"{share(search.capitalized)} of the queries have a capital letter; names in other queries "
        f"cannot be recognized. Rare: fewer than {RARE * report.k} {people(report)}."
    )
