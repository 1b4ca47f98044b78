"""A release compared with baseline scripts, on one log of the paper's shape, in one run."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
from markdown_table import Row
from measure import Run, run
from release_growth import K, MeasuredRelease, ReleaseSettings, release, release_row

from setanon_core import verify
from setanon_dagster.demo.log import USERS, write_demo_log

SCRIPTS = {
    "script_lsh_index.py": "script with an LSH index",
    "script_hash_keys.py": "script with a dictionary of hash keys",
}
QUERIES = USERS * 412 // 82

PAPER_OPTIONS = ("--method", "paper", "--p", "3")
"""Similar to the script with hash keys: the same keys, but groups within each cluster."""

THREADS = """
    SELECT string_split(string_agg(query, ' '), ' '), any_value("user")
    FROM read_parquet('{}') AS published JOIN read_parquet('{}') AS ledger USING (thread_id)
    GROUP BY thread_id
"""


def compare(queries: int, settings: ReleaseSettings) -> list[Row]:
    """Publish the log by each program; one verifier verifies all results, with the users."""
    source = settings.folder / "paper.tsv"
    write_demo_log(source, max(queries * 82 // 412, 1), queries, settings.seed)
    releases = [
        row for options in ((), PAPER_OPTIONS) for row in _release_rows(source, settings, options)
    ]
    lsh_index, hash_keys = (_script_row(source, settings, script) for script in SCRIPTS)
    add_ratio(releases, lsh_index, "seconds", "speedup over the LSH script")
    add_ratio(releases, hash_keys, "seconds", "speedup over the hash key script")
    add_ratio(releases, lsh_index, "CPU s", "CPU of the LSH script / CPU")
    return [{"queries": queries, "k": K, **row} for row in (*releases, lsh_index, hash_keys)]


def add_ratio(rows: list[Row], other: Row, name: str, column: str) -> None:
    """Add the ratio of the other's value to each row's, where both were measured."""
    for row in rows:
        if name in row and name in other:
            row[column] = round(_number(other[name]) / max(_number(row[name]), 0.1), 2)


def _number(value: object) -> float:
    return float(str(value))


def _release_rows(
    source: Path, settings: ReleaseSettings, options: tuple[str, ...]
) -> Iterator[Row]:
    measured = release(source, settings, *options)
    name = " ".join((f"setanon release --workers {settings.workers}", *options))
    if measured.run.failure:
        yield {"program": name, "failed": measured.run.failure}
        return
    row = release_row(measured)
    columns = ("seconds", "CPU s", "peak MB", "threads", "retained")
    yield {
        "program": name,
        **{column: row[column] for column in columns},
        "verified": is_verified(measured),
    }
    yield {"program": "its stages and gate, without checks", "seconds": row["without checks"]}


def _script_row(source: Path, settings: ReleaseSettings, script: str) -> Row:
    target = settings.folder / "script.parquet"
    path = Path(__file__).with_name(script)
    command = [sys.executable, str(path), str(source), str(target), "--k", str(K)]
    return {"program": SCRIPTS[script], **_measurements(run(command, settings.timeout))}


def _measurements(result: Run) -> Row:
    if result.failure:
        return {"failed": result.failure}
    counts = json.loads(result.out)
    return {
        "seconds": round(result.wall, 1),
        "CPU s": round(result.cpu, 1),
        "peak MB": round(result.peak),
        "threads": counts["threads"],
        "retained": round(counts["retained"], 3),
        "verified": counts["verified"],
    }


def is_verified(measured: MeasuredRelease) -> bool:
    """Verify the published file with the core's verifier and the users of the private ledger."""
    published = measured.folder
    ledger = published.parents[2] / "private" / published.name / "ledger.parquet"
    with duckdb.connect() as connection:
        query = THREADS.format(published / "threads.parquet", ledger)
        rows = connection.execute(query).fetchall()
    return verify([set(words) for words, _ in rows], K, users=[user for _, user in rows]).ok
