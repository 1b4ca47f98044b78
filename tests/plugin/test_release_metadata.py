"""Dagster metadata of a release: stable keys and types, small, and without data."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.reports import COST, SMALL, THREADS, certified

dg = pytest.importorskip("dagster")

from dagster._serdes import serialize_value  # noqa: E402 - the text that Dagster stores

from setanon_dagster import metadata_keys as keys  # noqa: E402
from setanon_dagster.release_metadata import (  # noqa: E402
    cost_metadata,
    numbers,
    release_metadata,
    summary,
)

MAX_BYTES = 100_000
"""Size of the metadata of one release: Dagster stores it for each run."""


def stored(metadata):
    return serialize_value(dg.AssetMaterialization("release", metadata=metadata))


def test_metadata_contains_no_word_of_a_thread():
    text = stored(release_metadata(replace(SMALL, threads=THREADS), Path("report.html")))
    for thread in THREADS:
        for word in (word.text for query in thread.queries for word in query):
            assert word not in text


def test_integral_numbers_keep_their_types():
    integral = certified(cost={**COST, "retained": 1, "factor": 1})
    types = {key: type(value) for key, value in numbers(SMALL).items()}
    assert types == {key: type(value) for key, value in numbers(integral).items()}
    assert numbers(SMALL)[keys.RETAINED].value == 0.75
    assert numbers(SMALL)[keys.DELETED_AS_RARE].value == 65


def test_infinite_factor_is_omitted():
    assert keys.FACTOR not in numbers(certified(cost={**COST, "factor": None}))


def test_tables_have_unique_columns_and_complete_rows():
    metadata = release_metadata(SMALL)
    for key in (keys.COST_BY_ROUND, keys.COST_BY_CAUSE, keys.GROUP_SIZES, keys.COST_BY_K):
        table = metadata[key]
        columns = [column.name for column in table.schema.columns]
        assert len(columns) == len(set(columns))
        assert table.records
        assert all(list(record.data) == columns for record in table.records)


def test_summary_has_one_figure_and_metadata_is_small():
    pytest.importorskip("matplotlib")
    text = summary(SMALL)
    promise = "every published list of queries is shared by at least 3 users."
    assert text.startswith(f"**Verified**: {promise}")
    assert text.count("data:image/png;base64,") == 1
    assert summary(SMALL) == text
    assert len(stored(release_metadata(SMALL))) < MAX_BYTES


def test_summary_of_a_refused_release_states_it():
    assert summary(certified(k=4)).startswith("**Refused**")


def test_report_and_data_docs_are_absolute_paths(tmp_path):
    metadata = release_metadata(SMALL, tmp_path / "report.html", tmp_path / "index.html")
    assert metadata[keys.REPORT].value == str(tmp_path / "report.html")
    assert metadata[keys.DATA_DOCS].value == str(tmp_path / "index.html")
    assert keys.REPORT not in release_metadata(SMALL)


def test_missing_counts_are_omitted():
    bare = replace(SMALL, rounds=(), sizes=(), losses=None, sweep=())
    assert cost_metadata(bare) == {}
    assert "![" not in summary(bare)
    assert stored(release_metadata(bare))
