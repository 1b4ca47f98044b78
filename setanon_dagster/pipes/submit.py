"""Submit a stage by a command, and accept its file only with a report that matches it.

Guarantee:  a process that ends without a report fails the stage, also with exit code 0; so does one
            whose file has other rows or another digest than it reported.
"""

import warnings
from collections.abc import Mapping, Sequence
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from subprocess import run
from typing import Any, Final

import dagster as dg
from pyarrow import ArrowInvalid, parquet

from setanon_core.errors import SetanonError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.io_manager import StoredFile

SCRIPT: Final = str(Path(__file__).with_name("run_stage.py"))


class SubmittedStageError(SetanonError, RuntimeError):
    """A submitted stage failed, or did not report the file that it wrote."""


def submit_stage(
    context: dg.AssetExecutionContext, config: ReleaseConfig, stage: str, source: Path, folder: Path
) -> StoredFile:
    """Run a stage by the command `spark_submit`; the cluster must share the private `folder`."""
    target = folder / f"{stage}.parquet"
    extras = {
        "stage": stage,
        "source": str(source),
        "target": str(target),
        "parameters": config.certified_parameters(),
        "memory_limit": config.memory.duckdb,
    }
    return accept_file(target, _run(context, config.spark_submit, extras, folder))


def _run(
    context: dg.AssetExecutionContext,
    command: Sequence[str],
    extras: Mapping[str, Any],
    folder: Path,
) -> Sequence[Any]:
    """Run a command that gets `extras` by files in a folder; return what it reported.

    The paths of the files are arguments, not environment variables: a command such as ssh, or
    spark-submit in cluster mode, does not pass on the environment.
    """
    with warnings.catch_warnings():
        # Dagster's own session of Pipes uses previews, and a deprecated name of the context.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        with dg.open_pipes_session(
            context,
            dg.PipesFileContextInjector(str(folder / "pipes_context")),
            dg.PipesFileMessageReader(str(folder / "pipes_messages")),
            extras,
        ) as session:
            paths = chain.from_iterable(session.get_bootstrap_cli_arguments().items())
            try:
                code = run([*command, SCRIPT, *paths], check=False).returncode  # noqa: S603 - as configured
            except OSError as error:
                raise SubmittedStageError(
                    "spark_submit must be a command of this machine; it could not be started "
                    f"({type(error).__name__}). Write its path, such as "
                    "/opt/spark/bin/spark-submit."
                ) from None
        if code != 0:
            raise SubmittedStageError(
                "the command of spark_submit must end with exit code 0; it ended with "
                f"{code}. Read its output in the log of this step."
            )
        return session.get_custom_messages()


def accept_file(target: Path, reports: Sequence[Any]) -> StoredFile:
    """The file of a stage, if exactly one report states its rows and its digest."""
    report = reports[0] if len(reports) == 1 and isinstance(reports[0], dict) else {}
    if "error" in report:
        raise SubmittedStageError(str(report["error"]))
    if not report.keys() >= {"rows", "sha256"}:
        raise SubmittedStageError(
            "a submitted stage must report its rows and its digest once; it reported "
            f"{len(reports)} times. Install the same version of setanon on the cluster."
        )
    try:
        with target.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        rows = parquet.read_metadata(target).num_rows
    except (OSError, ArrowInvalid):
        raise SubmittedStageError(
            "a submitted stage must write a Parquet file into the private folder; none was found. "
            "The cluster must share the folder `out` with this machine."
        ) from None
    if (rows, digest) != (report["rows"], report["sha256"]):
        raise SubmittedStageError(
            "the file of a submitted stage must have the rows and the digest that were reported; "
            "it differs. Run the stage again."
        )
    return StoredFile(target, rows)
