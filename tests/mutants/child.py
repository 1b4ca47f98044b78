"""Run tests in a forked process, in which one module is replaced by a mutant."""

import ast
import importlib
import importlib.abc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

KILLED, SURVIVED, TIMEOUT = "killed", "survived", "timeout"
ROOT = Path(__file__).parents[2]


class MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed syntax tree; later imports find it in `sys.modules`."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        """`path` is relative to the repository."""
        self.path, self.tree = ROOT / path, tree
        self.name = path.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname, _path=None, _target=None) -> ModuleSpec | None:
        """The spec of the mutant; None for every other module."""
        if fullname != self.name:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, origin=str(self.path))
        if spec is not None:
            spec.has_location = True
        return spec

    def exec_module(self, module) -> None:
        """Run the changed code."""
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)  # noqa: S102


class FastTestsFirst:
    """Pytest plugin: tests with many examples run last, since one failed test ends the run."""

    def pytest_collection_modifyitems(self, items) -> None:
        """Sort the tests; the order is otherwise unchanged."""
        items.sort(key=lambda item: hasattr(getattr(item, "obj", None), "hypothesis"))


@dataclass(frozen=True, slots=True)
class Process:
    """A forked process that runs tests, and its private folder for temporary files."""

    pid: int
    folder: str
    deadline: float


def start(tests: Sequence[str], finder: MutantFinder | None, timeout: float) -> Process:
    """Fork; the child runs the tests and ends with exit code 0 if all of them passed."""
    folder = tempfile.mkdtemp(prefix="mutant-")
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Process(pid, folder, time.monotonic() + timeout)
    code = 1
    try:
        os.setsid()
        if not os.environ.get("MUTANT_OUTPUT"):
            with Path(os.devnull).open("w") as nothing:
                os.dup2(nothing.fileno(), 1)
                os.dup2(nothing.fileno(), 2)
        code = run_tests(tests, finder, folder)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the child must not return to the loop of its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def run_tests(tests: Sequence[str], finder: MutantFinder | None, folder: str) -> int:
    """Run pytest in this process; 0 if all tests passed."""
    import pytest

    os.environ["TMPDIR"] = tempfile.tempdir = folder
    if finder is not None:
        sys.meta_path.insert(0, finder)
    for test in tests:
        # Otherwise, pytest would import a module with doctests a second time.
        if not test.startswith(("tests/", "-")):
            importlib.import_module(test.removesuffix(".py").replace("/", "."))
    # Only plugins are concerned, which the parent imported already.
    ignored = "ignore::pytest.PytestAssertRewriteWarning"
    options = ["-x", "-q", "-W", ignored, "-p", "no:cacheprovider", f"--basetemp={folder}/base"]
    return int(pytest.main([*options, *tests], plugins=[FastTestsFirst()]) != pytest.ExitCode.OK)


def poll(process: Process) -> str | None:
    """The outcome, or None while the process runs; a process past its deadline is killed."""
    pid, status = os.waitpid(process.pid, os.WNOHANG)
    if pid:
        _clean(process)
        return SURVIVED if status == 0 else KILLED
    if time.monotonic() < process.deadline:
        return None
    os.killpg(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)
    _clean(process)
    return TIMEOUT


def _clean(process: Process) -> None:
    """End what the tests left running, and remove their files."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    shutil.rmtree(process.folder, ignore_errors=True)


@contextmanager
def imported_modules(tests: Sequence[str]) -> Iterator[list[str]]:
    """Names of modules that the tests import."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(reader)
            with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nothing:
                os.dup2(nothing.fileno(), 1)
                run_tests(["--collect-only", *tests], None, folder)
            with os.fdopen(writer, "w") as pipe:
                pipe.write("\n".join(sys.modules))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        names = pipe.read().split("\n")
    os.waitpid(pid, 0)
    yield names
