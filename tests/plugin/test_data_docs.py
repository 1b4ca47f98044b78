"""Data Docs load no remote content, and their index links to every page."""

import re
from pathlib import Path

import pytest

pytest.importorskip("great_expectations")

from setanon_dagster.quality.data_docs import make_offline

REMOTE = re.compile(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""")


def test_data_docs_of_a_run_load_nothing_and_are_all_linked(finished_release):
    config, _ = finished_release
    folder = next((Path(config.out) / "private" / "data_docs").rglob("index.html")).parent
    pages = sorted(folder.rglob("*.html"))

    assert len(pages) > 10
    for page in pages:
        text = page.read_text("utf-8")
        assert "<script" not in text
        assert "default-src 'none'" in text
        remote = [tag for tag in re.findall(r"<(?:link|img)[^>]*>", text) if REMOTE.search(tag)]
        assert remote == []
    index = (folder / "index.html").read_text("utf-8")
    links = re.findall(r'href="([^"]+)"', index)
    assert sorted(folder / link for link in links) == [p for p in pages if p.name != "index.html"]
    assert "every set has k users" in index


def test_remote_scripts_styles_and_images_are_removed(tmp_path):
    page = tmp_path / "expectations" / "a_promise.html"
    page.parent.mkdir()
    page.write_text(
        '<html><head><link rel="x" href="https://a/b.css"><SCRIPT src="//c/d.js"></SCRIPT></head>'
        '<body><img src=http://e/f.png><script>\nrun()\n</script><p>kept <img src="data:x"></p>'
    )

    make_offline(tmp_path)

    text = page.read_text()
    assert '<p>kept <img src="data:x"></p>' in text
    assert not [part for part in ("https://", "//c", "http://e", "run()") if part in text]
    assert "a promise" in (tmp_path / "index.html").read_text()
