"""Data Docs in a browser: contrast in both color schemes, and phones."""

import pytest
from support.page_scripts import LOW_CONTRAST, OUTSIDE

from setanon_dagster.quality.data_docs import CheckOutcome, DataDocs, write_data_docs
from setanon_dagster.quality.promises import PROMISES

pytestmark = pytest.mark.slow

ERROR = CheckOutcome(passed=False, error="MetricResolutionErrorOfTheValidator")
PASSED = CheckOutcome(passed=True, counts={"published_threads": 10**10, "violations": 0})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data Docs of a partition that passed, and failed later."""
    release = tmp_path_factory.mktemp("docs") / "searches"
    docs = DataDocs(release / "2026-03-01", "searches_of_the_whole_department, 2026-03-01")
    outcomes = dict.fromkeys(PROMISES, PASSED)
    write_data_docs(docs, outcomes, PROMISES)
    write_data_docs(docs, outcomes | {"threads_are_unique": ERROR}, PROMISES)
    return release


@pytest.mark.parametrize("width", [320, 390, 1100])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_readable_and_fits_the_window(browser, folder, scheme, width):
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) == 2 * (len(PROMISES) + 1) + 1
    with browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme
    ) as context:
        page = context.new_page()
        for path in pages:
            page.goto(path.as_uri())
            assert page.evaluate(LOW_CONTRAST, 4.5) == [], path.name
            assert page.evaluate(OUTSIDE) == [], path.name


def test_index_leads_to_all_pages(browser, folder):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((folder / "index.html").as_uri())
        page.get_by_role("link", name="2026-03-01").first.click()
        assert "1 of 8 checks failed" in page.inner_text("body")
        assert page.locator("tbody tr").first.locator(".failed").is_visible()
        page.get_by_role("link", name="threads are unique").click()
        assert "could not be checked" in page.inner_text("body")
        page.go_back()
        page.get_by_role("link", name="Data Docs of the last run that passed").click()
        assert "All checks passed" in page.inner_text("body")
        page.get_by_role("link", name="All checks of this release").click()
        assert page.url.endswith("searches/index.html")
