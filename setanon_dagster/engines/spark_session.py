"""Start a Spark session on this machine or connect to a cluster; checks Java and PySpark first."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from setanon_core.errors import SetanonError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIN_JAVA: Final = 17
"""Spark 4 needs this version of Java."""

JAVA_SECONDS: Final = 60
"""Time limit of `java -version`."""

SQL_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    # Times of a log have no zone.
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.ansi.enabled": "true",
    # "user" is a column, as in DuckDB, not a text.
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    # Rows per Arrow batch: the default, 10,000, costs more per row.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "61440",
    # The partitions of a relation are its order: they must not be merged. It also costs a fifth
    # of the CPU time of a stage.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "false",
}
"""Settings that results depend on; they are set in every session, also in a given one."""

SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
"""Partitions of joins and aggregations; those of `group_map` follow from the number of rows."""

START_SETTINGS: Final[Mapping[str, str]] = {
    "spark.app.name": "setanon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # One BLAS core per Python worker: Spark runs one worker per core.
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
"""Defaults of a new session."""


class MissingSparkError(SetanonError, RuntimeError):
    """Java or PySpark is missing or too old."""


def require_spark() -> None:
    """Raise `MissingSparkError` unless PySpark can be imported and Java is recent enough."""
    try:
        with ignore_pandas_warning():
            import pyspark  # noqa: F401
    except ImportError:
        raise MissingSparkError(
            "PySpark must be installed to use the engine spark; it cannot be imported. Run: pip "
            "install 'setanon[spark]'"
        ) from None
    version = java_version()
    if version is None or version < MIN_JAVA:
        found = "no Java was found" if version is None else f"found Java {version}"
        raise MissingSparkError(
            f"Java {MIN_JAVA} or later must be installed to use the engine spark; {found}. Install "
            "a JRE, such as openjdk-17-jre-headless of Debian, or set JAVA_HOME."
        )


def java_version() -> int | None:
    """The major version of the Java that Spark would start; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        shown = subprocess.run(  # noqa: S603 - the Java that Spark starts
            [java, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(shown.stderr + shown.stdout)


def parse_java_version(text: str) -> int | None:
    """The major version in the output of `java -version`; None if it states none.

    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_java_version('java version "1.8.0_392"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def start_session(master: str, settings: Mapping[str, str], folder: Path) -> "SparkSession":
    """Start a session; with a local master, temporary files are in this private folder."""
    require_spark()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - no public name
        raise MissingSparkError(
            "a process must have at most one Spark context; it has one already. Pass its session "
            "as `session`, or stop it."
        )
    local = {}
    if master.startswith("local"):
        local = {
            "spark.local.dir": str(folder),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    warehouse = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    builder = SparkSession.builder.master(master)
    for name, value in {**START_SETTINGS, **local, **warehouse, **settings}.items():
        builder = builder.config(name, value)
    with _worker_python(), ignore_pandas_warning():
        return builder.getOrCreate()


def running_session() -> "SparkSession | None":
    """The session that this process has already, for example that of a Dagster resource."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:  # noqa: SLF001 - no public name
        return None
    with ignore_pandas_warning():
        return SparkSession.builder.getOrCreate()


def stop_session(session: "SparkSession") -> None:
    """Stop a session; its Java process stays, and may be used by the next one."""
    jvm = session.sparkContext._jvm  # noqa: SLF001 - no public name
    session.stop()
    # Otherwise the next session writes to the temporary folder of this one, which is removed.
    getattr(getattr(jvm.org.apache.spark.util, "Utils$"), "MODULE$").clearLocalRootDirs()


def own_session(session: "SparkSession") -> "SparkSession":
    """A session with settings and views of its own in the same Spark context."""
    with ignore_pandas_warning():
        own = session.newSession()
    for name, value in SQL_SETTINGS.items():
        own.conf.set(name, value)
    if not own.sparkContext.getConf().contains(SHUFFLE_PARTITIONS):
        # The default, 200, is meant for adaptive execution.
        own.conf.set(SHUFFLE_PARTITIONS, str(own.sparkContext.defaultParallelism))
    return own


@contextmanager
def ignore_pandas_warning() -> Iterator[None]:
    """Ignore PySpark's warning on pandas 3: only its Arrow functions are used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


@contextmanager
def _worker_python() -> Iterator[None]:
    """Let Spark start this Python for its workers, unless PYSPARK_PYTHON names another."""
    name = "PYSPARK_PYTHON"
    if name in os.environ:
        yield
        return
    os.environ[name] = sys.executable
    try:
        yield
    finally:
        del os.environ[name]
