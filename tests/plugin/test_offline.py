"""Data Docs load nothing from elsewhere, and their index leads to every page."""

import re
from pathlib import Path

import pytest

pytest.importorskip("great_expectations")

from setanon_dagster.quality.data_docs import make_offline

REMOTE = re.compile(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""")


def test_data_docs_of_a_run_load_nothing_and_can_be_read(good):
    config, _ = good
    folder = next((Path(config.out) / "private" / "data_docs").rglob("index.html")).parent
    pages = sorted(folder.rglob("*.html"))

    assert len(pages) > 10
    for page in pages:
        text = page.read_text("utf-8")
        assert "<script" not in text
        assert "default-src 'none'" in text
        loaded = [tag for tag in re.findall(r"<(?:link|img)[^>]*>", text) if REMOTE.search(tag)]
        assert loaded == []
    index = (folder / "index.html").read_text("utf-8")
    links = re.findall(r'href="([^"]+)"', index)
    assert sorted(folder / link for link in links) == [p for p in pages if p.name != "index.html"]
    assert "every set has k users" in index


def test_scripts_styles_and_pictures_from_elsewhere_leave_a_page(tmp_path):
    page = tmp_path / "expectations" / "a_promise.html"
    page.parent.mkdir()
    page.write_text(
        '<html><head><link rel="x" href="https://a/b.css"><SCRIPT src="//c/d.js"></SCRIPT></head>'
        '<body><img src=http://e/f.png><script>\nrun()\n</script><p>kept <img src="data:x"></p>'
    )

    make_offline(tmp_path)

    text = page.read_text()
    assert '<p>kept <img src="data:x"></p>' in text
    assert not [gone for gone in ("https://", "//c", "http://e", "run()") if gone in text]
    assert "a promise" in (tmp_path / "index.html").read_text()
