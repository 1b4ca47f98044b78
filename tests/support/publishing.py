"""Small stage files for the gate, and a call of `publish` with them."""

from hashlib import md5

import pyarrow as pa
from pyarrow import parquet

from setanon_dagster.gate.publish import ReleaseSpec, StageFiles, publish

K = 3
CLUSTERS = ("name", "user", "words")
COST = {
    "threads": 12, "keywords": 30, "additions": 1, "deletions": 2, "withdrawals": 3,
    "respellings": 4, "lower_bound": 0, "factor": float("inf"), "retained": 0.9,
}  # fmt: skip


def stage_files(folder, form="sets", users=K, threads=9, word="canaryword"):
    """Write the stages of threads with two sets; the users take turns in each set. Return paths."""
    folder.mkdir(exist_ok=True)
    rows = sorted(
        (md5(b"%d" % n, usedforsecurity=False).hexdigest(), n % 2, n // 2 % users, n)
        for n in range(threads * 2)
    )
    sets = [[word], ["canaryother", word]]
    ids = [name for name, _, _, _ in rows]
    table = {"thread_id": ids, "group": [group for _, group, _, _ in rows]}
    if form == "sets":
        table["keywords"] = [sets[group] for _, group, _, _ in rows]
    else:
        table["position"] = [0] * len(ids)
        table["query"] = [" ".join(sets[group]) for _, group, _, _ in rows]
    user_column = [f"canaryuser{user}" for _, _, user, _ in rows]
    tables = {
        "anonymized_threads": table,
        "ledger": {"thread_id": ids, "thread": [n for *_, n in rows], "user": user_column},
        "clusters": {
            "thread": [n for *_, n in rows],
            "user": user_column,
            "name": [f"{user}-{n}" for user, (*_, n) in zip(user_column, rows, strict=True)],
            "words": [sets[1]] * len(ids),
        },
        "raw_baskets": {
            "record": [f"{user}-{n}" for user, (*_, n) in zip(user_column, rows, strict=True)] * 2,
            "item": ["canaryother"] * len(ids) + [word] * len(ids),
            "user": user_column * 2,
            "line": list(range(2 * len(ids))),
        },
        "cost_report": {name: [5, value] for name, value in COST.items()}
        | {"k": [K, K], "method": ["best"] * 2, "round": ["star", "total"]},
        "rejected_rows": {"line": [7], "reason": ["no time"]},
    }
    paths = {}
    for name, columns in tables.items():
        paths[name] = folder / f"{name}.parquet"
        parquet.write_table(pa.table(columns), paths[name])
    return paths


def write_source(paths):
    """Replace the rows of the source by those of the clusters, after a test has changed these."""
    rows = [
        (name, item, user)
        for name, user, words in zip(
            *(parquet.read_table(paths["clusters"])[each].to_pylist() for each in CLUSTERS),
            strict=True,
        )
        for item in words
    ]
    record, item, user = map(list, zip(*rows, strict=True))
    table = {"record": record, "item": item, "user": user, "line": list(range(len(rows)))}
    parquet.write_table(pa.table(table), paths["raw_baskets"])


def publish_files(paths, out, cores=None, **changed):
    spec = {
        "name": "demo",
        "k": K,
        "format": "sets",
        "parameters": {"method": "best", "p": 2, "seed": 0, "grouper": None},
        "secret": b"a secret of the tests",
    }
    return publish(StageFiles(**paths), ReleaseSpec(**(spec | changed)), out, cores=cores)


def folder_state(folder):
    """Contents, link targets and modes of everything below a folder."""
    return {
        str(path.relative_to(folder)): (
            str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_bytes(),
            path.lstat().st_mode,
        )
        for path in sorted(folder.rglob("*"))
    }


def latest_name(out):
    return str((out / "releases" / "latest").readlink())


def modify(paths, stage, change):
    parquet.write_table(change(parquet.read_table(paths[stage])), paths[stage])
