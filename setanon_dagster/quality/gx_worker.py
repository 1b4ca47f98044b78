"""A worker process that imports Great Expectations while the stages run, then validates a release.

The import takes seconds. The outcomes do not depend on the worker: if there is none,
or it has ended, the release is validated in the calling process.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection as Pipe
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, SIGTERM, pthread_sigmask, signal
from typing import TYPE_CHECKING, Final, Self

from setanon_dagster.runtime.gc_imports import imports_without_gc
from setanon_dagster.runtime.parent_exit import exit_with_parent

if TYPE_CHECKING:
    from setanon_dagster.quality.data_docs import CheckOutcome, DataDocs
    from setanon_dagster.quality.promises import ReleasePromises
    from setanon_dagster.verifier.sql import Connection

    OpenConnection = Callable[[], AbstractContextManager[Connection]]

SLOW_IMPORT: Final = "great_expectations"

JOIN_SECONDS: Final = 5
"""Seconds for the worker to end and to remove its spilled files, before it is killed."""


class ValidationWorker:
    """A process that validates one release and ends; it also ends when its pipe is closed."""

    def __init__(self) -> None:
        """Start the process."""
        # Spawned: a fork of a process with OS threads may inherit locks that are never released.
        spawned = get_context("spawn")
        self._used = False
        self._pipe, worker_pipe = spawned.Pipe()
        self._process = spawned.Process(target=_serve, args=(worker_pipe,), daemon=True)
        # Ctrl-C must not reach the worker, even while it starts: the parent ends it.
        resource_tracker.ensure_running()  # starting it later would unblock SIGINT again
        previous = pthread_sigmask(SIG_BLOCK, {SIGINT})
        try:
            self._process.start()
        finally:
            pthread_sigmask(SIG_SETMASK, previous)
        worker_pipe.close()  # only the worker has this end open, so that recv fails when it ends

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(self, *_: object) -> None:
        """Terminate the process; kill it if it does not end."""
        self._pipe.close()
        self._process.terminate()
        self._process.join(JOIN_SECONDS)
        self._process.kill()  # DuckDB does not handle SIGTERM during a query
        self._process.join()

    def validate(
        self,
        open_connection: "OpenConnection",
        promises: "ReleasePromises",
        docs: "DataDocs | None",
    ) -> "dict[str, CheckOutcome] | None":
        """Return what `run_expectations` returns; None if the worker was used or has ended."""
        if self._used:
            return None
        self._used = True
        try:
            self._pipe.send((open_connection, promises, docs))
            _import_matplotlib()  # the report needs it next, and this process waits anyway
            outcomes: dict[str, CheckOutcome] = self._pipe.recv()
        except (EOFError, OSError):
            return None
        return outcomes


_current: ContextVar[ValidationWorker | None] = ContextVar("validation_worker", default=None)


@contextmanager
def validation_worker() -> Iterator[None]:
    """Start a worker, unless there is only one core, or Great Expectations is imported already."""
    if SLOW_IMPORT in sys.modules or _cores() == 1:
        yield
        return
    with ValidationWorker() as worker:
        token = _current.set(worker)
        try:
            yield
        finally:
            _current.reset(token)


def validate(
    open_connection: "OpenConnection", promises: "ReleasePromises", docs: "DataDocs | None"
) -> "dict[str, CheckOutcome]":
    """Validate a release in the worker if there is one, otherwise in this process."""
    worker = _current.get()
    outcomes = None if worker is None else worker.validate(open_connection, promises, docs)
    if outcomes is not None:
        return outcomes
    from setanon_dagster.quality.validation import run_expectations

    return run_expectations(open_connection, promises, docs)


def _serve(pipe: Pipe) -> None:
    """Main function of the worker: import, validate one release, end."""
    exit_with_parent()
    signal(SIGTERM, _exit)
    warnings.simplefilter("ignore")  # as in a run
    # A failed import is reported by the validation.
    with suppress(Exception), imports_without_gc():
        import setanon_dagster.quality.expectations  # noqa: F401
    from setanon_dagster.quality.validation import run_expectations

    with suppress(EOFError, OSError):  # the parent has closed the pipe
        pipe.send(run_expectations(*pipe.recv()))


def _exit(*_: object) -> None:
    """Exit with cleanup, which removes spilled private files."""
    raise SystemExit


def _import_matplotlib() -> None:
    with suppress(Exception):  # without it, the report has tables only
        import matplotlib.backends.backend_svg
        import matplotlib.figure  # noqa: F401


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
