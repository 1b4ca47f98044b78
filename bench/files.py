"""Real baskets, if there are any: our cost and time beside Mondrian's, in one run."""

from pathlib import Path

from measure import seconds

from setanon_core import Params, Records, anonymize, verify
from setanon_core.cost import cost_of
from setanon_core.flip import flip
from setanon_core.grouping.halving import halving

REPEATS = 5


def baskets(path: Path) -> Records:
    """One record a line; items separated by commas, or else by spaces."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comma = any("," in line for line in lines[:100])
    return Records.from_sets(
        [[item for item in line.split("," if comma else None) if item] for line in lines if line]
    )


def compare(path: Path, k: int) -> list[dict[str, object]]:
    """Mondrian on items + majority, the paper's method, and best with and without k owners."""
    records = baskets(path)
    params = Params(k, min_owners=0)

    def mondrian() -> tuple[int, int]:
        labels, centers = flip(records, halving(records, params).labels)
        return cost_of(records, labels, centers).total, len(centers)

    (cost, groups), base = seconds(mondrian, REPEATS)
    occurrences = len(records.items)
    start = {"file": path.stem, "k": k, "records": len(records)}
    rows: list[dict[str, object]] = [
        {
            **start,
            "method": "Mondrian on items + majority",
            "cost %": _percent(cost, occurrences),
            "groups": groups,
            "seconds": round(base, 3),
            "x Mondrian": 1.0,
        }
    ]
    for name, knobs in (
        ("best, min_owners=0", {"min_owners": 0}),
        ("best", {}),
        ("deletions only", {"min_owners": 0, "operations": "deletions"}),
    ):
        result, took = seconds(lambda knobs=knobs: anonymize(records, k, **knobs), REPEATS)
        verdict = verify(result.records, k)
        rows.append(
            {
                **start,
                "method": name,
                "cost %": _percent(result.cost.total, occurrences),
                "groups": len(result.groups),
                "seconds": round(took, 3),
                "x Mondrian": round(took / base, 1),
                "factor": round(result.factor, 3),
                "withdrawn": result.cost.withdrawals,
                "verified": verdict.ok,
            }
        )
    return rows


def _percent(cost: int, occurrences: int) -> float:
    return round(100 * cost / occurrences, 2)
