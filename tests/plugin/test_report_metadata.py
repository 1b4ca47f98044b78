from dataclasses import replace
from pathlib import Path

import pytest
from support.reports import COST, SMALL, THREADS, certified

dg = pytest.importorskip("dagster")

from dagster._serdes import serialize_value  # noqa: E402 - what Dagster stores is what may tell

from setanon_dagster.report.metadata import (  # noqa: E402
    cost_metadata,
    numbers,
    release_metadata,
    summary,
)

LARGEST = 100_000
"""Bytes of all metadata of one release: Dagster keeps them for ever."""


def stored(metadata):
    return serialize_value(dg.AssetMaterialization("release", metadata=metadata))


def test_no_word_of_a_thread_is_told():
    told = stored(release_metadata(replace(SMALL, threads=THREADS), Path("report.html")))
    for thread in THREADS:
        for word in (word.text for query in thread.queries for word in query):
            assert word not in told


def test_numbers_keep_their_kinds_so_that_they_plot_over_time():
    whole = certified(cost={**COST, "retained": 1, "factor": 1})
    kinds = {name: type(value) for name, value in numbers(SMALL).items()}
    assert kinds == {name: type(value) for name, value in numbers(whole).items()}
    assert numbers(SMALL)["setanon/retained"].value == 0.75
    assert numbers(SMALL)["setanon/deleted_as_rare"].value == 65


def test_a_factor_without_limit_is_not_told():
    assert "setanon/factor" not in numbers(certified(cost={**COST, "factor": None}))


def test_tables_have_a_cell_for_each_column():
    told = release_metadata(SMALL)
    for name in ("cost_by_round", "cost_by_cause", "group_sizes", "cost_by_k"):
        columns = [column.name for column in told[f"setanon/{name}"].schema.columns]
        assert len(columns) == len(set(columns))
        assert told[f"setanon/{name}"].records
        assert all(list(record.data) == columns for record in told[f"setanon/{name}"].records)


def test_the_summary_has_one_figure_and_is_small():
    pytest.importorskip("matplotlib")
    text = summary(SMALL)
    assert text.startswith("**Verified**: every published set is that of at least 3 users.")
    assert text.count("data:image/png;base64,") == 1
    assert summary(SMALL) == text
    assert len(stored(release_metadata(SMALL))) < LARGEST


def test_a_refused_release_is_called_refused():
    assert summary(certified(k=4)).startswith("**Refused**")


def test_pages_are_linked_by_their_paths(tmp_path):
    told = release_metadata(SMALL, tmp_path / "report.html", tmp_path / "index.html")
    assert told["setanon/report"].value == str(tmp_path / "report.html")
    assert told["setanon/data_docs"].value == str(tmp_path / "index.html")
    assert "setanon/report" not in release_metadata(SMALL)


def test_what_was_not_counted_is_not_told():
    bare = replace(SMALL, rounds=(), sizes=(), losses=None, sweep=())
    assert cost_metadata(bare) == {}
    assert "![" not in summary(bare)
    assert stored(release_metadata(bare))
