"""Chromium and the Dagster UI, for the browser tests."""

import os
from pathlib import Path

import pytest

SCREENSHOTS = "SETANON_SCREENSHOTS"
"""Environment variable with the folder for screenshots; a temporary folder by default."""

USERS = 600


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory):
    """Folder of the screenshots."""
    configured = os.environ.get(SCREENSHOTS)
    folder = Path(configured) if configured else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser():
    """Chromium, per test file: its event loop would block the loops of other tests."""
    pytest.importorskip("playwright", reason="Playwright is not installed: install setanon[dev].")
    from support.browser import chromium, open_browser

    path = chromium()
    if path is None:
        pytest.skip("Chromium is not installed: the pages are not tested. Install chromium.")
    with open_browser(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):  # noqa: ARG001 - not started without a browser
    pytest.importorskip("dagster_webserver")
    from support.ui_server import run_server

    from setanon_dagster.demo.log import write_demo_log

    folder = tmp_path_factory.mktemp("demo")
    write_demo_log(folder / "demo_log.tsv", USERS)
    with run_server(folder) as started:
        yield started
