"""Open the engine that a release is configured with."""

from collections.abc import Iterator
from contextlib import contextmanager

from setanon_core.partition.plan import count_places
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.process_pool import use_processes
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.engines.spark_executor import use_spark_tasks
from setanon_dagster.engines.spark_session import running_session


@contextmanager
def open_embedded(config: ReleaseConfig) -> Iterator[EmbeddedEngine]:
    """The embedded engine, which spills into the private folder of the stages."""
    with EmbeddedEngine(
        config.stages, workers=config.memory.processes, memory_limit=config.memory.duckdb
    ) as engine:
        yield engine


@contextmanager
def open_spark(config: ReleaseConfig) -> Iterator[SparkEngine]:
    """The Spark session of this process, or a new one with master and settings of the release."""
    settings = dict(each.split("=", 1) for each in config.spark_settings)
    with SparkEngine(
        config.stages,
        master=config.spark_master,
        settings=settings,
        session=running_session(),
        memory_limit=config.memory.duckdb,
    ) as spark:
        yield spark


@contextmanager
def open_configured(config: ReleaseConfig) -> Iterator[EmbeddedEngine | SparkEngine]:
    """The engine for the stages that every engine runs: threads and clusters."""
    with open_spark(config) if connects_to_spark(config) else open_embedded(config) as engine:
        yield engine


def connects_to_spark(config: ReleaseConfig) -> bool:
    """Whether this process is the driver of Spark, instead of a submitted one, or none."""
    return config.engine == "spark" and not config.spark_submit


@contextmanager
def use_executor_of(engine: EmbeddedEngine | SparkEngine, threads: int) -> Iterator[None]:
    """Let the core plan the places of this many threads on the cores of an open engine."""
    if isinstance(engine, SparkEngine):
        with use_spark_tasks(engine.session):
            yield
        return
    with engine.use_pool(threads):
        yield


@contextmanager
def use_configured_executor(config: ReleaseConfig, threads: int) -> Iterator[None]:
    """Let the core group and edit this many threads on the cores of the configured engine.

    Spark is started for several places only: one place is one call.
    """
    places = count_places(threads)
    processes = config.memory.group_processes(threads, places, len(config.attributes))
    if not connects_to_spark(config) or places == 1:
        with use_processes(processes, threads):
            yield
        return
    with open_spark(config) as engine, use_spark_tasks(engine.session):
        yield
