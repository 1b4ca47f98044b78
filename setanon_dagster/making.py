"""What the assets of the stages run on, and the files that they make."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex

import dagster as dg
import pyarrow as pa

from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.io_manager import StoredFile
from setanon_dagster.runtime.memory import trim_memory
from setanon_dagster.runtime.progress_log import ProgressLogger
from setanon_dagster.sources.loading import Window


@contextmanager
def engine_of(config: ReleaseConfig, say: Callable[[str], object]) -> Iterator[EmbeddedEngine]:
    """What runs a stage; `say` is told now and then how far it is."""
    trim_memory()
    with (
        listen_to_progress(ProgressLogger(say)),
        EmbeddedEngine(
            config.stages, workers=config.workers, memory_limit=config.memory_limit
        ) as engine,
    ):
        yield engine


def stored_by(engine: EmbeddedEngine, rows: pa.RecordBatchReader | pa.Table) -> StoredFile:
    """Rows in a file of the engine's folder, from which the storage takes it."""
    path = engine.folder / f"{token_hex(8)}.parquet"
    return StoredFile(path, engine.write(rows, str(path)))


def window_of(context: dg.AssetExecutionContext) -> Window | None:
    """The times of the partition; those of a log have no zone, and are taken as UTC."""
    if not context.has_partition_key:
        return None
    window = context.partition_time_window
    return window.start.replace(tzinfo=None), window.end.replace(tzinfo=None)
