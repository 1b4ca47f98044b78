"""What a release of a source would still be good for: read, released in memory, and measured."""

from collections.abc import Iterable, Iterator
from math import isfinite
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.model.inputs import Baskets, Log
from setanon_core.params import ReleaseParams
from setanon_core.utility.compare import utility_of, utility_of_baskets
from setanon_core.utility.measured import Measured
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.connection import connect

NAME: Final = 46
"""How wide the names are printed."""

HEADER: Final = f"{'measure':<{NAME}} {'original':>9} {'release':>9} {'paper':>9} {'cases':>11}"


def measure_source(config: ReleaseConfig) -> tuple[Measured, ...]:
    """The utility of the release that is asked for, of a log or of baskets; publish nothing."""
    return measure_table(_read(config.source), config.source.kind, config.params())


def measure_table(raw: pa.Table, kind: str, params: ReleaseParams) -> tuple[Measured, ...]:
    """Suggestions, refinements and keywords of a log, or association rules and items of baskets.

    Each stands beside the original's, and beside that of the paper's method.
    """
    if kind == "baskets":
        record, item, user = (raw[name].to_pylist() for name in ("record", "item", "user"))
        return utility_of_baskets(Baskets(record, item, user), params)
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    return utility_of(Log(raw["user"].to_pylist(), times, raw["query"].to_pylist()), params)


def format_measures(measures: Iterable[Measured]) -> Iterator[str]:
    """The measures as lines, under the header."""
    for each in measures:
        cells = " ".join(_cell(value) for value in (each.original, each.release, each.paper))
        yield f"{each.name:<{NAME}} {cells} {each.cases:>11,}"


def _cell(value: float) -> str:
    return f"{value:9.3f}" if isfinite(value) else f"{'-':>9}"


def _read(source: Source) -> pa.Table:
    # What is read is private, and what memory cannot hold lies in a folder that nobody can enter.
    with TemporaryDirectory(prefix="setanon-") as spill:
        read = read_source(source, connection=connect(temp_folder=spill))
        return read.accepted.to_arrow_table()
