"""A browser and a server for the tests that look at pages."""

import os
from pathlib import Path

import pytest

KEEP = "SETANON_SCREENSHOTS"
"""The environment variable with the folder that keeps what the tests have seen."""

USERS = 600


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """The folder of the screenshots."""
    given = os.environ.get(KEEP)
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser():
    """A browser for one file of tests: its event loop must not run while others need their own."""
    pytest.importorskip("playwright", reason="Playwright is not installed: install setanon[dev].")
    from support.driving import browsing, chromium

    path = chromium()
    if path is None:
        pytest.skip("There is no Chromium here: nobody has looked at the pages. Install chromium.")
    with browsing(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):  # noqa: ARG001 - without a browser it need not start
    pytest.importorskip("dagster_webserver")
    from support.driving import serving

    from setanon_dagster.demo.log import write_demo_log

    folder = tmp_path_factory.mktemp("demo")
    write_demo_log(folder / "demo_log.tsv", USERS)
    with serving(folder) as started:
        yield started
