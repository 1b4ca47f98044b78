"""Progress of a release on stderr: one line per finished stage, a progress bar while it runs."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from setanon_dagster import metadata_keys as keys
from setanon_dagster.cli.summary import print_line

NOTES: Final[Mapping[str, str]] = {
    "raw_log": f"{{{keys.ACCEPTED}:,}} of {{{keys.LINES}:,}} lines",
    "raw_baskets": f"{{{keys.ACCEPTED}:,}} of {{{keys.LINES}:,}} lines",
    "threads": f"{{{keys.THREADS}:,}} threads of {{{keys.USERS}:,}} users",
    "clusters": f"{{{keys.THREADS}:,}} threads, {{{keys.KEYWORDS_PER_THREAD}:.2f}} keywords each",
    "anonymized_threads": f"{{{keys.THREADS}:,}} threads in {{{keys.GROUPS}:,}} groups; "
    f"{{{keys.WITHDRAWALS}:,}} withdrawals",
    "release": f"verified on disk: {{{keys.VIOLATIONS}:,}} violations",
}
"""Text after a stage's time; the fields are metadata keys of its asset."""

CHECK_PREFIX: Final = "check_"
"""Start of the names of the steps that check a stage."""

CHECKS: Final = "checks"
"""Key of the number of checks that a step has run."""

CHECKS_NOTE: Final = f"{{{CHECKS}:,}} checks passed"
LABEL_WIDTH: Final = 20


class ReleaseProgress:
    """A `ReleaseObserver` that prints stages; the bar is shown on terminals only."""

    def __init__(self, console: Console) -> None:
        """Print to this console."""
        self.console = console
        self._bar: Progress | None = None

    def started(self, stage: str) -> None:
        """Show the stage as running."""
        self._stop()
        if self.console.is_terminal:
            self._bar = Progress(
                SpinnerColumn("line"),  # ASCII: supported by all terminals
                TextColumn("{task.description}", markup=False),
                TextColumn("{task.fields[counts]}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(compact=True),
                console=self.console,
                transient=True,
            )
            self._bar.add_task(_label(stage), total=None, counts="")
            self._bar.start()

    def advanced(self, step: str, done: int, total: int) -> None:
        """Show the progress of a step of the running stage; a total of 0 is unknown."""
        if self._bar is None:
            return
        (task,) = self._bar.tasks
        counts = f"{done:,} of {total:,}" if total else f"{done:,}"
        if task.description == step:
            self._bar.update(task.id, completed=done, total=total or None, counts=counts)
        else:  # a new task, so that the time left is not estimated from the previous step
            self._bar.remove_task(task.id)
            self._bar.add_task(step, total=total or None, completed=done, counts=counts)

    def finished(self, stage: str, counts: Mapping[str, Any], seconds: float) -> None:
        """Print the line of a stage."""
        self._stop()
        try:
            template = CHECKS_NOTE if stage.startswith(CHECK_PREFIX) else NOTES[stage]
            note = template.format_map(counts)
        except (KeyError, ValueError):  # a stage or metadata that is not ours
            note = "done"
        print_line(self.console, f"{_label(stage):<{LABEL_WIDTH}} {seconds:7.1f} s  {note}")

    def failed(self, stage: str) -> None:
        """Print that a stage failed; the reason is printed at the end of the run."""
        self._stop()
        print_line(self.console, f"{_label(stage):<{LABEL_WIDTH}}  failed", "bold red")

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _label(stage: str) -> str:
    return "  checks" if stage.startswith(CHECK_PREFIX) else stage
