"""Run one stage on Spark; the script that is submitted, in a process without Dagster.

Guarantee:  the process reports rows and digest of the file that it wrote, or the sentence of an
            error of setanon, or the class of another error, whose message may contain data.
"""

from collections.abc import Callable, Mapping
from hashlib import file_digest
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final

from dagster_pipes import PipesCliArgsParamsLoader, open_dagster_pipes

from setanon_core.errors import SetanonError
from setanon_core.params import ReleaseParams
from setanon_core.threads.edit_distance import EditDistance
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.engines.spark_session import ignore_pandas_warning
from setanon_dagster.stages.clusters import clusters_stream
from setanon_dagster.stages.threads import threads_stream

STREAMS: Final[Mapping[str, Callable[[SparkEngine, Any, ReleaseParams], Any]]] = {
    "threads": threads_stream,
    "clusters": clusters_stream,
}
"""The stages that can be submitted."""


def run_stage(extras: Mapping[str, Any]) -> dict[str, int | str]:
    """Write the file of a stage; return its number of rows and its digest."""
    target = Path(extras["target"])
    with SparkEngine(
        target.parent, session=_submitted_session(), memory_limit=extras["memory_limit"]
    ) as engine:
        rows = engine.read(extras["source"])
        stream = STREAMS[extras["stage"]](engine, rows, _params(extras["parameters"]))
        written = engine.write(stream, str(target))
    with target.open("rb") as file:
        return {"rows": written, "sha256": file_digest(file, "sha256").hexdigest()}


def _params(parameters: Mapping[str, Any]) -> ReleaseParams:
    """The parameters of a certificate as those of the core; these stages need no secret."""
    published = dict(parameters)
    measure = EditDistance(relative=published.pop("similarity"))
    published.pop("timezone", None)
    if names := published.pop("attributes", ""):
        published["attributes"] = tuple(names.split(", "))
    return ReleaseParams(**published, measure=measure, secret=token_bytes(32))


def _submitted_session() -> Any:  # noqa: ANN401 - PySpark is not part of a development install
    """The session with master and settings of the command that submitted this process."""
    from pyspark.sql import SparkSession

    with ignore_pandas_warning():
        return SparkSession.builder.appName("setanon").getOrCreate()


def main(run: Callable[[Mapping[str, Any]], dict[str, int | str]] = run_stage) -> None:
    """Run the stage that Dagster asks for, and report the outcome, with exit code 0.

    Other exit codes are those of the command, which has nothing to report.
    """
    arguments = PipesCliArgsParamsLoader()  # type: ignore[no-untyped-call]
    with open_dagster_pipes(params_loader=arguments) as pipes:
        try:
            report = run(pipes.extras)
        except SetanonError as error:
            report = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - no message may get into the event log
            report = {
                "error": f"Internal error: {type(error).__name__} in a submitted stage (message "
                "withheld, it may contain data)."
            }
        pipes.report_custom_message(report)


if __name__ == "__main__":
    main()
