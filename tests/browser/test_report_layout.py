"""The layout of reports in a browser: phones, figures, and printed sheets.

The reports are one made of constants and one of a real release.
"""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from support.page_scripts import CROSSED_LABELS, FIGURE_FONTS, OPEN_DETAILS, OUTSIDE
from support.reports import SMALL, THREADS, point

from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.report.build import update_decision, write_report
from setanon_dagster.report.model import GroupSize
from setanon_dagster.report.release_facts import ReleaseFacts, Sharing

pytestmark = pytest.mark.slow

PHONES = [320, 390]
PAPERS = ["A4", "Letter"]
RELEASES = ["first", "second"]

DECIDED = {
    "decision": "approved", "by": "Philippa Ondaatje-Brandenburg, data protection officer",
    "at": "2026-04-01T09:00:00+00:00", "policy": "Policy 7 of search data, section 3.2",
    "note": "Discussed on Monday; the research group signs the terms of use before it gets the "
    "link to the release.",
}  # fmt: skip
LARGE = replace(
    SMALL,
    threads=THREADS,
    facts=ReleaseFacts(
        source="/".join(["folder_of_the_search_department"] * 4), people=10**9, rows=10**10,
        published_rows=10**9, sharing=(Sharing(3, 10**9, 10**8),),
        first=datetime(2026, 3, 1, 8, tzinfo=UTC), last=datetime(2026, 3, 31, 9, tzinfo=UTC),
    ),
    sizes=tuple(GroupSize(3 * 2**n, 10**9 // 2**n, 10**10 // 2**n) for n in range(12)),
    sweep=tuple(
        point(k, method, share / k) for k in range(2, 60) for method, share in (("best", 1.5),)
    ),
)  # fmt: skip
"""Large numbers, long names, many groups and many k."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The pages of all reports, by name."""
    folder = tmp_path_factory.mktemp("reports")
    write_demo_log(folder / "log.tsv", 400)
    release = [sys.executable, "-m", "setanon_dagster.cli", "release", folder / "log.tsv"]
    options = ["--name", "log", "--out", folder / "out", "--report", "full"]
    # In processes of their own: Dagster and the browser both need an event loop.
    for more in (["--k", "4"], ["--k", "3", "--show-threads"]):
        subprocess.run([*release, *options, *more], check=True, capture_output=True)  # noqa: S603
    pages = (folder / "out" / "private").glob("log-*/report.html")
    first, second = sorted(pages, key=lambda page: page.stat().st_mtime_ns)
    (second.parent / "approval.json").write_text(json.dumps(DECIDED))
    update_decision(second.parent)
    return {"first": first, "second": second, "large": write_report(LARGE, folder / "large")}


@pytest.fixture
def opened(browser, reports):
    """A function that opens a report by name in a window of this width."""
    contexts = []

    def open_page(name, width=1100, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.goto(reports[name].as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [*PHONES, 640, 700, 1100])
@pytest.mark.parametrize("name", [*RELEASES, "large"])
def test_nothing_is_wider_than_the_window(opened, name, width):
    page = opened(name, width)
    page.evaluate(OPEN_DETAILS)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("width", PHONES)
def test_stacked_cells_have_the_names_of_their_columns(opened, width):
    page = opened("first", width)
    table = page.locator("#risk table").first
    names = table.locator("thead th").all_text_contents()[1:]
    row = table.locator("tbody tr").first
    script = "all => all.map(each => getComputedStyle(each, '::before').content)"

    assert len(names) == 3
    assert row.locator("td").evaluate_all(script) == [f'"{name}"' for name in names]
    assert row.locator("td").first.bounding_box()["y"] > row.locator("th").bounding_box()["y"]


@pytest.mark.parametrize("width", [*PHONES, 640, 1100])
@pytest.mark.parametrize("name", ["first", "large"])
def test_texts_of_figures_are_large_enough_to_read(opened, name, width):
    sizes = [size for size in opened(name, width).evaluate(FIGURE_FONTS) if size > 0]

    assert len(sizes) > 20
    assert min(sizes) >= 9


@pytest.mark.parametrize("width", [*PHONES, 640, 1100])
@pytest.mark.parametrize("name", [*RELEASES, "large"])
def test_labels_of_figures_do_not_overlap_and_no_line_crosses_them(opened, name, width):
    assert opened(name, width).evaluate(CROSSED_LABELS) == []


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", RELEASES)
def test_decision_is_printed_on_the_first_sheet_alone(opened, name, paper):
    from support.printed_pages import print_sheets

    first, second, *_ = print_sheets(opened(name), paper, marked=False)

    assert "Is this release to be published?" in first.text
    for heading in ("Chance to guess", "What attackers find", "Earlier release", "Decision"):
        assert heading in first.text
    assert ("signs the terms of use" in first.text) == (name == "second")
    assert second.text.lstrip().startswith("Terms")


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", [*RELEASES, "large"])
def test_headings_tables_and_figures_are_not_parted(opened, name, paper):
    from support.printed_pages import print_sheets

    sheets = print_sheets(opened(name), paper)

    headings = set().union(*(sheet.marks("heading") for sheet in sheets))
    assert len(headings) > 20
    for sheet in sheets:
        assert sheet.marks("heading") == sheet.marks("next"), "a heading is parted from its text"
        assert sheet.marks("row") <= sheet.marks("head"), "a header row is not repeated"
        assert sheet.marks("label") == sheet.marks("caption"), "a figure is parted"


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", RELEASES)
def test_no_printed_sheet_is_cut_off_or_half_empty(opened, name, paper):
    from support.printed_pages import print_sheets

    sheets = print_sheets(opened(name), paper, marked=False)

    assert 5 < len(sheets) < 12
    assert max(sheet.right for sheet in sheets) < 0.96
    assert min(sheet.bottom for sheet in sheets[:-1]) > 0.6
    assert "version of setanon" in sheets[-1].text
