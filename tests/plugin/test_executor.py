"""The executor of releases: in-process for releases, and no effect on other definitions."""

from types import SimpleNamespace

import pytest

dg = pytest.importorskip("dagster")

from dagster._core.definitions.job_base import InMemoryJob  # noqa: E402 - after the skip
from support.release_runs import release_config  # noqa: E402

from setanon_dagster.definitions import build_setanon_definitions  # noqa: E402
from setanon_dagster.executor import EXECUTORS, release_executor  # noqa: E402

ASSET_JOB = "__ASSET_JOB"
"""Dagster's job of the assets that are materialized without a job."""


@dg.asset
def other():
    """Asset of somebody else."""


def executor_of(*definitions):
    merged = dg.Definitions.merge(*definitions) if len(definitions) > 1 else definitions[0]
    return merged.get_repository_def().get_job(ASSET_JOB).executor_def


@pytest.fixture
def release(tmp_path):
    return build_setanon_definitions(release_config(tmp_path))


def test_release_alone_has_its_executor(release):
    assert executor_of(release) is release_executor
    assert release.get_repository_def() is release.get_repository_def()
    job = release.resolve_job_def("trial_release_job")
    assert job.executor_def is dg.in_process_executor


def test_merged_release_leaves_the_executor_to_others(release):
    assert executor_of(release, dg.Definitions([other])) is dg.multi_or_in_process_executor
    chosen = dg.Definitions([other], executor=dg.multiprocess_executor)
    assert executor_of(release, chosen) is dg.multiprocess_executor
    assert executor_of(chosen, release) is dg.multiprocess_executor


def test_in_process_sets_the_executor_of_merged_releases(tmp_path, release):
    parameters = {"in_process": True, "name": "second"}
    second = build_setanon_definitions(release_config(tmp_path, **parameters))
    third = build_setanon_definitions(release_config(tmp_path, **parameters | {"name": "third"}))
    assert executor_of(release, second, third, dg.Definitions([other])) is release_executor


def chosen_executor(job, steps, config):
    """Name of the executor that runs these steps of the job."""
    with pytest.MonkeyPatch.context() as patch, dg.DagsterInstance.ephemeral() as instance:
        for name, each in EXECUTORS.items():
            fake = SimpleNamespace(retries=None, execute=lambda *_, name=name: iter([name]))
            patch.setattr(each, "_executor_creation_fn", lambda _, fake=fake: fake)
        context = dg.InitExecutorContext(InMemoryJob(job), release_executor, config, instance)
        executor = release_executor.executor_creation_fn(context)
        plan = SimpleNamespace(step_keys_to_execute=steps, get_step_by_key=job.graph.node_named)
        return next(iter(executor.execute(None, plan)))


def test_one_process_runs_releases_and_dagsters_default_everything_else(release):
    definitions = dg.Definitions.merge(release, dg.Definitions([other]))
    job = definitions.get_repository_def().get_job(ASSET_JOB)
    steps = {node.name for node in job.graph.nodes} - {"other"}
    assert len(steps) == 9
    assert chosen_executor(job, steps, {}) == "in_process"
    assert chosen_executor(job, {*steps, "other"}, {}) == "multiprocess"
    assert chosen_executor(job, {"other"}, {}) == "multiprocess"
    assert chosen_executor(job, steps, {"multiprocess": {}}) == "multiprocess"
    assert chosen_executor(job, {"other"}, {"in_process": {}}) == "in_process"
