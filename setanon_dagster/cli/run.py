"""Run the Dagster job of a release in-process, and report its steps to an observer."""

import json
import logging
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import dagster as dg

from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster import metadata_keys as keys
from setanon_dagster.cli.progress import CHECKS
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.redaction import INTERNAL_ERROR
from setanon_dagster.runtime.gc_imports import imports_without_gc
from setanon_dagster.runtime.interrupts import InterruptWatch
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import enter_temporary_folder
from setanon_dagster.verifier.release_folder import CERTIFICATE

LOGGER: Final = "setanon"
INTERRUPTED: Final = "DagsterExecutionInterruptedError"

NOT_PUBLISHED: Final = "Nothing was published, and the latest release is unchanged."
NOTHING_LEFT: Final = "Set k to a lower value, or add data of more users."
MAYBE_PUBLISHED: Final = "The latest release is the old one or the new one, complete and verified."
"""For an interrupted gate: it replaces the latest release in one atomic step."""

Counts = Mapping[str, Any]


class ReleaseObserver(Protocol):
    """Receives the steps of a run as they start and end; a step has the name of its stage."""

    def started(self, stage: str) -> None:
        """A stage, or the checks of a stage, has started."""

    def advanced(self, step: str, done: int, total: int) -> None:
        """Progress within the running stage; called often."""

    def finished(self, stage: str, counts: Counts, seconds: float) -> None:
        """A stage has ended; `counts` is the metadata of its asset."""

    def failed(self, stage: str) -> None:
        """A stage has failed."""


