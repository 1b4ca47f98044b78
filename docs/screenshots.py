"""Screenshots of the demo for README and docs; run by `make screenshots`, needs Chromium.

All data in the pictures are synthetic.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect
from support.browser import chromium, open_browser
from support.ui_server import (
    CHECKS_PAGE,
    COLLAPSE_NAVIGATION,
    GROUP_PAGE,
    JOB_PAGE,
    Server,
    invalid_threads,
    run_server,
)

from setanon_dagster.report.build import REPORT

IMAGES: Final = Path(__file__).parent / "images"

LARGEST: Final = 300_000
"""Maximum size of a picture in bytes."""

COLORS: Final = 255
"""Size of the palette; it reduces a picture to a third of its size."""

MARGIN: Final = 16
"""Pixels around the selected elements."""

GRAPH: Final = """
    localStorage.setItem("asset-graph-direction", '"vertical"');
    localStorage.setItem("asset-node-facets", '["description", "checks", "status"]');
"""
"""Vertical layout, which fits the width of a README, and descriptions in the nodes."""

EDGE_COLOR: Final = "* { --color-lineage-edge: #8b93a7 !important; }"
"""Darker arrows: the default color of Dagster is too faint in a small picture."""

EXCERPT: Final = """
    main > section:not(#verdict), nav, footer, section .sharing { display: none; }
    body { padding-bottom: 1rem; } section { margin-top: 1rem; }
"""
"""Style that shows the decision page only: the complete report is many times as long."""


def main() -> None:
    """Release the demo, invalidate a stage file, and take a screenshot of each state."""
    path = chromium()
    if path is None:
        raise SystemExit("Screenshots need a browser. Install chromium.")
    IMAGES.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        open_browser(path) as browser,
        run_server(Path(folder)) as server,
    ):
        with _page(browser, 1280, 900) as page:
            page.goto(server.url + JOB_PAGE)
            _expect_end(server, server.start_run(page, "Materialize all"), "SUCCESS")
        asset_graph(browser, server)
        report(browser, server)
        with invalid_threads(server.folder):
            _expect_end(server, server.run_checks(), "FAILURE")
        failing_gate(browser, server)


def asset_graph(browser: Browser, server: Server) -> None:
    """All assets of a release, with their checks, after a successful run."""
    # At this height Dagster shows more than the names in the nodes.
    with _page(browser, 1150, 1400, COLLAPSE_NAVIGATION, GRAPH) as page:
        page.goto(server.url + GROUP_PAGE)
        expect(page.get_by_text("6 / 6 Passed")).to_be_visible()
        expect(page.get_by_text("Materialized", exact=True)).to_have_count(8)
        page.add_style_tag(content=EDGE_COLOR)
        boxes = [_box(each) for each in page.locator("svg foreignObject").all()]
        _save(page, "asset-graph.png", _around(boxes))


def failing_gate(browser: Browser, server: Server) -> None:
    """The checks of an invalid stage file: one set has fewer than k users."""
    width, height = 1120, 760
    with _page(browser, width, height, COLLAPSE_NAVIGATION) as page:
        page.goto(server.url + CHECKS_PAGE)
        expect(page.get_by_text("This does not hold: Every published set")).to_be_visible()
        expect(page.get_by_text("violating_sets").first).to_be_visible()
        # Cut off the navigation bar on the left and the plots below.
        left = _box(page.get_by_role("link", name="Assets").first)["x"] - MARGIN
        below = _box(page.get_by_text("Plots", exact=True))["y"] - MARGIN
        clip = {"x": left, "y": 0, "width": width - left, "height": below}
        _save(page, "failing-gate.png", clip)


def report(browser: Browser, server: Server) -> None:
    """The decision page of the report, in the light and the dark color scheme."""
    release = (server.folder / "releases" / "demo" / "latest").readlink().name
    written = (server.folder / "private" / release / REPORT).read_text("utf-8")
    shown = server.folder / REPORT
    shown.write_text(written.replace(f"{server.folder}/", ""), "utf-8")  # a temporary folder
    url = shown.as_uri()
    for name, scheme in (("report.png", "light"), ("report-dark.png", "dark")):
        with _page(browser, 880, 700, color_scheme=scheme) as page:
            page.goto(url)
            page.add_style_tag(content=EXCERPT)
            _save(page, name)


@contextmanager
def _page(
    browser: Browser,
    width: int,
    height: int,
    *scripts: str,
    **options: Any,  # noqa: ANN401 - options of Playwright
) -> Iterator[Page]:
    # Twice the pixels: text stays sharp when the README scales the picture down.
    size = {"width": width, "height": height}
    with browser.new_context(viewport=size, device_scale_factor=2, **options) as context:  # type: ignore[arg-type]
        for script in scripts:
            context.add_init_script(script)
        yield context.new_page()


def _box(element: Locator) -> Mapping[str, float]:
    box: Any = element.bounding_box()
    if box is None:
        raise SystemExit("An element of the screenshot is not visible on the page.")
    return dict(box)


def _around(boxes: Sequence[Mapping[str, float]]) -> dict[str, float]:
    left, top = min(box["x"] for box in boxes), min(box["y"] for box in boxes)
    right = max(box["x"] + box["width"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    return {
        "x": left - MARGIN,
        "y": top - MARGIN,
        "width": right - left + 2 * MARGIN,
        "height": bottom - top + 2 * MARGIN,
    }


def _expect_end(server: Server, run: str, end: str) -> None:
    status = server.wait_for_run(run)
    if status != end:
        raise SystemExit(f"The run must end with {end}; it ended with {status}.")


def _save(page: Page, name: str, clip: dict[str, float] | None = None) -> None:
    """Take a screenshot of the complete page or of a part, and write it with a small palette."""
    data = page.screenshot(clip=clip, full_page=clip is None, animations="disabled")  # type: ignore[arg-type]
    image = Image.open(BytesIO(data)).convert("RGB")
    image = image.quantize(COLORS, dither=Image.Dither.NONE)
    target = IMAGES / name
    image.save(target, optimize=True)
    size = target.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{name} must have at most {LARGEST:,} bytes; it has {size:,}.")
    print(f"{name}: {image.width} x {image.height}, {size:,} bytes")


if __name__ == "__main__":
    main()
