"""The report as people see it: in a browser, by keyboard, in the dark, on paper."""

import re
from dataclasses import replace

import pytest

pytest.importorskip("jinja2")

from support.reports import SMALL, THREADS, VERDICT, certified

from setanon_dagster.report.build import write_report

pytestmark = pytest.mark.slow

WHOLE = replace(SMALL, threads=THREADS)
REFUSED = certified(WHOLE, verdict={**VERDICT, "smallest_group": 2, "violations": 1})
SHAPES = {"desk": (1280, 720), "phone": (360, 740)}

FAINT = """(least) => {
    const channels = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = color => channels(color)
        .map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (!/, 0\\)$/.test(color)) return color;
        }
        return "rgb(255, 255, 255)";
    };
    const said = element => [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    return [...document.body.querySelectorAll("*")]
        .filter(each => said(each) && each.checkVisibility())
        .map(each => {
            const style = getComputedStyle(each);
            const own = each.closest("svg") ? style.fill : style.color;
            const [low, high] = [light(own), light(behind(each))].sort((a, b) => a - b);
            return [each.tagName, each.textContent.trim(), (high + 0.05) / (low + 0.05)];
        })
        .filter(([, , ratio]) => !(ratio >= least));
}"""
"""Texts that stand out too little from what is behind them."""

FOCUSED = """() => {
    const at = document.activeElement, box = at.getBoundingClientRect();
    const every = [...document.querySelectorAll("a[href], summary, [tabindex='0']")];
    return {
        place: every.filter(each => each.checkVisibility()).indexOf(at),
        seen: box.top < innerHeight && box.bottom > 0 && box.left >= 0 && box.right <= innerWidth,
        outline: parseFloat(getComputedStyle(at).outlineWidth),
    };
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_report(WHOLE, tmp_path_factory.mktemp("report"))


@pytest.fixture
def opened(browser, report):
    """Open the report, or another; at the end none may have complained or asked for anything."""
    from support.driving import watched

    contexts, seen = [], []

    def open_page(path=report, shape="desk", **knobs):
        width, height = SHAPES[shape]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **knobs))
        page = contexts[-1].new_page()
        seen.append(watched(page, path.as_uri()))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [each.strangers for each in seen] == [[]] * len(seen)
    assert [each.errors for each in seen] == [[]] * len(seen)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_verdict_is_seen_first(opened, kept, shape, scheme):
    page = opened(shape=shape, color_scheme=scheme)
    box = page.locator(".verdict").bounding_box()
    page.screenshot(path=kept / f"report-{shape}-{scheme}.png", full_page=True)

    assert page.locator("h2").first.inner_text() == "Verdict"
    assert "Verified" in page.locator(".verdict").inner_text()
    assert box["y"] + box["height"] < page.viewport_size["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_background(opened, scheme):
    page = opened(color_scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    page.keyboard.press("Tab")

    assert page.evaluate(FAINT, 4.5) == []


def test_the_dark_page_is_dark(opened):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = (opened(color_scheme=s).evaluate(background) for s in ("light", "dark"))

    assert light == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark))) < 64


def test_a_phone_need_not_scroll_sideways(opened):
    page = opened(shape="phone")
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_refused_release_says_so(opened, kept, tmp_path):
    page = opened(write_report(REFUSED, tmp_path))
    page.screenshot(path=kept / "report-refused.png")

    assert "must not be published" in page.locator(".verdict").inner_text()
    assert "Verified" not in page.inner_text("body")


def test_the_first_tab_leads_past_the_header(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate(FOCUSED)["seen"]

    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_the_tab_key_walks_through_the_page_in_order_and_is_seen(opened):
    page = opened()
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    stops = page.locator("a[href]:visible, summary:visible, [tabindex='0']:visible").count()
    walked = []
    for _ in range(stops):
        page.keyboard.press("Tab")
        walked.append(page.evaluate(FOCUSED))

    assert stops > 10
    assert [stop["place"] for stop in walked] == list(range(stops))
    assert all(stop["seen"] and stop["outline"] >= 2 for stop in walked)


def test_a_fold_opens_by_keyboard(opened):
    page = opened()
    fold = page.locator("details").first
    fold.locator("summary").focus()
    page.keyboard.press("Enter")

    assert fold.locator("table").is_visible()


def test_every_table_has_a_caption_and_every_figure_a_sentence(opened):
    page = opened()
    tables, figures = page.locator("table"), page.locator("figure")

    assert tables.count() > 3
    assert figures.count() > 0
    assert all(each.locator("caption").text_content().strip() for each in tables.all())
    assert all(each.locator("figcaption").text_content().strip() for each in figures.all())


def test_every_link_of_the_contents_leads_somewhere(opened):
    page = opened()
    for link in page.locator("nav a").all():
        link.click()
        target = page.locator(link.get_attribute("href"))
        assert target.evaluate("each => each.getBoundingClientRect().top < innerHeight")


def test_paper_shows_what_is_folded_and_no_links(opened, kept):
    page = opened(color_scheme="dark")
    printed = page.pdf(path=kept / "report.pdf", format="A4")
    page.emulate_media(media="print")

    assert printed.startswith(b"%PDF-")
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed)) < 10
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert all(each.bounding_box()["height"] > 20 for each in page.locator("details table").all())
