"""Counts of a report, from the stage files of a small release."""

import json
import stat
from math import inf
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.reports import stage_certificate, write_stages

from setanon_core.errors import SetanonError
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.build import report_of
from setanon_dagster.report.model import GroupSize, RoundCost, sweep_points


@pytest.fixture
def stages(tmp_path):
    return write_stages(tmp_path)


def count(stages, certificate):
    with open_stages(stages) as connection:
        return report_of("trial", certificate, connection)


def test_user_counts_once_per_group(stages):
    sizes = count(stages, stage_certificate()).sizes
    assert sizes == (GroupSize(users=3, groups=2, threads=7),)


def test_each_deletion_has_one_cause(stages):
    # Rare: mulch, ashby (three threads, two users), xylotrope, quimsby and quay.
    losses = count(stages, stage_certificate()).losses
    assert (losses.rare_published, losses.rare_withdrawn, losses.other_withdrawn) == (4, 3, 4)
    assert (losses.in_groups, losses.added) == (0, 1)
    assert losses.deleted == 11
    assert (losses.threads_all_rare, losses.threads_too_costly) == (1, 1)


def test_no_keyword_is_rare_without_min_owners(stages):
    losses = count(stages, stage_certificate(min_owners=0)).losses
    assert (losses.rare_published, losses.rare_withdrawn, losses.other_withdrawn) == (0, 0, 7)
    assert (losses.in_groups, losses.threads_too_costly) == (4, 2)


def test_rounds_have_the_k_and_method_of_the_release(stages):
    rounds = count(stages, stage_certificate()).rounds
    assert rounds == (RoundCost("star", 3, 9, 4), RoundCost("reassign", 1, 9, 2))


def test_missing_column_is_refused_without_quoting_data(stages):
    parquet.write_table(pa.table({"thread": ["quimsby"]}), stages["clusters"])
    with pytest.raises(SetanonError, match="must have the columns of their stage") as raised:
        count(stages, stage_certificate())
    assert "quimsby" not in str(raised.value)


def test_duckdb_spills_into_a_private_folder(stages, tmp_path):
    spill = tmp_path / "spill"
    with open_stages(stages, spill=spill, memory="100MB", cores=1) as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert spill in Path(folder).parents
        assert stat.S_IMODE(spill.stat().st_mode) == 0o700
    assert list(spill.iterdir()) == []


def test_sweep_point_without_lower_bound_has_no_upper_bound():
    rows = [
        {"k": 2, "method": "best", "round": name, "retained": 0.5, "additions": 0, "deletions": 5,
         "withdrawals": 1, "lower_bound": bound, "keywords": 10, "factor": factor}
        for name, bound, factor in (("star", 4, 2.0), ("total", 4, 1.25), ("total", 0, inf))
    ]  # fmt: skip
    assert [point.upper_bound for point in sweep_points(rows)] == [0.6, None]


def test_counts_of_a_real_release_equal_its_certificate(finished_release):
    from support.release_runs import stored_path

    config, _ = finished_release
    latest = (Path(config.out) / "releases" / config.name / "latest").resolve()
    certificate = json.loads(
        (config.private / latest.resolve().name / "certificate.json").read_text()
    )
    stages = ("anonymized_threads", "ledger", "clusters", "cost_report")
    report = count({stage: stored_path(config, stage) for stage in stages}, certificate)
    cost, verdict = certificate["cost"], certificate["verdict"]
    assert report.anonymous
    assert report.sizes[0].users == verdict["smallest_group"]
    assert sum(size.groups for size in report.sizes) == verdict["groups"]
    assert sum(size.threads for size in report.sizes) == verdict["records"]
    assert report.losses.deleted == cost["deletions"]
    withdrawn = report.losses.threads_all_rare + report.losses.threads_too_costly
    assert withdrawn == cost["withdrawals"]
    assert report.rounds[-1].total == cost["additions"] + cost["deletions"]
