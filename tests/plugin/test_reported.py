"""The report of a release, as the asset writes it."""

from dataclasses import replace

import pytest

dg = pytest.importorskip("dagster")

from support.trial import asked, latest, make, releases, storage  # noqa: E402 - after the skip

from setanon_dagster import assets  # noqa: E402
from setanon_dagster.assets import build_setanon_assets, storage_key  # noqa: E402
from setanon_dagster.config import ReleaseConfig  # noqa: E402
from setanon_dagster.report.build import REPORT  # noqa: E402
from setanon_dagster.sources.source import Source  # noqa: E402
from setanon_dagster.translator import SetanonTranslator, Stage  # noqa: E402

WORDS = ("pine", "straw", "garden", "copper", "kettle", "mulch", "xylotrope")


def page_of(config):
    (private,) = (config.folder / "private").glob("trial-*")
    return (private / REPORT).read_text("utf-8")


def test_every_release_has_a_report_without_a_word_of_anybody(tmp_path):
    config = asked(tmp_path)
    ran = make(config)

    assert ran.success, ran.failures
    page = page_of(config)
    assert latest(config) in page
    assert not [word for word in WORDS if word in page]
    assert ran.metadata["release"]["setanon/report"].endswith(REPORT)
    assert ran.metadata["release"]["setanon/violations"] == 0
    assert "setanon/cost_by_k" not in ran.metadata["release"]


def test_a_full_report_has_other_k_and_utility(tmp_path):
    config = asked(tmp_path, report="full")
    ran = make(config)

    assert ran.success, ran.failures
    page = page_of(config)
    assert "paper" in page
    assert "keyword" in page
    assert len(ran.metadata["release"]["setanon/cost_by_k"].records) >= 10
    assert not [word for word in WORDS if word in page + ran.told]


class RenamedStages(SetanonTranslator):
    def get_asset_spec(self, stage):
        spec = super().get_asset_spec(stage)
        return spec.replace_attributes(key=dg.AssetKey(["warehouse", f"the_{stage.name}", "v2"]))


@pytest.mark.parametrize("kind", ["log", "baskets"])
def test_full_report_of_renamed_assets_has_utility(tmp_path, kind):
    config = asked(tmp_path, report="full")
    if kind == "baskets":
        rows = [f"b{n},{item}" for n in range(6) for item in ("pine", "straw")]
        (tmp_path / "baskets.csv").write_text("\n".join(["record,item", *rows]))
        source = Source(str(tmp_path / "baskets.csv"), kind="baskets")
        config = replace(config, source=source)
    translator = RenamedStages()
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            build_setanon_assets(config, translator),
            resources={storage_key(config): storage(config)},
            instance=instance,
        )
        release = translator.get_asset_spec(Stage("release", config)).key
        upstream = {key for made in build_setanon_assets(config, translator)
                    if release in made.keys for key in made.asset_deps[release]}  # fmt: skip

    assert result.success
    page = page_of(config)
    assert 'id="utility"' in page
    assert 'id="retained"' in page
    assert dg.AssetKey(["warehouse", f"the_raw_{kind}", "v2"]) not in upstream


def test_threads_are_shown_only_where_that_is_asked_for(tmp_path):
    config = asked(tmp_path, show_threads=True)
    ran = make(config)

    assert "pine" in page_of(config)
    assert not [word for word in WORDS if word in ran.told]
    public = "".join(
        path.read_text("utf-8") for path in (releases(config) / latest(config)).glob("*.md")
    )
    assert not [word for word in WORDS if word in public]


def test_a_report_that_fails_does_not_take_the_release_back_nor_tell_why(tmp_path, monkeypatch):
    def broken(*_):
        raise ValueError("pine straw of ann")

    monkeypatch.setattr(assets, "write_release_report", broken)
    config = asked(tmp_path)
    ran = make(config)

    assert ran.success
    assert (releases(config) / latest(config)).is_dir()
    assert ran.metadata["release"]["setanon/smallest_group"] == 3
    assert "The report could not be written: ValueError" in ran.told
    assert "pine straw of ann" not in ran.told


def test_a_kind_of_report_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(Exception, match="report must be"):
        asked(tmp_path, report="long")
    assert ReleaseConfig.__dataclass_fields__["show_threads"].default is False
