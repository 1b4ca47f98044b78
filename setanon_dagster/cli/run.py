"""One release as the job of Dagster that makes it, run here and now, with somebody watching."""

import json
import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import dagster as dg

from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster import metadata_keys as keys
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.runtime.gc_imports import imports_without_gc
from setanon_dagster.runtime.interrupts import InterruptWatch
from setanon_dagster.verifier.release_folder import CERTIFICATE

LOGGER: Final = "setanon"
INTERRUPTED: Final = "DagsterExecutionInterruptedError"

NOTHING: Final = "Nothing was published, and the latest release is as it was."
WHOLE: Final = "The latest release is the old one or the new one, whole and verified."
"""What can be said when the gate itself was stopped: it swaps them in one step."""

Counts = Mapping[str, Any]


class ReleaseObserver(Protocol):
    """Who is told of the steps as they start and end; they go by the names of their stages."""

    def started(self, stage: str) -> None:
        """Tell that a stage, or the check of one, has started."""

    def moved(self, what: str, done: int, total: int) -> None:
        """Tell how far what runs is; often."""

    def finished(self, stage: str, counts: Counts, seconds: float) -> None:
        """Tell that it is done, and what it counted."""

    def failed(self, stage: str) -> None:
        """Tell that it failed."""


@dataclass(slots=True)
class Outcome:
    """What became of a run; nothing is published unless there is a folder."""

    folder: Path | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each stage counted."""

    failures: list[str] = field(default_factory=list)
    """Why nothing was published, in sentences without data."""

    remarks: list[str] = field(default_factory=list)
    """What a person should know before using the release."""


def run_release(config: ReleaseConfig, watcher: ReleaseObserver) -> Outcome:
    """Run all stages, their checks and the release in this process; Dagster keeps no history."""
    outcome = Outcome()
    with InterruptWatch() as interrupts, listen_to_progress(watcher.moved):
        listener = _Listener(config.name, watcher, outcome, interrupts)
        try:
            success = _run(config, listener)
        except dg.DagsterExecutionInterruptedError:
            success = False
            outcome.failures.append(f"The run was stopped. {NOTHING}")
    published = outcome.counts.get("release", {}).get(keys.FOLDER)
    if success and published is not None:
        outcome.folder = Path(published)
        outcome.certificate = json.loads((outcome.folder / CERTIFICATE).read_text("utf-8"))
    elif not outcome.failures:
        outcome.failures.append("The run must end with a release; it ended before. Run it again.")
    return outcome


def _run(config: ReleaseConfig, listener: logging.Handler) -> bool:

    @dg.logger
    def told(_: dg.InitLoggerContext) -> logging.Logger:
        # Not of the process: other handlers shall not hear of it, nor this one of other runs.
        logger = logging.Logger(LOGGER, logging.DEBUG)  # noqa: LOG001
        logger.addHandler(listener)
        return logger

    with imports_without_gc():  # an instance has yet to load half of what Dagster is
        kept = dg.DagsterInstance.ephemeral(settings={"telemetry": {"enabled": False}})
    with warnings.catch_warnings(), kept as instance:
        # Of Dagster and its neighbours about each other: not for whoever wants a release.
        warnings.simplefilter("ignore")
        definitions = dg.Definitions.merge(
            build_setanon_definitions(config), dg.Definitions(loggers={LOGGER: told})
        )
        result = definitions.resolve_job_def(f"{config.name}_release_job").execute_in_process(
            instance=instance,
            raise_on_error=False,
            # Named, it takes the place of the logger that writes to the terminal.
            run_config={"loggers": {LOGGER: {}}},
        )
    return bool(result.success)


class _Listener(logging.Handler):
    """Turns Dagster's events into words to the watcher, and keeps what they counted."""

    def __init__(
        self, name: str, watcher: ReleaseObserver, outcome: Outcome, interrupts: InterruptWatch
    ) -> None:
        super().__init__()
        self.interrupts = interrupts
        self.prefix = f"{name}__"
        self.watcher = watcher
        self.outcome = outcome
        self.checks: dict[str, list[tuple[str, bool]]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Hear of an event, or of a remark that a stage has logged."""
        said: Mapping[str, Any] = getattr(record, "dagster_meta", {})
        event = said.get("dagster_event")
        if isinstance(event, dg.DagsterEvent):
            if event.step_key is not None:
                self.hear(event, event.step_key.removeprefix(self.prefix))
        elif record.levelno == logging.WARNING:
            self.outcome.remarks.append(str(said.get("orig_message")))

    def hear(self, event: dg.DagsterEvent, stage: str) -> None:
        """Hear of an event of this stage's step."""
        match event.event_type:
            case dg.DagsterEventType.STEP_START | dg.DagsterEventType.STEP_RESTARTED:
                if self.interrupts.received():
                    # It may have got lost in the step before.
                    raise dg.DagsterExecutionInterruptedError
                self.watcher.started(stage)
            case dg.DagsterEventType.ASSET_MATERIALIZATION:
                made = event.step_materialization_data.materialization
                counted = {name: value.value for name, value in made.metadata.items()}
                self.outcome.counts[made.asset_key.path[-1]] = counted
            case dg.DagsterEventType.ASSET_CHECK_EVALUATION:
                found = event.asset_check_evaluation_data
                self.checks.setdefault(stage, []).append((found.check_name, found.passed))
            case dg.DagsterEventType.STEP_SUCCESS:
                counts = self.outcome.counts.get(stage, {"checks": len(self.checks.get(stage, ()))})
                seconds = event.step_success_data.duration_ms / 1000
                self.watcher.finished(stage, counts, seconds)
            case dg.DagsterEventType.STEP_FAILURE:
                self.watcher.failed(stage)
                self.outcome.failures.append(self.reason(event, stage))

    def reason(self, event: dg.DagsterEvent, stage: str) -> str:
        """Our own sentence, or one about an error whose text may hold data."""
        data = event.step_failure_data
        if data.user_failure_data is not None and data.user_failure_data.description:
            return data.user_failure_data.description
        left = WHOLE if stage == "release" else NOTHING
        if self.interrupts.received() or (data.error and data.error.cls_name == INTERRUPTED):
            return f"The run was stopped in the stage {stage}. {left}"
        if broken := [name for name, passed in self.checks.get(stage, ()) if not passed]:
            return f"All checks must pass; {', '.join(broken)} did not. {left}"
        raised = "an error" if data.error is None else data.error.cls_name
        return (
            f"The stage {stage} must run through; {raised} was raised. Its text is withheld, since "
            f"it may hold data. {left}"
        )
