"""Cost at other k and utility: computed for a full report and for the dry runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.utility.compare import measure_baskets, measure_log
from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.stages.cost_report import QUERY_COUNTS, TOTAL, cost_table

Row = Mapping[str, Any]


def sweep_totals(
    threads: Threads, methods: Sequence[ReleaseParams], ks: Sequence[int]
) -> Iterator[Row]:
    """Total row of the cost report for each k and each of `methods`, in order of k."""
    sweeps = [sweep_threads(threads, params, ks) for params in methods]
    for costs in zip(*sweeps, strict=True):
        for cost, params in zip(costs, methods, strict=True):
            # A sweep edits no queries.
            rows = cost_table([cost], params).drop_columns(list(QUERY_COUNTS)).to_pylist()
            yield from (row for row in rows if row["round"] == TOTAL)


def table_utility(raw: pa.Table, kind: str, params: ReleaseParams) -> tuple[UtilityMeasure, ...]:
    """Utility of a release of `raw`, of the original, and of the paper's method.

    A log is measured by suggestions, refinements and keywords; baskets by association rules and
    items. `raw` is the table of the stage `raw_log` or `raw_baskets`; `kind` is its source's.
    """
    if kind == "baskets":
        record, item, user = (raw[name].to_pylist() for name in ("record", "item", "user"))
        return measure_baskets(Baskets(record, item, user), params)
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    return measure_log(Log(raw["user"].to_pylist(), times, raw["query"].to_pylist()), params)
