"""The counts of a source are stored with its rejected rows."""

import duckdb
import pyarrow as pa
from pyarrow import parquet
from support.release_runs import materialize, release_config
from support.source_rows import HEADER

from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.sources.source_counts import (
    SourceCounts,
    counts_of,
    read_source_counts,
    write_rejected_rows,
)


def test_counts_are_read_back_from_the_stage(tmp_path):
    data = HEADER + b"u1\t2024-01-02\tcaf\xe9\n\nu1\tnever\tpine\nu1\n"
    connection = duckdb.connect()
    (tmp_path / "log.tsv").write_bytes(data)
    source = Source(str(tmp_path / "log.tsv"), max_rejected=1)
    result = read_source(source, connection=connection)
    path = tmp_path / "rejected.parquet"
    assert write_rejected_rows(result, path, connection) == 2
    counts = read_source_counts(path)
    assert counts == counts_of(result) == SourceCounts(
        lines=3, accepted=1, outside=0, blank=1, encodings=("windows-1252",),
        rejected_by_reason={"columns": 1, "time unreadable": 1},
    )  # fmt: skip
    assert counts.rejected == 2
    assert parquet.read_table(path).to_pydict() == {
        "line": [4, 5], "reason": ["time unreadable", "columns"],
    }  # fmt: skip


def test_files_of_earlier_versions_have_no_counts(tmp_path):
    parquet.write_table(pa.table({"line": [1]}), tmp_path / "old.parquet")
    assert read_source_counts(tmp_path / "old.parquet") is None


def test_the_stage_of_a_run_has_the_counts(tmp_path):
    config = release_config(tmp_path)
    assert materialize(config, "raw_log", "rejected_rows").success
    counts = read_source_counts(config.stages / "trial" / "rejected_rows" / "all.parquet")
    assert (counts.lines, counts.accepted, counts.encodings) == (12, 10, ("utf-8",))
    assert counts.rejected_by_reason == {"user missing": 1, "time unreadable": 1}
