"""Cost of every grouper divided by the exact optimum, on small instances."""

from collections import defaultdict
from collections.abc import Iterator
from math import fsum

import numpy as np
from markdown_table import Row
from synthetic_records import small_instance

from setanon_core import Params, Records, anonymize
from setanon_core.grouping.bounds.lower_bound import lower_bound
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.methods import RECIPES, cheapest
from setanon_core.grouping.starts.exact import optimum

METHODS = {
    "best": {},
    "suppression (paper)": {"method": "paper"},
    "facility location (paper)": {"method": "paper", "grouper": "facility_location"},
    "star": {"method": "paper", "grouper": "star"},
}


def instances(count: int, seed: int) -> Iterator[tuple[int, bool, Records]]:
    """Small instances for k = 2, 3, 5: random and topics; one record per user, or several."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        k = (2, 3, 5)[number % 3]
        repeated, realistic = bool(number // 3 % 2), bool(number // 6 % 2)
        yield k, repeated, small_instance(rng, realistic=realistic, repeated=repeated)


def ratios(count: int = 600, seed: int = 1) -> list[Row]:
    """Cost divided by the optimum, mean and worst, by method and k."""
    ratios_of: dict[tuple[str, int], list[float]] = defaultdict(list)
    violations = 0
    for k, _, records in instances(count, seed):
        params = Params(k, min_owners=0)
        least = optimum(records, params)[0]
        violations += lower_bound(records, params) > least
        for name, parameters in METHODS.items():
            result = anonymize(records, k, min_owners=0, **parameters)  # type: ignore[arg-type]
            ratios_of[name, k].append(_ratio(result.cost.total, least))
        ratios_of["best without exact", k].append(_ratio(_heuristic(records, params), least))
    rows: list[Row] = [
        {
            "method": name,
            "k": k,
            "instances": len(values),
            "mean": round(fsum(values) / len(values), 4),
            "worst": round(max(values), 3),
            "optimal": round(sum(value <= 1 for value in values) / len(values), 3),
        }
        for (name, k), values in sorted(ratios_of.items())
    ]
    rows.append(
        {"method": "lower bound above the optimum", "instances": count, "worst": violations}
    )
    return rows


def _heuristic(records: Records, params: Params) -> int:
    """The cost of `best` without its exact solver, as for larger inputs."""
    if records.n_users < params.k:
        return len(records.items)
    recipe = RECIPES["best"]
    labels = cheapest(records, params, recipe.starts[1:], recipe.steps).labels
    return cost_of(records, *flip(records, labels)).total


def _ratio(cost: int, least: int) -> float:
    if least == 0:
        return 1.0 if cost == 0 else np.inf
    return cost / least
