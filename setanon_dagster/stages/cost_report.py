"""The cost of a release as a table."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa

from setanon_core.model.publication import ReleaseCost
from setanon_core.params import ReleaseParams
from setanon_dagster.storage.attribute_columns import stage_column

TOTAL: Final = "total"
"""`round` of the last row of a cost report; the rows before it are the rounds."""

QUERY_COUNTS: Final = ("query_rows", "true_query_rows")
"""Columns that count queries."""

ATTRIBUTE_COUNTS: Final = ("total", "additions", "deletions")
"""Columns of each attribute: values before the release, and their edits, which are not part of the
costs of the keywords."""


def cost_table(costs: Iterable[ReleaseCost], params: ReleaseParams) -> pa.Table:
    """For each k, one row per round and one row for the total."""
    rows = [
        {"k": cost.k, "method": params.method, **row} for cost in costs for row in _cost_rows(cost)
    ]
    return pa.Table.from_pylist(rows)


def _cost_rows(cost: ReleaseCost) -> Iterator[dict[str, str | int | float]]:
    certificate = cost.certificate
    rounds = [(each.name, each.cost) for each in cost.rounds]
    for name, flips in [*rounds, (TOTAL, certificate.cost)]:
        yield {
            "round": name,
            "threads": cost.threads,
            "keywords": cost.keywords,
            "additions": flips.additions,
            "deletions": flips.deletions,
            "withdrawals": flips.withdrawals,
            "respellings": cost.respellings,
            **{name: getattr(cost, name) for name in QUERY_COUNTS},
            "lower_bound": certificate.lower_bound,
            "factor": replace(certificate, cost=flips).factor,
            "retained": 1 - flips.total / max(cost.keywords, 1),
            **{
                f"{stage_column(each.name)}_{count}": getattr(each, count)
                for each in cost.attributes
                for count in ATTRIBUTE_COUNTS
            },
        }