@dataclass(slots=True)
class Outcome:
    """Result of a run; `folder` is None if nothing was published."""

    folder: Path | None = None
    waiting: str | None = None
    """What a verified release that is not published waits for, in a sentence."""

    certificate: Mapping[str, Any] = field(default_factory=dict)
    """The exact certificate, which is private."""

    counts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Metadata of each asset, by the last part of its key."""

    failures: list[str] = field(default_factory=list)
    """Reasons why nothing was published, without data."""

    warnings: list[str] = field(default_factory=list)
    """Warnings that the stages logged."""


def run_release(config: ReleaseConfig, observer: ReleaseObserver) -> Outcome:
    """Run all stages, checks and the release in this process; no run history is kept."""
    outcome = Outcome()
    with InterruptWatch() as interrupts, listen_to_progress(observer.advanced):
        handler = _EventHandler(config.name, observer, outcome, interrupts)
        try:
            success = _run(config, handler)
        except dg.DagsterExecutionInterruptedError:
            success = False
            outcome.failures.append(f"The run was stopped. {NOT_PUBLISHED}")
    published = outcome.counts.get("release", {}).get(keys.FOLDER)
    if success and published is not None:
        outcome.folder = Path(published)
        exact = config.private / outcome.folder.name / CERTIFICATE
        outcome.certificate = json.loads(exact.read_text("utf-8"))
    elif success and keys.STATE in outcome.counts.get("release", {}):
        outcome.waiting = str(outcome.counts["release"][keys.STATE])
    elif not outcome.failures:
        outcome.failures.append("The run must publish a release; it did not. Run it again.")
    return outcome


def _run(config: ReleaseConfig, handler: logging.Handler) -> bool:
    """Run the job with this handler as its only logger; return whether it succeeded."""

    @dg.logger
    def observer_logger(_: dg.InitLoggerContext) -> logging.Logger:
        # Not from getLogger: it must not share handlers with other loggers of the process.
        logger = logging.Logger(LOGGER, logging.DEBUG)  # noqa: LOG001
        logger.addHandler(handler)
        return logger

    with ExitStack() as resources:
        # Dagster's default is a folder in the system's temporary folder, which a kill leaves there.
        artifacts = enter_temporary_folder(resources, private_folder(config.private))
        with imports_without_gc():  # creating an instance imports much of Dagster
            instance = resources.enter_context(
                dg.DagsterInstance.ephemeral(
                    str(artifacts), settings={"telemetry": {"enabled": False}}
                )
            )
        resources.enter_context(warnings.catch_warnings())
        # Deprecation warnings of Dagster and its dependencies are not for the user.
        warnings.simplefilter("ignore")
        definitions = dg.Definitions.merge(
            build_setanon_definitions(config), dg.Definitions(loggers={LOGGER: observer_logger})
        )
        result = definitions.resolve_job_def(f"{config.name}_release_job").execute_in_process(
            instance=instance,
            raise_on_error=False,
            # Selecting our logger disables Dagster's console logger.
            run_config={"loggers": {LOGGER: {}}},
        )
    return bool(result.success)


class _EventHandler(logging.Handler):
    """Passes Dagster events to the observer, and collects metadata, failures and warnings."""

    def __init__(
        self, name: str, observer: ReleaseObserver, outcome: Outcome, interrupts: InterruptWatch
    ) -> None:
        super().__init__()
        self.interrupts = interrupts
        self.prefix = f"{name}__"
        self.observer = observer
        self.outcome = outcome
        self.checks: dict[str, list[tuple[str, bool]]] = {}
        self.check_errors: dict[str, None] = {}
        """Why checks could not run, each reason once."""

        self.data_docs = ""
        """Sentence with the path of the Data Docs of failed checks."""

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a Dagster event, or a warning that a stage has logged."""
        metadata: Mapping[str, Any] = getattr(record, "dagster_meta", {})
        event = metadata.get("dagster_event")
        if isinstance(event, dg.DagsterEvent):
            if event.step_key is not None:
                self.handle_event(event, event.step_key.removeprefix(self.prefix))
        elif record.levelno == logging.WARNING:
            self.outcome.warnings.append(str(metadata.get("orig_message")))

    def handle_event(self, event: dg.DagsterEvent, stage: str) -> None:
        """Handle an event of this stage's step."""
        match event.event_type:
            case dg.DagsterEventType.STEP_START | dg.DagsterEventType.STEP_RESTARTED:
                if self.interrupts.received():
                    # Python may have ignored the KeyboardInterrupt in the previous step.
                    raise dg.DagsterExecutionInterruptedError
                self.observer.started(stage)
            case dg.DagsterEventType.ASSET_MATERIALIZATION:
                materialization = event.step_materialization_data.materialization
                counts = {name: each.value for name, each in materialization.metadata.items()}
                self.outcome.counts[materialization.asset_key.path[-1]] = counts
            case dg.DagsterEventType.ASSET_CHECK_EVALUATION:
                check = event.asset_check_evaluation_data
                self.checks.setdefault(stage, []).append((check.check_name, check.passed))
                if keys.CHECK_ERROR in check.metadata:
                    self.check_errors[str(check.metadata[keys.CHECK_ERROR].value)] = None
                if not check.passed and keys.DATA_DOCS in check.metadata:
                    self.data_docs = f" Data Docs: {check.metadata[keys.DATA_DOCS].value}"
            case dg.DagsterEventType.STEP_SUCCESS:
                check_counts = {CHECKS: len(self.checks.get(stage, ()))}
                seconds = event.step_success_data.duration_ms / 1000
                self.observer.finished(stage, self.outcome.counts.get(stage, check_counts), seconds)
            case dg.DagsterEventType.STEP_FAILURE:
                self.observer.failed(stage)
                self.outcome.failures.append(self.reason(event, stage))

    def reason(self, event: dg.DagsterEvent, stage: str) -> str:
        """Message of our own errors; for other errors only the class, as messages may have data."""
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            description = data.user_failure_data.description
            is_internal = description.startswith(INTERNAL_ERROR)
            return f"The stage {stage} failed. {description}" if is_internal else description
        state = MAYBE_PUBLISHED if stage == "release" else NOT_PUBLISHED
        if self.interrupts.received() or (data.error and data.error.cls_name == INTERRUPTED):
            return f"The run was stopped in the stage {stage}. {state}"
        if failed := [name for name, passed in self.checks.get(stage, ()) if not passed]:
            names = ", ".join(failed)
            if self.check_errors:
                reasons = " ".join(self.check_errors)
                return f"All checks must run; {names} could not or failed: {reasons} {state}"
            remedy = f" {NOTHING_LEFT}" if "something_is_left" in failed else ""
            return f"All checks must pass; {names} did not. {state}{remedy}{self.data_docs}"
        error = "an error" if data.error is None else data.error.cls_name
        return (
            f"{INTERNAL_ERROR} {error} in the stage {stage} (message withheld, it may contain "
            f"data). {state}"
        )
