"""A demo log of the paper's size: the stages of section 5 beside DuckDB, and the two methods."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from measure import seconds

from setanon_core.pipeline import Threads, sweep
from setanon_core.release import ReleaseParams
from setanon_dagster.demo import write_demo_log
from setanon_dagster.stages import ROUNDS, clusters_table, threads_of, threads_table

SORT = """
COPY (SELECT * FROM read_csv(?, delim = '\t', header = true, quote = '') ORDER BY user, time)
TO '{}' (FORMAT parquet)
"""
BEST = ReleaseParams(3, min_owners=0, secret=b"bench")
KS = (2, 3, 5, 10, 20)


def compare(users: int, times: int = 3) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """One core: DuckDB and the stages side by side; what the log is like; what methods keep."""
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        log, parquet = Path(folder) / "log.tsv", Path(folder) / "log.parquet"
        rows = write_demo_log(log, users=users)
        connection.execute("SET threads = 1")
        _, floor = seconds(lambda: connection.execute(SORT.format(parquet), [str(log)]), times)
        raw = connection.read_parquet(str(parquet)).to_arrow_table()
    separated, separating = seconds(lambda: threads_table(raw, BEST), times)
    table, clustering = seconds(lambda: clusters_table(separated, BEST), times)
    yield (
        "Demo log: stages beside DuckDB",
        [
            {"stage": name, "seconds": round(took, 2), "DuckDB = 1": round(took / floor, 2)}
            for name, took in (
                (f"DuckDB, one thread: read, sort and write {rows:,} queries", floor),
                ("threads", separating),
                ("keywords, signatures and cluster keys of all rounds", clustering),
            )
        ],
    )
    threads = threads_of(table, BEST)
    yield "Demo log: shape", [_shape(users, rows, table, threads)]
    yield "Demo log: methods, k = 3", list(_methods(threads))
    yield "Demo log: the paper's figure of costs, p = 2, min_owners = 0", list(_by_k(threads))


def _shape(users: int, rows: int, table: pa.Table, threads: Threads) -> dict[str, object]:
    keys = np.asarray(table["keys"].combine_chunks().flatten()).reshape(len(table), -1)
    found: dict[str, object] = {
        "users": users,
        "queries": rows,
        "threads": len(table),
        "keywords a thread": round(threads.records.sizes.mean(), 3),
    }
    for column, p in enumerate(ROUNDS):
        _, sizes = np.unique(keys[:, column], return_counts=True)
        found |= {f"clusters, p = {p}": len(sizes), f"largest, p = {p}": sizes.max()}
    return found


def _methods(threads: Threads) -> Iterator[dict[str, object]]:
    for name, params in {
        "best": BEST,
        "best, min_owners = k": ReleaseParams(3, secret=b"bench"),
        **{
            f"paper, p = {p}": ReleaseParams(3, "paper", p=p, min_owners=0, secret=b"bench")
            for p in ROUNDS[::-1]
        },
    }.items():
        (cost,), took = seconds(lambda params=params: list(sweep(threads, params, (params.k,))))
        flips = cost.certificate.cost
        yield {
            "method": name,
            "retained": round(cost.retained, 3),
            "threads kept": round(1 - flips.withdrawals / cost.threads, 3),
            "additions": flips.additions,
            "deletions": flips.deletions,
            "factor": round(cost.certificate.factor, 3),
            "seconds": round(took, 1),
        }


def _by_k(threads: Threads) -> Iterator[dict[str, object]]:
    params = ReleaseParams(2, "paper", p=2, min_owners=0, secret=b"bench")
    for cost in sweep(threads, params, KS):
        flips = cost.certificate.cost
        yield {
            "k": cost.k,
            "cost / keywords": round(flips.total / cost.keywords, 3),
            "additions, % of cost": round(100 * flips.additions / flips.total, 2),
        }
