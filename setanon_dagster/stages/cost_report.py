"""What a release cost, as a table."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa

from setanon_core.model.groups import Cost
from setanon_core.model.publication import ReleaseCost
from setanon_core.params import ReleaseParams

TOTAL: Final = "total"
"""The last row of a cost report, after those of the rounds."""


def cost_table(costs: Iterable[ReleaseCost], params: ReleaseParams) -> pa.Table:
    """One row for each round, then one for the whole, of each k."""
    rows = [
        {"k": cost.k, "method": params.method, **row} for cost in costs for row in _cost_rows(cost)
    ]
    return pa.Table.from_pylist(rows)


def _cost_rows(cost: ReleaseCost) -> Iterator[dict[str, str | int | float]]:
    certificate = cost.certificate
    for name, flips in [
        *((round_.name, round_.cost) for round_ in cost.rounds),
        (TOTAL, certificate.cost),
    ]:
        yield {
            "round": name,
            "threads": cost.threads,
            "keywords": cost.keywords,
            **_flips(flips),
            "respellings": cost.respellings,
            "lower_bound": certificate.lower_bound,
            "factor": replace(certificate, cost=flips).factor,
            "retained": 1 - flips.total / max(cost.keywords, 1),
        }


def _flips(cost: Cost) -> dict[str, int]:
    return {
        "additions": cost.additions,
        "deletions": cost.deletions,
        "withdrawals": cost.withdrawals,
    }
