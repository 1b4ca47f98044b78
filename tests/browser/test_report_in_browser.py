"""The report in a browser: color schemes, phone, keyboard and print."""

import re
from dataclasses import replace

import pytest

pytest.importorskip("jinja2")

from support.page_scripts import LOW_CONTRAST, OPEN_DETAILS
from support.reports import SMALL, THREADS, VERDICT, certified

from setanon_dagster.report.build import write_report

pytestmark = pytest.mark.slow

COMPLETE = replace(SMALL, threads=THREADS)
REFUSED = certified(COMPLETE, verdict={**VERDICT, "smallest_group": 2, "violations": 1})
VIEWPORTS = {"desktop": (1280, 720), "phone": (360, 844)}

FOCUSED = """() => {
    const at = document.activeElement, box = at.getBoundingClientRect();
    const every = [...document.querySelectorAll("a[href], summary, [tabindex='0']")];
    return {
        index: every.filter(each => each.checkVisibility()).indexOf(at),
        seen: box.top < innerHeight && box.bottom > 0 && box.left >= 0 && box.right <= innerWidth,
        outline: parseFloat(getComputedStyle(at).outlineWidth),
    };
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_report(COMPLETE, tmp_path_factory.mktemp("report"))


@pytest.fixture
def opened(browser, report):
    """A function that opens a report; pages must have no errors and send no requests."""
    from support.browser import watch_page

    contexts, logs = [], []

    def open_page(path=report, device="desktop", **options):
        width, height = VIEWPORTS[device]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        logs.append(watch_page(page, path.as_uri()))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [log.foreign_requests for log in logs] == [[]] * len(logs)
    assert [log.errors for log in logs] == [[]] * len(logs)


@pytest.mark.parametrize("device", VIEWPORTS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_verdict_is_visible_without_scrolling(opened, screenshots, device, scheme):
    page = opened(device=device, color_scheme=scheme)
    box = page.locator(".verdict").bounding_box()
    page.screenshot(path=screenshots / f"report-{device}-{scheme}.png", full_page=True)

    assert page.locator("h2").first.inner_text() == "Is this release to be published?"
    assert "Verified" in page.locator(".verdict").inner_text()
    assert box["y"] + box["height"] < page.viewport_size["height"]


@pytest.mark.parametrize("device", VIEWPORTS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(opened, scheme, device):
    page = opened(device=device, color_scheme=scheme)
    page.evaluate(OPEN_DETAILS)
    page.keyboard.press("Tab")

    assert page.evaluate(LOW_CONTRAST, 4.5) == []


def test_dark_scheme_has_a_dark_background(opened):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(color_scheme=s).evaluate(background) for s in ("light", "dark"))

    assert light == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark))) < 64


def test_refused_release_is_not_shown_as_verified(opened, screenshots, tmp_path):
    page = opened(write_report(REFUSED, tmp_path))
    page.screenshot(path=screenshots / "report-refused.png")

    assert "must not be published" in page.locator(".verdict").inner_text()
    assert "Verified" not in page.inner_text("body")


def test_first_tab_stop_skips_the_header(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate(FOCUSED)["seen"]

    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_tab_key_visits_all_elements_in_order_with_visible_focus(opened):
    page = opened()
    page.evaluate(OPEN_DETAILS)
    stops = page.locator("a[href]:visible, summary:visible, [tabindex='0']:visible").count()
    focused = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        focused.append(page.evaluate(FOCUSED))

    assert stops > 10
    assert [stop["index"] for stop in focused] == list(range(stops))
    assert all(stop["seen"] and stop["outline"] >= 2 for stop in focused)


def test_details_open_by_keyboard(opened):
    page = opened()
    details = page.locator("details").first
    details.locator("summary").focus()
    page.keyboard.press("Enter")

    assert details.locator("table").is_visible()


def test_tables_and_figures_have_captions(opened):
    page = opened()
    tables, figures = page.locator("table"), page.locator("figure")

    assert tables.count() > 3
    assert figures.count() > 0
    assert all(each.locator("caption").text_content().strip() for each in tables.all())
    assert all(each.locator("figcaption").text_content().strip() for each in figures.all())


def test_links_of_the_contents_scroll_to_their_section(opened):
    page = opened()
    for link in page.locator("nav a").all():
        link.click()
        target = page.locator(link.get_attribute("href"))
        assert target.evaluate("each => each.getBoundingClientRect().top < innerHeight")


def test_print_shows_details_and_no_navigation(opened, screenshots):
    page = opened(color_scheme="dark")
    printed = page.pdf(path=screenshots / "report.pdf", format="A4")
    page.emulate_media(media="print")

    assert printed.startswith(b"%PDF-")
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed)) < 10
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert all(
        each.bounding_box()["height"] > 20
        for each in page.locator("details:not(.screen) table").all()
    )
