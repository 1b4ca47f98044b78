"""Stage files for the gate, and a call of `publish` on them."""

from hashlib import md5

import pyarrow as pa
from pyarrow import parquet

from setanon_dagster.gate.publish import ReleaseSpec, StageFiles, publish

K = 3


COST = {
    "threads": 12, "keywords": 30, "additions": 1, "deletions": 2, "withdrawals": 3,
    "respellings": 4, "lower_bound": 0, "factor": float("inf"), "retained": 0.9,
}  # fmt: skip


def inputs(folder, form="sets", users=K, threads=9, word="canaryword"):
    """Threads of two sets, those of each set by all users in turn."""
    folder.mkdir(exist_ok=True)
    made = sorted(
        (md5(b"%d" % n, usedforsecurity=False).hexdigest(), n % 2, n // 2 % users, n)
        for n in range(threads * 2)
    )
    sets = [[word], ["canaryother", word]]
    ids = [name for name, _, _, _ in made]
    table = {"thread_id": ids, "group": [group for _, group, _, _ in made]}
    if form == "sets":
        table["keywords"] = [sets[group] for _, group, _, _ in made]
    else:
        table["position"] = [0] * len(ids)
        table["query"] = [" ".join(sets[group]) for _, group, _, _ in made]
    people = [f"canaryuser{user}" for _, _, user, _ in made]
    tables = {
        "anonymized_threads": table,
        "ledger": {"thread_id": ids, "thread": [n for *_, n in made], "user": people},
        "clusters": {
            "thread": [n for *_, n in made],
            "user": people,
            "name": [f"{user}-{n}" for user, (*_, n) in zip(people, made, strict=True)],
            "words": [sets[1]] * len(ids),
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


def published(paths, out, cores=None, **changed):
    spec = {
        "name": "demo",
        "k": K,
        "format": "sets",
        "parameters": {"method": "best", "p": 2, "seed": 0, "grouper": None},
    }
    return publish(StageFiles(**paths), ReleaseSpec(**(spec | changed)), out, cores=cores)


def tree(folder):
    """Everything below a folder: contents, targets of links, modes."""
    return {
        str(path.relative_to(folder)): (
            str(path.readlink()) if path.is_symlink() else path.is_file() and path.read_bytes(),
            path.lstat().st_mode,
        )
        for path in sorted(folder.rglob("*"))
    }


def link_of(out):
    return str((out / "releases" / "latest").readlink())


def spoil(paths, what, table):
    parquet.write_table(table(parquet.read_table(paths[what])), paths[what])
