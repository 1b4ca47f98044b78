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
from setanon_dagster.report.terms import nouns

Line = tuple[str, str]

FIRST_PAGE_WORDS: Final = 6
"""Words of each kind on the first page."""

NOT_SOUGHT: Final = "not looked for"

MAX_SOURCE: Final = 80
"""Characters of the name of the source: the end of a long path is shown."""


def chance(value: float) -> str:
    """A chance as a percentage, rounded up: the shown chance is never too small.

    >>> chance(1 / 3)
    '33.4%'
    """
    return f"{ceil(1000 * value - 1e-9) / 10:.1f}%"


COMPARED: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("k", "k", count),
    ("chance_of_people", "average chance, over {0.people}", chance),
    ("people", "{0.people} in the source", count),
    ("rows", "{0.rows} of the source", count),
    ("published_people", "{0.people} in the release", share),
    ("published_threads", "published {0.threads}", count),
    ("withdrawn", "{0.threads} withdrawn", share),
    ("retained", "{0.keywords} retained", share),
)
"""Figures that are compared with the earlier release: key, name, and how it is written."""


def data_lines(report: Report) -> Iterator[Line]:
    """What was read: source, period, people, rows, lines set aside, encoding."""
    facts, words = report.facts, nouns(report)
    if facts is None:
        return
    if day := report.certificate.get("published"):
        yield "Verified on", day
    yield (
        "Source",
        facts.source if len(facts.source) <= MAX_SOURCE else f"…{facts.source[-MAX_SOURCE:]}",
    )
    if facts.first is None:
        yield "Times", "none"
    else:
        yield "First time", f"{facts.first:%Y-%m-%d %H:%M} UTC"
        yield "Last time", f"{facts.last:%Y-%m-%d %H:%M} UTC"
    yield words.people.capitalize(), count(facts.people)
    yield words.rows.capitalize(), count(facts.rows)
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
    facts, words = report.facts, nouns(report)
    if facts is None:
        return
    sharing, who, what = facts.sharing, words.people, words.lists
    least = min((each.users for each in sharing), default=0)
    lists = sum(each.lists for each in sharing)
    fewer = sum(each.lists for each in sharing if each.users < report.k)
    yield "Worst case", f"1 in {count(least)} ({chance(worst_chance(sharing))})"
    yield f"Average over {what}", chance(mean_chance_of_lists(sharing))
    yield f"Average over {who}", chance(mean_chance_of_people(sharing))
    if fewer:
        yield f"{what.capitalize()} of fewer than {report.k} {who}", _part(fewer, lists)
    yield (
        f"{what.capitalize()} of exactly {report.k} {who}",
        _part(lists_of_exactly(sharing, report.k), lists),
    )
    yield f"{who.capitalize()} in the release", _part(facts.published_people, facts.people)


def loss_lines(report: Report) -> Iterator[Line]:
    """What the release lacks, compared with the source."""
    cost, facts, words = report.cost, report.facts, nouns(report)
    yield (
        f"{words.keywords.capitalize()} retained",
        f"{share(cost['retained'])} of {count(cost['keywords'])}",
    )
    yield (
        f"{words.threads.capitalize()} withdrawn",
        _part(cost["withdrawals"], cost["threads"]),
    )
    if facts is not None and report.certificate["format"] != "sets":
        yield "Queries published", _part(facts.published_rows, facts.rows)


def comparison_table(report: Report) -> Table:
    """Figures of the earlier release and of this one."""
    old = {} if report.earlier is None else report.earlier.figures
    new, words = decision_figures(report.certificate, report.facts), nouns(report)
    return Table(
        "Figures of both releases",
        ("", "earlier", "this"),
        tuple(
            (
                name.format(words),
                *(write(side[key]) if key in side else NONE for side in (old, new)),
            )
            for key, name, write in COMPARED
        ),
    )


def _part(part: int, total: int) -> str:
    return f"{count(part)} of {count(total)} ({percentage(part, total)})"


def personal_lines(report: Report) -> Iterator[tuple[PersonalWords, str, str]]:
    """Per kind of personal-looking word: the words, their name and number, and the rarest."""
    search = report.personal
    for each in () if search is None else search.words:
        if each.kind == "name" and search is not None and not search.capitalized:
            yield each, KINDS["name"], NOT_SOUGHT if search.capitalized is None else UNKNOWN
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
        f"cannot be recognized. Rare: fewer than {RARE * report.k} {nouns(report).people}."
    )
