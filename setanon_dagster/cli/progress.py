"""What a person sees of a release: a line for each stage as it ends, then a summary in numbers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from setanon_core.model.verdict import Verdict
from setanon_dagster import metadata_keys as keys
from setanon_dagster.gate.publish import LATEST
from setanon_dagster.report.build import REPORT
from setanon_dagster.runtime.progress_log import ProgressLogger
from setanon_dagster.storage.folders import PRIVATE

NOTES: Final[Mapping[str, str]] = {
    "raw_log": f"{{{keys.ACCEPTED}:,}} of {{{keys.LINES}:,}} lines",
    "raw_baskets": f"{{{keys.ACCEPTED}:,}} of {{{keys.LINES}:,}} lines",
    "threads": f"{{{keys.THREADS}:,}} threads of {{{keys.USERS}:,}} users",
    "clusters": f"{{{keys.THREADS}:,}} threads of {{{keys.KEYWORDS_PER_THREAD}:.2f}} keywords",
    "anonymized_threads": f"{{{keys.THREADS}:,}} threads in {{{keys.GROUPS}:,}} groups; "
    f"{{{keys.WITHDRAWALS}:,}} withdrawals",
    "release": f"verified on disk: {{{keys.VIOLATIONS}:,}} violations",
}
"""What is told of a stage, by the names in its metadata."""

CHECK: Final = "check_"
CHECKED: Final = "{checks:,} checks passed"
WIDTH: Final = 20

OFTEN: Final = 0.5
"""Seconds after which the line of what runs is written anew."""


class ReleaseProgress:
    """A line for each stage; on a terminal, what runs is shown while it runs."""

    def __init__(self, console: Console) -> None:
        """Write to this console."""
        self.console = console
        self.running: Status | None = None
        self.pace = ProgressLogger(self._show, interval=OFTEN)

    def started(self, stage: str) -> None:
        """Show what runs; where nobody looks on, nothing."""
        self._stop()
        if self.console.is_terminal:
            # ASCII: not every terminal has more.
            self.running = self.console.status(_label(stage), spinner="line")
            self.running.start()

    def moved(self, what: str, done: int, total: int) -> None:
        """Show how far it is, how fast it goes and how long it will take, while it runs."""
        if self.running is not None:
            self.pace(what, done, total)

    def _show(self, sentence: str) -> None:
        if self.running is not None:
            self.running.update(escape(sentence))

    def finished(self, stage: str, counts: Mapping[str, Any], seconds: float) -> None:
        """Write the line of a stage."""
        self._stop()
        try:
            note = (CHECKED if stage.startswith(CHECK) else NOTES[stage]).format_map(counts)
        except (KeyError, ValueError):  # a stage of somebody's own counts other things
            note = "done"
        print_line(self.console, f"{_label(stage):<{WIDTH}} {seconds:7.1f} s  {note}")

    def failed(self, stage: str) -> None:
        """Write that a stage failed; why is said at the end."""
        self._stop()
        print_line(self.console, f"{_label(stage):<{WIDTH}}  failed", "bold red")

    def _stop(self) -> None:
        if self.running is not None:
            self.running.stop()
            self.running = None


def _label(stage: str) -> str:
    return "  checks of it" if stage.startswith(CHECK) else stage


def print_line(console: Console, text: str, style: str | None = None) -> None:
    """One line as it is: not wrapped, however long a path in it, and nothing in it is markup."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def print_summary(
    console: Console,
    folder: Path,
    certificate: Mapping[str, Any],
    counts: Mapping[str, Mapping[str, Any]],
) -> None:
    """What was published, what it cost and where it is."""
    print_line(
        console, f"\n{folder.name} is published, {certificate['k']}-anonymous.", "bold green"
    )
    lines = [*_data(counts), *_costs(certificate), *_places(folder)]
    for name, value in lines:
        print_line(console, f"  {name:<13}{value}")


def print_verdict(console: Console, verdict: Verdict, *, users: bool) -> None:
    """What a verifier has counted."""
    who = "users" if users else "threads"
    lines = {
        "threads": f"{verdict.records:,}",
        "groups": f"{verdict.groups:,}, the smallest of {verdict.smallest_group:,} {who}",
        "violations": f"{verdict.violations:,} threads in {verdict.violating_groups:,} groups",
    }
    for name, value in lines.items():
        print_line(console, f"  {name:<13}{value}")


def _data(counts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    users = next((each[keys.USERS] for each in counts.values() if keys.USERS in each), None)
    if users is not None:
        yield "users", f"{users:,}"
    reasons = {
        key.removeprefix(keys.REJECTED): count
        for key, count in counts.get("rejected_rows", {}).items()
        if key.startswith(keys.REJECTED)
    }
    if any(reasons.values()):
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(reasons.items()) if count)
        yield "rejected", f"{sum(reasons.values()):,} lines ({told})"


def _costs(certificate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    cost, verdict = certificate["cost"], certificate["verdict"]
    yield "threads", f"{cost['threads']:,}, {verdict['records']:,} of them published"
    yield "groups", f"{verdict['groups']:,}, the smallest of {verdict['smallest_group']:,} users"
    for name in ("additions", "deletions", "withdrawals", "respellings"):
        yield name, f"{cost[name]:,}"
    yield "retained", f"{cost['retained']:.1%} of {cost['keywords']:,} keywords"
    yield "factor", _factor(cost["factor"])


def _factor(factor: float | None) -> str:
    """How far from the least cost it can be."""
    if factor is None:
        return "not known: no lower bound was found"
    return f"at most {factor:.3f} times the least possible cost"


def _places(folder: Path) -> Iterator[tuple[str, str]]:
    yield "public", str(folder)
    yield "", ", ".join(sorted(path.name for path in folder.iterdir()))
    yield "latest", str(folder.parent / LATEST)
    private = folder.parent.parent / PRIVATE / folder.name
    yield "private", str(private)
    if (private / REPORT).exists():
        yield "report", str(private / REPORT)
