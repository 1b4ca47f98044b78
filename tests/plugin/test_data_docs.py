"""Data Docs: an index with result, name and date; one page per check; nothing remote."""

import re

import pytest

from setanon_dagster.quality.data_docs import CheckOutcome, DataDocs, write_data_docs

PROMISED = {"every_set": "Every set is shared by 3 users.", "one_row": "Rows are <unique>."}
PASSED = {"every_set": CheckOutcome(True, {"fewest_users": 1200}), "one_row": CheckOutcome(True)}  # noqa: FBT003
BROKEN = PASSED | {"one_row": CheckOutcome.of_error(KeyError("canary"))}


@pytest.fixture
def docs(tmp_path):
    return DataDocs(tmp_path / "docs" / "all", "searches, 2026-03-02")


def pages(folder):
    return {page.name: page.read_text("utf-8") for page in folder.iterdir()}


def test_index_has_name_result_and_date_and_links_all_pages(docs):
    write_data_docs(docs, PASSED, PROMISED)
    written = pages(docs.folder)
    index = written["index.html"]
    assert "<h1>Checks of searches, 2026-03-02</h1>" in index
    assert re.search(r"All checks passed</span>, \d{4}-\d\d-\d\d \d\d:\d\d UTC", index)
    links = set(re.findall(r'href="([^"]+)"', index))
    assert links == (written.keys() - {"index.html"}) | {"../index.html"}
    assert "Rows are &lt;unique&gt;." in index
    assert "<td>fewest users</td><td>1,200</td>" in written["every_set.html"]


def test_pages_run_no_script_and_load_nothing(docs):
    write_data_docs(docs, PASSED, PROMISED)
    for page in pages(docs.folder).values():
        assert "default-src 'none'" in page
        assert not re.search(r"<script|<link|<img|https?:|//\w", page)


def test_failed_run_is_kept_apart_and_both_are_linked(docs):
    write_data_docs(docs, PASSED, PROMISED)
    good = pages(docs.folder)
    write_data_docs(docs, BROKEN, PROMISED)
    assert pages(docs.folder) == good
    failed = pages(docs.failed)
    assert "1 of 2 checks failed" in failed["index.html"]
    assert "could not be checked (KeyError)" in failed["one_row.html"]
    assert "canary" not in "".join(failed.values())
    assert 'href="../all/index.html"' in failed["index.html"]
    write_data_docs(docs, PASSED, PROMISED)
    assert 'href="../all~failed/index.html"' in pages(docs.folder)["index.html"]
    assert docs.index(BROKEN).parent == docs.failed
    assert sorted(path.name for path in docs.folder.parent.iterdir()) == [
        "all", "all~failed", "index.html",
    ]  # fmt: skip


def test_failed_checks_are_listed_first(docs):
    write_data_docs(docs, BROKEN, PROMISED)
    index = pages(docs.failed)["index.html"]
    assert index.index("one row") < index.index("every set")


def test_index_of_a_release_lists_each_part_with_result_and_date(tmp_path):
    release = tmp_path / "searches"
    for day, outcomes in (("2026-03-01", PASSED), ("2026-03-02", PASSED), ("2026-03-02", BROKEN)):
        write_data_docs(DataDocs(release / day, f"searches, {day}"), outcomes, PROMISED)
    index = (release / "index.html").read_text("utf-8")
    assert "<h1>Checks of searches</h1>" in index
    row = r'href="([^"]+)/index.html">([^<]+)</a></td><td><span class="\w+">(\w+)</span></td><td>'
    assert re.findall(row + r"\d{4}-\d\d-\d\d \d\d:\d\d UTC</td>", index) == [
        ("2026-03-02~failed", "2026-03-02", "failed"),
        ("2026-03-02", "2026-03-02", "passed"),
        ("2026-03-01", "2026-03-01", "passed"),
    ]
    assert all((release / folder / "index.html").is_file() for folder, *_ in re.findall(row, index))


def test_release_without_partitions_is_the_complete_source(docs):
    write_data_docs(docs, PASSED, PROMISED)
    index = (docs.folder.parent / "index.html").read_text("utf-8")
    assert '<a href="all/index.html">complete source</a>' in index


def test_pages_have_no_empty_cell_and_no_name_of_a_program(docs):
    write_data_docs(docs, BROKEN, PROMISED)
    for page in (*pages(docs.failed).values(), (docs.folder.parent / "index.html").read_text()):
        assert "<td></td>" not in page
        assert not re.search("None|__|DATAFRAME|<th></th>", page)
