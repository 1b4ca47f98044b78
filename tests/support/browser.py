"""Headless Chromium for browser tests and for the screenshots of the docs."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.sync_api import Browser, Page, expect, sync_playwright

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
"""Commands of installed browsers; none is downloaded."""

PAGE_TIMEOUT: Final = 30_000
"""Milliseconds until an expected element must be visible."""


def chromium() -> str | None:
    """Path of the installed browser, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def open_browser(path: str) -> Iterator[Browser]:
    """Headless Chromium."""
    with sync_playwright() as playwright:
        # Containers have little shared memory; the sandbox does not run as root.
        browser = playwright.chromium.launch(
            executable_path=path, args=["--disable-dev-shm-usage"], chromium_sandbox=False
        )
        expect.set_options(timeout=PAGE_TIMEOUT)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class PageLog:
    """Errors of a page, and requests to other addresses."""

    errors: list[str] = field(default_factory=list)
    foreign_requests: list[str] = field(default_factory=list)


def watch_page(page: Page, address: str) -> PageLog:
    """Record errors, and block every request whose address does not start with `address`."""
    log = PageLog()

    def route(request: Any) -> None:
        if request.request.url.startswith((address, "data:", "blob:")):
            request.continue_()
        else:
            log.foreign_requests.append(request.request.url)
            request.abort()

    page.on("console", lambda line: log.errors.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: log.errors.append(str(error)))
    page.route("**/*", route)
    page.set_default_timeout(PAGE_TIMEOUT)
    return log
