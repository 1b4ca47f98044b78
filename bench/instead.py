"""A release beside what one would write instead, on one log of the paper's shape, in one run."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
from measure import Run, run
from scale import Asked, K, Released, Row, release, told

from setanon_core import verify
from setanon_dagster.demo.log import USERS, write_demo_log

SCRIPTS = {"naive.py": "an afternoon's script", "dictionary.py": "the same, keys in a dictionary"}
"""What one would write, as the documentation of its libraries says; and a cleverer one."""

QUERIES = USERS * 412 // 82

ALIKE = ("--method", "paper", "--p", "3")
"""What the cleverer script does, nearly: the same keys, but groups within each cluster."""

THREADS = """
    SELECT string_split(string_agg(query, ' '), ' '), any_value("user")
    FROM read_parquet('{}') AS published JOIN read_parquet('{}') AS ledger USING (thread_id)
    GROUP BY thread_id
"""


def compare(queries: int, asked: Asked) -> list[Row]:
    """All ways to publish the log; the one verifier judges them, by users."""
    source = asked.folder / "paper.tsv"
    write_demo_log(source, max(queries * 82 // 412, 1), queries, asked.seed)
    rows = [row for options in ((), ALIKE) for row in _ours(source, asked, options)]
    scripts = [_theirs(source, asked, script) for script in SCRIPTS]
    compared(rows, scripts[0], "seconds", "times as fast as the script")
    compared(rows, scripts[1], "seconds", "as that with a dictionary")
    compared(rows, scripts[0], "CPU s", "times less CPU than the script")
    return [{"queries": queries, "k": K, **row} for row in rows + scripts]


def compared(rows: list[Row], other: Row, name: str, said: str) -> None:
    """Tell how many times as much the other took, where both were measured."""
    for row in rows:
        if name in row and name in other:
            row[said] = round(_number(other[name]) / max(_number(row[name]), 0.1), 2)


def _number(value: object) -> float:
    return float(str(value))


def _ours(source: Path, asked: Asked, options: tuple[str, ...]) -> Iterator[Row]:
    done = release(source, asked, *options)
    name = " ".join((f"setanon release --workers {asked.workers}", *options))
    if done.run.failure:
        yield {"way": name, "failed": done.run.failure}
        return
    row = told(done)
    cost = {key: row[key] for key in ("threads", "retained")}
    yield {
        "way": name,
        **{key: row[key] for key in ("seconds", "CPU s", "peak MB")},
        **cost,
        "verified": judged(done),
    }
    yield {"way": "its stages and gate, without checks", "seconds": row["without checks"]}


def _theirs(source: Path, asked: Asked, script: str) -> Row:
    target = asked.folder / "theirs.parquet"
    path = Path(__file__).with_name(script)
    done = run([sys.executable, str(path), str(source), str(target), "--k", str(K)], asked.timeout)
    return {"way": SCRIPTS[script], **_told(done)}


def _told(done: Run) -> Row:
    if done.failure:
        return {"failed": done.failure}
    found = json.loads(done.out)
    return {
        "seconds": round(done.wall, 1),
        "CPU s": round(done.cpu, 1),
        "peak MB": round(done.peak),
        "threads": found["threads"],
        "retained": round(found["retained"], 3),
        "verified": found["verified"],
    }


def judged(done: Released) -> bool:
    """Ask the core's verifier about the published file, with the users of the private ledger."""
    private = done.folder.parents[1] / "private" / done.folder.name / "ledger.parquet"
    with duckdb.connect() as connection:
        query = THREADS.format(done.folder / "threads.parquet", private)
        rows = connection.execute(query).fetchall()
    return verify([set(words) for words, _ in rows], K, [user for _, user in rows]).ok
