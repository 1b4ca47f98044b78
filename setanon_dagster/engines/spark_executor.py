"""Run the parallel calls of the grouping as Spark tasks: one task per call, one place per call.

Guarantee:  results are those of calls in this process; Spark runs a lost task again. An error of
            setanon is raised unchanged; of another error, only the class, because Spark logs the
            message, which may contain data.
Complexity: the driver sends the arguments of each call and receives its result, at most
            `PENDING_PER_PROCESS` per core of the cluster at a time.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from setanon_core.errors import SetanonError
from setanon_core.runtime.executor import use_executor
from setanon_dagster.engines.process_pool import PoolExecutor
from setanon_dagster.engines.spark_tasks import WorkerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result")


class SparkTasks(Executor):
    """A pool whose workers are the cores of a Spark session."""

    def __init__(self, session: "SparkSession") -> None:
        """Use this session, which is not stopped."""
        self._context = session.sparkContext
        self.workers = int(self._context.defaultParallelism)
        # Spark runs jobs of several threads at the same time; each job is one task.
        self._jobs = ThreadPoolExecutor(self.workers)

    def submit(
        self,
        function: Callable[..., Result],
        /,
        *arguments: Any,  # noqa: ANN401
        **named: Any,  # noqa: ANN401
    ) -> Future[Result]:
        """Start a call; functions must be importable on the workers."""
        return self._jobs.submit(self._run, function, arguments, named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as declared by Executor
        """Wait for the running calls."""
        self._jobs.shutdown(wait, cancel_futures=cancel_futures)

    def _run(
        self, function: Callable[..., Result], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Result:
        call = (function, arguments, named)
        [outcome] = self._context.parallelize([call], 1).map(run_call).collect()
        if isinstance(outcome, SetanonError):
            raise outcome
        result: Result = outcome
        return result


def run_call(call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> Any:  # noqa: ANN401
    """The result of a call in a worker, or its error if that is one of setanon."""
    function, arguments, named = call
    try:
        return function(*arguments, **named)
    except SetanonError as error:
        return error
    except Exception as error:  # noqa: BLE001 - no message may get into the log of Spark
        raise WorkerError(type(error).__name__) from None


@contextmanager
def use_spark_tasks(session: "SparkSession") -> Iterator[None]:
    """Let the core run its parallel calls as tasks of this session."""
    with SparkTasks(session) as tasks:
        # Tasks may run on other machines, and more than once: they are sent data, not paths.
        executor = PoolExecutor(tasks, tasks.workers, shares_files=False)
        with use_executor(executor):
            yield
