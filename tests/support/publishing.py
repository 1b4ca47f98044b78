"""Small stage files for the gate, and a call of `publish` with them."""

import pyarrow as pa
from pyarrow import parquet

from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles

K = 3
CLUSTERS = ("name", "user", "words")
COST = {
    "threads": 12, "keywords": 30, "additions": 1, "deletions": 2, "withdrawals": 3,
    "respellings": 4, "lower_bound": 0, "factor": float("inf"), "retained": 0.9,
}  # fmt: skip


def stage_files(folder, form="sets", users=K, threads=9, word="canaryword"):
    """Write the stages of threads with two sets; the users take turns in each set. Return paths."""
    folder.mkdir(exist_ok=True)
    numbers = list(range(threads * 2))
    sets = [[word], ["canaryother", word]]
    table = {"thread": numbers, "group": [n % 2 for n in numbers]}
    if form == "sets":
        table["keywords"] = [sets[n % 2] for n in numbers]
    else:
        table["position"] = [0] * len(numbers)
        table["query"] = [" ".join(sets[n % 2]) for n in numbers]
    user_column = [f"canaryuser{n // 2 % users}" for n in numbers]
    names = [f"{user}-{n}" for n, user in enumerate(user_column)]
    tables = {
        "anonymized_threads": table,
        "ledger": {"thread": numbers, "user": user_column},
        "clusters": {
            "thread": numbers,
            "user": user_column,
            "name": names,
            "words": [sets[1]] * len(numbers),
        },
        "raw_baskets": {
            "record": names * 2,
            "item": ["canaryother"] * len(numbers) + [word] * len(numbers),
            "user": user_column * 2,
            "line": list(range(2 * len(numbers))),
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


def latest_name(out, name="demo"):
    return str((out / "releases" / name / "latest").readlink())


def modify(paths, stage, change):
    parquet.write_table(change(parquet.read_table(paths[stage])), paths[stage])
