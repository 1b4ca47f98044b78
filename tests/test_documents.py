import contextlib
import io
import json
import re
from pathlib import Path
from runpy import run_path

import pytest
from support.case_study import SESSION, case_study

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAPER = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FOREIGN = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def without_code(text):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors_of(page):
    """The anchors that a page's headings have, on the site and where repositories are shown."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("code", "printed"),
    re.findall(
        r"```python\n((?:(?!```).)*from setanon_core.*?)```\n\n(?:prints\n\n)?```text\n(.*?)```",
        README,
        re.DOTALL,
    ),
    ids=["anonymize", "frame", "anonymize_log"],
)
def test_readme_examples_print_the_output_shown(code, printed):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})  # noqa: S102 - our own README

    assert output.getvalue() == printed


def test_the_user_of_the_readme_is_the_one_of_the_case_study():
    rows = re.findall(r"^\| (?!typed|-)(.*?) \| (.*?) \|$", README.split("\n## ")[0], re.MULTILINE)
    typed = [before.replace("~~", "") for before, _ in rows]
    read = [after.replace("**", "") for _, after in rows]
    hers = {query for thread in case_study()[0] for query in thread}

    assert len(rows) == 6
    assert set(typed) <= set(SESSION)
    assert set(read[:-1]) <= hers
    assert [re.sub(r"~~\S+~~ ?", "", before).strip() for before, _ in rows[:-1]] == [
        re.sub(r"\*\*\S+\*\* ?", "", after) for _, after in rows[:-1]
    ]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.py)`", PAPER))))
def test_every_file_named_on_the_paper_page_exists(name):
    folders = (".", "setanon_core", "tests/paper", "tests/core")

    assert any((ROOT / folder / name).exists() for folder in folders)


def test_every_module_with_a_deviation_is_on_the_paper_page():
    core = ROOT / "setanon_core"
    deviating = {
        str(path.relative_to(core))
        for path in core.rglob("*.py")
        if re.search(r"^Deviation:  (?!none)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }

    assert deviating - set(re.findall(r"`([\w/]+\.py)`", PAPER)) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_has_a_target(page):
    broken = []
    for _, _, target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path) if path else page
        if not place.exists() or (anchor and anchor not in anchors_of(place)):
            broken.append(target)

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_picture_has_a_text_alternative(page):
    found = LINK.findall(without_code(page.read_text(encoding="utf-8")))

    assert [target for picture, text, target in found if picture and len(text) < 15] == []


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_generated_regions_are_up_to_date(page):
    pytest.importorskip("duckdb", reason="the generator imports the plugin")
    generate = run_path(str(ROOT / "docs" / "generate.py"))
    text = (ROOT / page).read_text(encoding="utf-8")

    assert generate["updated"](text) == text, "run: python docs/generate.py"


def test_the_tables_of_the_scale_page_are_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    scale = run_path(str(ROOT / "bench" / "scale.py"))
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")

    assert scale["updated"](text) == text, "run: python bench/scale.py --paste docs/scale.md"


def test_every_module_on_the_path_of_a_row_exists():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = re.findall(r"`(setanon_\w+(?:/\w+)+)`", page.split("## The path of one row")[1])

    assert len(modules) > 10
    assert [name for name in modules if not (ROOT / f"{name}.py").exists()] == []


def test_the_first_screen_of_the_readme_states_the_limits():
    first = README.split("\n## ")[0]

    assert len(first.splitlines()) <= 50
    for limit in (
        "not differential privacy",
        "may be that of other users of the group",
        "whose number and order often only one user has",
        "can confirm guesses",
        "link several threads",
    ):
        assert limit in " ".join(first.split())


@pytest.mark.slow
def test_the_site_builds_strictly_with_every_page(site):
    pages = {str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in PAGES[1:]}

    assert pages <= {str(page.relative_to(site)) for page in site.rglob("*.html")}


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site):
    loaded = {
        found for page in site.rglob("*.html") for found in FOREIGN.findall(page.read_text("utf-8"))
    }

    assert loaded == set()


@pytest.mark.slow
def test_the_site_can_be_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"] for entry in index["docs"] if "min_owners" in entry["text"]}

    assert {
        "reference/parameters.html#release",
        "privacy.html#what-a-release-guarantees",
    } <= places


@pytest.mark.slow
def test_the_reference_has_a_table_of_all_arguments(site):
    core = (site / "reference" / "core.html").read_text(encoding="utf-8")

    assert core.count("<th>argument</th>") == 6
    assert "Column of the times of a table: datetimes" in core
    assert "<!-- arguments" not in core


@pytest.mark.slow
def test_the_site_is_filled_in_from_the_code(site):
    core, commands, parameters = (
        (site / "reference" / f"{name}.html").read_text(encoding="utf-8")
        for name in ("core", "command-line", "parameters")
    )

    assert "set shared by at least k users, with few changes" in core
    assert "&gt;&gt;&gt;" in core
    assert "setanon release [OPTIONS] SOURCE..." in commands
    assert "longest_line" in parameters
    assert "<!-- parameters" not in parameters
