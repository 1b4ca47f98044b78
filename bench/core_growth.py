"""Growth of time and memory with the number of records, and edge cases that were slow once."""

import json
import subprocess
import sys
from math import log

import numpy as np
from markdown_table import Row
from measure import peak_megabytes, seconds
from synthetic_records import log_threads

from setanon_core import Records, anonymize, verify

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
K = 3


def measure_growth(sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Threads of logs of growing size, each measured in a new process."""
    rows: list[Row] = []
    for n in sizes:
        row = json.loads(
            subprocess.run(
                [sys.executable, __file__, str(n)], capture_output=True, text=True, check=True
            ).stdout
        )
        if rows:
            row["exponent"] = round(
                log(row["seconds"] / rows[-1]["seconds"]) / log(n / rows[-1]["records"]), 2
            )
        rows.append(row)
    overall = log(rows[-1]["seconds"] / rows[0]["seconds"]) / log(sizes[-1] / sizes[0])
    rows.append({"records": f"{sizes[0]} to {sizes[-1]}", "exponent": round(overall, 2)})
    return rows


def measure_size(n: int) -> Row:
    """Time, peak memory, cost and factor for n threads."""
    records = log_threads(n)
    result, duration = seconds(
        lambda: anonymize(records, K, min_owners=0), 3 if n <= SIZES[2] else 1
    )
    return {
        "records": n,
        "seconds": round(duration, 3),
        "peak MB": round(peak_megabytes()),
        "retained": round(1 - result.cost.total / len(records.items), 3),
        "factor": round(result.factor, 3),
    }


def measure_edge_cases() -> list[Row]:
    """One large cluster, long records, many copies, one user with most records, too few users."""
    rng = np.random.default_rng(0)
    popular = 1 / np.arange(1, 400)
    cluster = [
        [0, *(1 + rng.choice(399, rng.integers(0, 5), replace=False, p=popular / popular.sum()))]
        for _ in range(3_000)
    ]
    short = [[i % 7, 7 + i % 3] for i in range(200)]
    long = [rng.choice(1_200, 1_000, replace=False).tolist() for _ in range(12)]
    mixed = [rng.choice(50, 3, replace=False).tolist() for _ in range(3_000)]
    cases = {
        "one cluster of 3,000 records": Records.from_sets(cluster),
        "a record with 1,000 items": Records.from_sets([list(range(1_000)), *short]),
        "12 random records of 1,000 items": Records.from_sets(long + short),
        "50,000 copies of one record": Records.from_sets([["a", "b"]] * 50_000),
        "50,000 copies, 7 users": Records.from_sets(
            [["a", "b"]] * 50_000, (np.arange(50_000) % 7).tolist()
        ),
        "one user has 2,900 of 3,000 records": Records.from_sets(
            mixed, [0] * 2_900 + list(range(1, 101))
        ),
        "2 records, k = 3": Records.from_sets([["a"], ["a"]]),
    }
    rows: list[Row] = []
    for name, records in cases.items():
        row: Row = {"case": name}
        for method in ("best", "paper"):
            result, duration = seconds(lambda r=records, m=method: anonymize(r, K, method=m))
            verdict = verify(result.records, K, users=records.users.tolist())
            row |= {
                f"{method}: seconds": round(duration, 2),
                f"{method}: cost": result.cost.total,
                f"{method}: factor": round(result.factor, 2),
                f"{method}: verified": verdict.ok,
            }
        rows.append(row)
    return rows


if __name__ == "__main__":
    print(json.dumps(measure_size(int(sys.argv[1]))))
