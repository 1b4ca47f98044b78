"""Open the engine that a release is configured with."""

from collections.abc import Iterator
from contextlib import contextmanager

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.spark import SparkEngine


@contextmanager
def open_embedded(config: ReleaseConfig) -> Iterator[EmbeddedEngine]:
    """The embedded engine, which spills into the private folder of the stages."""
    with EmbeddedEngine(
        config.stages, workers=config.workers, memory_limit=config.memory_limit
    ) as engine:
        yield engine


@contextmanager
def open_configured(config: ReleaseConfig) -> Iterator[EmbeddedEngine | SparkEngine]:
    """The engine for the stages that every engine runs: threads and clusters."""
    if config.engine == "embedded":
        with open_embedded(config) as engine:
            yield engine
        return
    settings = dict(each.split("=", 1) for each in config.spark_settings)
    with SparkEngine(
        config.stages,
        master=config.spark_master,
        settings=settings,
        memory_limit=config.memory_limit,
    ) as spark:
        yield spark
