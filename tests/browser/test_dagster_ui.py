"""The Dagster UI of the demo, started by `setanon ui`, in a browser.

One test with one subtest per fact: the server starts slowly, and each step changes its state.
"""

import re
from contextlib import contextmanager

import pytest

pytest.importorskip("playwright")
pytest.importorskip("dagster_webserver")

from playwright.sync_api import expect
from support.browser import watch_page
from support.ui_server import CHECKS_PAGE, GROUP_PAGE, JOB_PAGE, invalid_threads

from setanon_dagster.translator import LOG_STAGES, STAGES

pytestmark = pytest.mark.slow

HARMLESS = (
    # The UI closes its socket when a page is left.
    re.compile(r"WebSocket connection to '\S+/graphql' failed"),
)
"""Console errors of the Dagster UI that are not failures."""

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
    const framed = nodes.filter(node => [...node.querySelectorAll("*")].some(red));
    return framed.map(node => node.textContent.trim()).sort().join() === expected.join();
}"""
"""Whether exactly the expected assets have a red frame."""


@pytest.fixture
def check(browser, server, screenshots, subtests):
    """Open a page, check a fact in a subtest, and take a screenshot."""

    def check_fact(fact, path):
        name = fact.__name__
        with (
            subtests.test(name.replace("_", " ")),
            open_page(browser, server, screenshots / name) as page,
        ):
            page.goto(server.url + path)
            fact(page, server)

    return check_fact


def test_ui_shows_a_release_and_a_refused_release(browser, server, screenshots, check):
    check(assets_are_listed_with_their_descriptions, "/assets")

    with open_page(browser, server) as page:
        page.goto(server.url + JOB_PAGE)
        run = server.start_run(page, "Materialize all")
        assert server.wait_for_run(run) == "SUCCESS"
    check(run_has_all_assets_and_checks, f"/runs/{run}")
    check(graph_shows_all_assets, GROUP_PAGE)
    check(release_has_the_numbers_of_its_report, "/assets/demo/release")
    check(passed_checks_are_shown, CHECKS_PAGE)
    report_of_the_release_opens(browser, server, screenshots)

    latest = (server.folder / "releases" / "demo" / "latest").readlink()
    with open_page(browser, server) as page, invalid_threads(server.folder):
        page.goto(f"{server.url}/assets/demo/release")
        # Both at once: the gate does not depend on the checks.
        checks = server.run_checks()
        run = server.start_run(page, "Materialize")
        assert (server.wait_for_run(checks), server.wait_for_run(run)) == ("FAILURE", "FAILURE")
    check(failed_check_is_red_and_states_the_violation, CHECKS_PAGE)
    check(refused_release_states_the_reason, f"/runs/{run}")
    check(graph_shows_the_failed_assets, GROUP_PAGE)
    assert (server.folder / "releases" / "demo" / "latest").readlink() == latest


@contextmanager
def open_page(browser, server, screenshot=None):
    """A page of the UI; it must have no errors, and must not send requests to other addresses."""
    with browser.new_context(viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        log = watch_page(page, server.url)
        try:
            yield page
        finally:
            if screenshot is not None:
                page.screenshot(path=screenshot.with_suffix(".png"))
    assert log.foreign_requests == []
    assert [
        text for text in log.errors if not any(pattern.search(text) for pattern in HARMLESS)
    ] == []


def assets_are_listed_with_their_descriptions(page, _):
    for stage in LOG_STAGES:
        expect(page.get_by_text(STAGES[stage]).first).to_be_visible()


def run_has_all_assets_and_checks(page, _):
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()
    expect(page.get_by_text("8 assets")).to_be_visible()
    expect(page.get_by_text("15 checks")).to_be_visible()


def graph_shows_all_assets(page, _):
    for stage in LOG_STAGES:
        expect(page.locator("svg foreignObject").get_by_text(stage, exact=True)).to_be_visible()


def release_has_the_numbers_of_its_report(page, server):
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
        # The first match: rows of nested tables may have the same names.
        row = page.locator(f"xpath=//tr[td[1][normalize-space() = '{name}']]").first
        expect(row.get_by_text(str(value), exact=True).first).to_be_visible()


def report_of_the_release_opens(browser, server, screenshots):
    with browser.new_context() as context:
        page = context.new_page()
        log = watch_page(page, server.report.as_uri())
        page.goto(server.report.as_uri())
        page.screenshot(path=screenshots / "report-of-the-release.png", full_page=True)
        retained = server.certificate["cost"]["retained"]
        expect(page.get_by_text(f"{retained:.1%}").first).to_be_visible()
        expect(page.locator(".verdict")).to_contain_text("Verified")
    assert (log.foreign_requests, log.errors) == ([], [])


def passed_checks_are_shown(page, _):
    expect(page.get_by_text("Passed", exact=True)).to_be_visible()
    expect(page.get_by_text("Succeeded", exact=True)).to_have_count(8)


def failed_check_is_red_and_states_the_violation(page, _):
    expect(page.get_by_text("This does not hold: Every published set")).to_be_visible()
    failed = page.get_by_text("Failed", exact=True)
    expect(failed).to_have_count(4)  # three checks in the list, and the selected one
    assert failed.last.evaluate(RED)


def refused_release_states_the_reason(page, _):
    expect(page.get_by_text("Failure", exact=True).first).to_be_visible()
    reason = re.compile(
        "at least k = 3 users must share every list of queries; 2 lists of queries and 1 sets "
        "have.*Nothing was published"
    )
    expect(page.get_by_text(reason).first).to_be_visible()


def graph_shows_the_failed_assets(page, _):
    # Colors are rendered after the names.
    page.wait_for_function(RED_NODES, arg=["anonymized_threads", "release"])
