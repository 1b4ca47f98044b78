"""Progress of a release on a terminal and in a pipe."""

from io import StringIO

from rich.console import Console

from setanon_dagster import metadata_keys as keys
from setanon_dagster.cli.progress import ReleaseProgress


def test_terminal_shows_the_progress_of_each_step():
    out = StringIO()
    progress = ReleaseProgress(Console(file=out, force_terminal=True, width=100))
    progress.advanced("threads", 1, 2)
    assert not out.getvalue()
    progress.started("threads")
    progress.advanced("separate", 5_000, 20_000)
    progress._bar.refresh()  # noqa: SLF001 - the bar is drawn ten times per second
    progress.advanced("compare", 7, 0)
    progress._bar.refresh()  # noqa: SLF001
    progress.finished("threads", {keys.THREADS: 1234, keys.USERS: 5}, 1.0)
    shown = out.getvalue()
    assert "separate 5,000 of 20,000" in shown
    assert " 25%" in shown
    assert "compare 7 " in shown
    assert "1,234 threads of 5 users" in shown


def test_pipe_shows_finished_stages_only():
    out = StringIO()
    progress = ReleaseProgress(Console(file=out, width=80))
    progress.started("threads")
    progress.advanced("threads", 50, 100)
    assert not out.getvalue()
    progress.finished("check_threads", {"checks": 2}, 0.5)
    progress.finished("stage of another package", {}, 0.25)
    progress.failed("clusters")
    assert [line.split() for line in out.getvalue().splitlines()] == [
        ["checks", "0.5", "s", "2", "checks", "passed"],
        ["stage", "of", "another", "package", "0.2", "s", "done"],
        ["clusters", "failed"],
    ]
