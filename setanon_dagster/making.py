"""What the assets of the stages run on, and the files that they make."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex

import dagster as dg
import pyarrow as pa

from setanon_core.reporting import reported_to
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.engines.embedded import Embedded
from setanon_dagster.memory import give_back
from setanon_dagster.pace import Pace
from setanon_dagster.sources.intake import Window
from setanon_dagster.storage import Made


@contextmanager
def engine_of(config: ReleaseConfig, say: Callable[[str], object]) -> Iterator[Embedded]:
    """What runs a stage; `say` is told now and then how far it is."""
    give_back()
    with (
        reported_to(Pace(say)),
        Embedded(config.stages, workers=config.workers, memory_limit=config.memory_limit) as engine,
    ):
        yield engine


def stored_by(engine: Embedded, rows: pa.RecordBatchReader | pa.Table) -> Made:
    """Rows in a file of the engine's folder, from which the storage takes it."""
    path = engine.folder / f"{token_hex(8)}.parquet"
    return Made(path, engine.write(rows, str(path)))


def window_of(context: dg.AssetExecutionContext) -> Window | None:
    """The times of the partition; those of a log have no zone, and are taken as UTC."""
    if not context.has_partition_key:
        return None
    window = context.partition_time_window
    return window.start.replace(tzinfo=None), window.end.replace(tzinfo=None)
