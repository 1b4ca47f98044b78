"""The search of the documentation site, in a browser: it needs a server."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect
from support.browser import PAGE_TIMEOUT

pytestmark = pytest.mark.slow


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Address of a server of the site, on this machine only."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("dataframe", "how-to/data-frames.html"),
        ("polars", "how-to/data-frames.html"),
        ("milliseconds", "how-to/times.html"),
        ("S3", "how-to/data-frames.html"),
        ("which k", "how-to/choose-k.html"),
        ("min_owners", "reference/parameters.html"),
        ("anonymize_log", "reference/core.html"),
    ],
)
def test_the_search_finds_what_newcomers_type(browser, address, words, page):
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto(f"{address}/index.html")
        opened.get_by_role("textbox", name="Search").press_sequentially(words)
        found = opened.locator(f'.md-search-result__link[href*="{page}"]').first
        expect(found).to_be_visible(timeout=PAGE_TIMEOUT)
