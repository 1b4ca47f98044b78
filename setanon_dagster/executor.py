"""Executor of releases: one process for all steps of a run, instead of one process per step.

Dagster has one default executor per code location, and it applies to assets that are materialized
without a job. This one therefore leaves the runs of other assets and jobs to Dagster's default.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import dagster as dg

STEP_TAGS: Final[Mapping[str, str]] = {"setanon/step": "true"}
"""Tags of the ops of a release, by which the executor recognizes them."""

DEFAULTS: Final[Mapping[str, Any]] = {"retries": {"enabled": {}}}
"""Settings that both executors of Dagster require."""

EXECUTORS: Final[Mapping[str, dg.ExecutorDefinition]] = {
    "in_process": dg.in_process_executor,
    "multiprocess": dg.multiprocess_executor,
}

CONFIG: Final = dg.Field(
    dg.Selector(  # type: ignore[no-untyped-call]
        {name: each.config_schema.as_field() for name, each in EXECUTORS.items()}
    ),
    is_required=False,
    description="Default: in_process for runs of releases only, otherwise multiprocess.",
)
"""The run config of Dagster's default executor, without its default."""


@dg.executor(name="setanon_executor", config_schema=CONFIG)
def release_executor(context: dg.InitExecutorContext) -> dg.Executor:
    """In-process for runs that have steps of releases only; otherwise Dagster's default."""
    for name, config in context.executor_config.items():
        return _create(context, name, config or {})  # type: ignore[arg-type]
    return _ReleaseExecutor({name: _create(context, name) for name in EXECUTORS})


def _create(
    context: dg.InitExecutorContext, name: str, config: Mapping[str, Any] = DEFAULTS
) -> dg.Executor:
    create = EXECUTORS[name].executor_creation_fn
    assert create is not None  # noqa: S101 - both have one
    return create(context._replace(executor_config=config))


class _ReleaseExecutor(dg.Executor):
    """Chooses the executor when the steps of the run are known."""

    def __init__(self, executors: Mapping[str, dg.Executor]) -> None:
        self._executors = executors

    @property
    def retries(self) -> Any:  # noqa: ANN401 - Dagster has no public name of this type
        """Retries are enabled, as in both executors."""
        return self._executors["in_process"].retries

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:  # noqa: ANN401
        """Run the steps by the chosen executor."""
        steps = map(execution_plan.get_step_by_key, execution_plan.step_keys_to_execute)
        only_releases = all(STEP_TAGS.items() <= (step.tags or {}).items() for step in steps)
        chosen = self._executors["in_process" if only_releases else "multiprocess"]
        return chosen.execute(plan_context, execution_plan)
