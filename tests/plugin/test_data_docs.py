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
    assert set(re.findall(r'href="([^"]+)"', index)) == written.keys() - {"index.html"}
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
    assert sorted(path.name for path in docs.folder.parent.iterdir()) == ["all", "all~failed"]
