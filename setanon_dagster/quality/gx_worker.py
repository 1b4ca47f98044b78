"""A process that loads Great Expectations while the stages run, and then examines the release.

That import takes as long as some stages; beside them it takes no time. What is examined, and how,
is the same without it: whoever finds no such process, or one that has ended, examines by itself.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, SIGTERM, pthread_sigmask, signal
from typing import TYPE_CHECKING, Final, Self

from setanon_dagster.runtime.gc_imports import imports_without_gc

if TYPE_CHECKING:
    from setanon_dagster.quality.gathering import Connection
    from setanon_dagster.quality.validation import Finding, PromisedValues

    Opener = Callable[[], AbstractContextManager[Connection]]

SLOW: Final = "great_expectations"

PATIENCE: Final = 5
"""Seconds that it has to end by itself, and to take away what it has spilled."""


class ValidationWorker:
    """One process for one question; it ends when it has answered, or when nobody can ask."""

    def __init__(self) -> None:
        """Start it."""
        # Not forked: a copy of a process that has threads may find its locks held for ever.
        spawned = get_context("spawn")
        self._asked = False
        self._ours, theirs = spawned.Pipe()
        self._process = spawned.Process(target=_serve, args=(theirs,), daemon=True)
        # A key pressed here is not for it, not even while it starts: whoever started it ends it.
        resource_tracker.ensure_running()  # which would let the key through again
        before = pthread_sigmask(SIG_BLOCK, {SIGINT})
        try:
            self._process.start()
        finally:
            pthread_sigmask(SIG_SETMASK, before)
        theirs.close()  # the other end is the process's alone: when it ends, we hear of it

    def __enter__(self) -> Self:
        """Be ended at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, whatever it does."""
        self._ours.close()
        self._process.terminate()
        self._process.join(PATIENCE)
        self._process.kill()  # whoever is still there did not listen, such as DuckDB in a query
        self._process.join()

    def validate(
        self, opened: "Opener", asked: "PromisedValues", docs: Path | None
    ) -> "dict[str, Finding] | None":
        """What `validation.examine` finds; None if the process has ended without an answer."""
        if self._asked:
            return None  # it would answer the question before
        self._asked = True
        try:
            self._ours.send((opened, asked, docs))
            _load_figures()  # the report needs them next, and here is nothing else to do
            found: dict[str, Finding] = self._ours.recv()
        except (EOFError, OSError):
            return None
        return found


_started: ContextVar[ValidationWorker | None] = ContextVar("examiner", default=None)


@contextmanager
def validation_worker() -> Iterator[None]:
    """Start the process, unless there is no second core for it, or the import is done already."""
    if SLOW in sys.modules or _cores() == 1:
        yield
        return
    with ValidationWorker() as started:
        token = _started.set(started)
        try:
            yield
        finally:
            _started.reset(token)


def validate(opened: "Opener", asked: "PromisedValues", docs: Path | None) -> "dict[str, Finding]":
    """Have the release examined, by the process if there is one."""
    started = _started.get()
    found = None if started is None else started.validate(opened, asked, docs)
    if found is not None:
        return found
    from setanon_dagster.quality.validation import run_expectations

    return run_expectations(opened, asked, docs)


def _serve(asked: Pipe) -> None:
    """Load what is slow, answer one question and end."""
    signal(SIGTERM, _end)
    warnings.simplefilter("ignore")  # as those of a run
    # What cannot be loaded is told when it is asked for.
    with suppress(Exception), imports_without_gc():
        import setanon_dagster.quality.expectations  # noqa: F401
    from setanon_dagster.quality.validation import run_expectations

    with suppress(EOFError, OSError):  # nobody asks, or nobody waits for the answer
        asked.send(run_expectations(*asked.recv()))


def _end(*_: object) -> None:
    """End as at the end of a script: private files that it has spilled go, too."""
    raise SystemExit


def _load_figures() -> None:
    with suppress(Exception):  # without them, the tables say it all
        import matplotlib.backends.backend_svg
        import matplotlib.figure  # noqa: F401


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
