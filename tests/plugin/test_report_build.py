"""The report as a file, and as the release asset writes it."""

import stat

import pytest
from support.reports import SMALL, certified

dg = pytest.importorskip("dagster")

from support.release_runs import (  # noqa: E402 - after the skip
    latest_release,
    materialize,
    release_config,
    releases_folder,
)

from setanon_dagster import assets  # noqa: E402
from setanon_dagster import metadata_keys as keys  # noqa: E402
from setanon_dagster.config import ReleaseConfig  # noqa: E402
from setanon_dagster.report.build import REPORT, write_report  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import SetanonTranslator  # noqa: E402

WORDS = ("pine", "straw", "garden", "copper", "kettle", "mulch", "xylotrope")


def page_of(config):
    (private,) = (config.folder / "private").glob("trial-*")
    return (private / REPORT).read_text("utf-8")


def words_in(text):
    return [word for word in WORDS if word in text]


def test_page_is_readable_by_its_owner_only(tmp_path):
    folder = tmp_path / "private" / "trial"
    first = write_report(SMALL, folder)
    written = first.read_bytes()
    assert write_report(SMALL, folder) == first == folder / "report.html"
    assert first.read_bytes() == written
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["report.html"]


def test_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    page = write_report(SMALL, tmp_path)
    written = page.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError))
    with pytest.raises(OSError):  # noqa: PT011 - an error of the disk has any message
        write_report(certified(k=4), tmp_path)
    assert page.read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_plain_report_contains_no_words_and_no_sweep(finished_release):
    config, result = finished_release
    page = page_of(config)
    assert latest_release(config) in page
    assert 'id="risk"' in page
    assert "list of queries of fewer than k users" in page
    assert not words_in(page)
    assert result.metadata["release"][keys.REPORT].endswith(REPORT)
    assert result.metadata["release"][keys.VIOLATIONS] == 0
    assert keys.COST_BY_K not in result.metadata["release"]


@pytest.mark.slow
def test_full_report_of_baskets_has_a_sweep_and_utility(tmp_path):
    rows = [f"b{n},{item}" for n in range(6) for item in ("pine", "straw")]
    (tmp_path / "baskets.csv").write_text("\n".join(["record,item", *rows]))
    source = Source(str(tmp_path / "baskets.csv"), kind="baskets")
    config = release_config(tmp_path, source=source, report="full")
    result = materialize(config)

    assert result.success, result.failures
    page = page_of(config)
    assert 'id="utility"' in page
    assert "paper" in page
    assert len(result.metadata["release"][keys.COST_BY_K].records) >= 10
    assert not words_in(page + result.events)


class RenamedAssets(SetanonTranslator):
    def get_asset_spec(self, stage):
        spec = super().get_asset_spec(stage)
        return spec.replace_attributes(key=dg.AssetKey(["warehouse", f"the_{stage.name}", "v2"]))


@pytest.mark.slow
def test_full_report_of_renamed_assets_has_utility(tmp_path):
    config, translator = release_config(tmp_path, report="full"), RenamedAssets()
    result = materialize(config, translator=translator)

    assert result.success, result.failures
    page = page_of(config)
    assert 'id="utility"' in page
    assert "keywords: rank correlation" in page
    assert "true guesses confirmed" in page
    assert not words_in(page + result.events)


def test_threads_are_shown_in_the_private_report_only(tmp_path):
    config = release_config(tmp_path, show_threads=True)
    result = materialize(config)

    assert "pine" in page_of(config)
    assert not words_in(result.events)
    public = "".join(
        path.read_text("utf-8")
        for path in (releases_folder(config) / latest_release(config)).glob("*.md")
    )
    assert not words_in(public)


def test_failed_report_keeps_the_release_and_withholds_the_message(tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("pine straw of ann")

    monkeypatch.setattr(assets, "write_release_report", broken)
    config = release_config(tmp_path)
    result = materialize(config)

    assert result.success
    assert (releases_folder(config) / latest_release(config)).is_dir()
    assert result.metadata["release"][keys.SMALLEST_GROUP] == 3
    assert "The report could not be written: ValueError" in result.events
    assert "pine straw of ann" not in result.events


def test_threads_are_not_shown_by_default():
    assert ReleaseConfig.__dataclass_fields__["show_threads"].default is False
