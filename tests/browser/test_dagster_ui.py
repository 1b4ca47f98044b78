"""Dagster's pages on the demo, as `setanon ui` serves them: looked at, and clicked.

One test, and a subtest for each fact: a server takes half a minute to start, and what is done to it
stays done.
"""

import re
from contextlib import contextmanager

import pytest

pytest.importorskip("playwright")
pytest.importorskip("dagster_webserver")

from playwright.sync_api import expect
from support.driving import CHECKED, GROUP, JOB, spoiled, watched

from setanon_dagster.translator import LOG_STAGES, STAGES

pytestmark = pytest.mark.slow

HARMLESS = (
    # Dagster's pages follow runs by a socket, and a page that is left closes it.
    re.compile(r"WebSocket connection to '\S+/graphql' failed"),
)
"""What Dagster's own pages complain of, though nothing is wrong."""

RED = """each => {
    const [red, green, blue] = getComputedStyle(each).color.match(/\\d+/g).map(Number);
    return red > 1.5 * green && red > 1.5 * blue;
}"""


RED_NODES = """expected => {
    const red = each => {
        const [r, g, b] = getComputedStyle(each).borderTopColor.match(/\\d+/g).map(Number);
        return parseFloat(getComputedStyle(each).borderTopWidth) > 0 && r > 2 * g && r > 2 * b;
    };
    const nodes = [...document.querySelectorAll("svg foreignObject")];
    const found = nodes.filter(node => [...node.querySelectorAll("*")].some(red));
    return found.map(node => node.textContent.trim()).sort().join() === expected.join();
}"""
"""Whether the assets that are framed in red are those that are expected."""


@pytest.fixture
def look(browser, server, kept, subtests):
    """Open a page, keep a picture of it, and see whether a fact holds."""

    def looked(fact, place):
        name = fact.__name__
        with subtests.test(name.replace("_", " ")), looking(browser, server, kept / name) as page:
            page.goto(server.url + place)
            fact(page, server)

    return looked


def test_a_release_is_made_and_refused_before_our_eyes(browser, server, kept, look):
    look(all_assets_are_listed_with_what_they_are, "/assets")

    with looking(browser, server) as page:
        page.goto(server.url + JOB)
        run = server.started_by(page, "Materialize all")
        assert server.ended(run) == "SUCCESS"
    look(the_run_has_made_all_and_checked_all, f"/runs/{run}")
    look(the_graph_shows_every_asset, GROUP)
    look(the_release_has_the_figures_of_its_report_beside_it, "/assets/demo/release")
    look(checks_that_hold_are_green, CHECKED)
    the_report_of_the_release_opens(browser, server, kept)

    latest = (server.folder / "releases" / "latest").readlink()
    with looking(browser, server) as page, spoiled(server.folder):
        page.goto(f"{server.url}/assets/demo/release")
        # Both at once: the gate waits for no check.
        checks = server.check_again()
        run = server.started_by(page, "Materialize")
        assert (server.ended(checks), server.ended(run)) == ("FAILURE", "FAILURE")
    look(a_check_that_fails_is_red_and_says_what_does_not_hold, CHECKED)
    look(the_refused_release_says_why, f"/runs/{run}")
    look(the_graph_shows_where_it_failed, GROUP)
    assert (server.folder / "releases" / "latest").readlink() == latest


@contextmanager
def looking(browser, server, picture=None):
    """A page of Dagster's; at the end it must not have complained, nor asked anybody else."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        seen = watched(page, server.url)
        try:
            yield page
        finally:
            if picture is not None:
                page.screenshot(path=picture.with_suffix(".png"))
    assert seen.strangers == []
    assert [text for text in seen.errors if not any(it.search(text) for it in HARMLESS)] == []


def all_assets_are_listed_with_what_they_are(page, _):
    for stage in LOG_STAGES:
        expect(page.get_by_text(STAGES[stage]).first).to_be_visible()


def the_run_has_made_all_and_checked_all(page, _):
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()
    expect(page.get_by_text("8 assets")).to_be_visible()
    expect(page.get_by_text("12 checks")).to_be_visible()


def the_graph_shows_every_asset(page, _):
    for stage in LOG_STAGES:
        expect(page.locator("svg foreignObject").get_by_text(stage, exact=True)).to_be_visible()


def the_release_has_the_figures_of_its_report_beside_it(page, server):
    cost, verdict = server.certificate["cost"], server.certificate["verdict"]
    for name, value in {
        "setanon/additions": cost["additions"],
        "setanon/deletions": cost["deletions"],
        "setanon/threads": verdict["records"],
        "setanon/groups": verdict["groups"],
        "setanon/smallest_group": verdict["smallest_group"],
        "setanon/violations": 0,
        "setanon/report": server.report,
    }.items():
        # Rows of the tables within have such names too, and come later.
        row = page.locator(f"xpath=//tr[td[1][normalize-space() = '{name}']]").first
        expect(row.get_by_text(str(value), exact=True).first).to_be_visible()


def the_report_of_the_release_opens(browser, server, kept):
    with browser.new_context() as context:
        page = context.new_page()
        seen = watched(page, server.report.as_uri())
        page.goto(server.report.as_uri())
        page.screenshot(path=kept / "report-of-the-release.png", full_page=True)
        retained = server.certificate["cost"]["retained"]
        expect(page.get_by_text(f"{retained:.1%}").first).to_be_visible()
        expect(page.locator(".verdict")).to_contain_text("Verified")
    assert (seen.strangers, seen.errors) == ([], [])


def checks_that_hold_are_green(page, _):
    expect(page.get_by_text("Passed", exact=True)).to_be_visible()
    expect(page.get_by_text("Succeeded", exact=True)).to_have_count(6)


def a_check_that_fails_is_red_and_says_what_does_not_hold(page, _):
    expect(page.get_by_text("This does not hold: Every published set")).to_be_visible()
    failed = page.get_by_text("Failed", exact=True)
    expect(failed).to_have_count(3)  # two checks of the list, and the one that is shown
    assert failed.last.evaluate(RED)


def the_refused_release_says_why(page, _):
    expect(page.get_by_text("Failure", exact=True).first).to_be_visible()
    said = re.compile(
        "at least k = 3 users must share every set; 1 sets have.*Nothing was published"
    )
    expect(page.get_by_text(said).first).to_be_visible()


def the_graph_shows_where_it_failed(page, _):
    # The colors come later than the names.
    page.wait_for_function(RED_NODES, arg=["anonymized_threads", "release"])
