"""What all tasks share: how one runs a stage in a worker process, when it is retried, how many run at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from prefect import Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill import workers
from gristmill.config import Execution, PrepareConfig
from gristmill.errors import ConfigError, InputError, StorageError, WorkerLost
from gristmill.reporting.board import Board
from gristmill.types import ShardRef, StageReport, Value

Call = dict[str, Any]


def is_storage_error(_task: object, _run: object, state: Any) -> bool:
    """Only trouble with the surroundings is worth another try; bad data and bad settings stay bad."""
    return isinstance(state.result(raise_on_failure=False), StorageError)


OPTIONS: dict[str, Any] = {
    "retries": 3,
    "retry_delay_seconds": [1, 5, 25],
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": is_storage_error,
    "cache_policy": NO_CACHE,  # the reports in the work area are the cache
    "persist_result": False,
}

PROGRESS_SECONDS = 1.0
"""An update of the progress artifact costs about 30 ms."""


class Watch:
    """The board of the current run and its progress artifact."""

    def __init__(self) -> None:
        self.board = Board()
        self._artifact: UUID | None = None
        self._updated = 0.0

    def begin(self) -> None:
        """Start counting from zero."""
        self.board = Board()
        self._artifact = UUID(str(create_progress_artifact(0.0, key="progress", description="Work done so far")))

    def update(self, share: float | None = None) -> None:
        """Bring the artifact up to date, at most once a second; with ``share``, at once."""
        now = time.monotonic()
        if self._artifact is None or (share is None and now - self._updated < PROGRESS_SECONDS):
            return
        self._updated = now
        update_progress_artifact(self._artifact, progress=100 * (self.board.share() if share is None else share))


watch = Watch()


class Reports(Value, frozen=True, kw_only=True):
    """Many reports as one value: Prefect walks through lists of parameters, and a long one would cost seconds."""

    reports: list[StageReport]


class Slots:
    """How many calls may be under way: CPU work, and downloads where they are limited on their own."""

    def __init__(self, execution: Execution) -> None:
        self._work = BoundedSemaphore(execution.worker_count())
        self._downloads = BoundedSemaphore(execution.downloads) if execution.downloads else self._work

    def of(self, shard: ShardRef | None) -> BoundedSemaphore:
        """The slots for fetching ``shard``, or for work where there is none to fetch."""
        return self._downloads if shard is not None and shard.remote else self._work


slots = Slots(Execution())


def in_worker(
    stage: str,
    function: Callable[..., StageReport],
    config: PrepareConfig,
    downloading: ShardRef | None = None,
    **arguments: Any,
) -> StageReport:
    """Run a stage function in a worker process, count it on the board and log one line.

    ``downloading`` is the shard that the call fetches, where it does.
    """
    try:
        with slots.of(downloading):
            report = workers.call(
                function,
                listener=lambda documents, nbytes: watch.board.advance(stage, documents, nbytes),
                seconds=config.execution.shard_seconds,
                config=config,
                **arguments,
            )
    except (ConfigError, InputError):  # for good: these are not retried
        watch.board.finish(stage, failed=1)
        raise
    except WorkerLost as error:
        place = f"{arguments['shard'].uri}: " if "shard" in arguments else ""
        raise WorkerLost(f"{place}{task_run.name}: {error}") from None
    watch.board.finish(stage, reused=report.reused)
    what = "reused" if report.reused else f"{report.seconds:.2f} s"
    counts = f"{report.docs_in} documents in, {report.docs_out} out, {report.tokens} tokens"
    get_run_logger().info("%s %s: %s, %s", stage, report.name, what, counts)
    return report


def each(task: Task[..., Any], calls: list[Call], config: PrepareConfig) -> list[Any]:
    """Submit one task run per call, wait for all, and return results or exceptions in the order of ``calls``.

    A task without retries leaves them to the tasks nested in it: retries of retries would multiply.
    Whatever interrupts the wait (Ctrl-C, a cancelled run) stops the worker processes at once.
    """
    tried = task.with_options(retries=config.execution.retries) if task.retries else task
    threads = config.execution.worker_count() + config.execution.downloads
    with ThreadPoolTaskRunner(max_workers=threads) as runner:
        try:
            futures: list[PrefectFuture[Any]] = [runner.submit(task=tried, parameters=call) for call in calls]
            for _ in as_completed(futures):
                watch.update()
            return [future.result(raise_on_failure=False) for future in futures]
        except BaseException:
            workers.stop()  # before the runner is left, which waits for its threads
            raise


def all_done(task: Task[..., Any], calls: list[Call], config: PrepareConfig) -> list[Any]:
    """The results of ``each``; raises the first failure after all have been tried."""
    results = each(task, calls, config)
    raise_failed(results)
    return results


def raise_failed(results: list[Any]) -> None:
    """Raise the first exception among results; the others are named in a note."""
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        for other in failures[1:]:
            failures[0].add_note(f"also failed: {other}")
        raise failures[0]


def dated(config: PrepareConfig) -> PrepareConfig:
    """``{date}`` in the output is the day for which the run was scheduled, so that a late retry keeps its place."""
    return config.dated(flow_run.scheduled_start_time.astimezone().date())


@contextmanager
def running(config: PrepareConfig) -> Iterator[None]:
    """Around the body of a flow: the board is shown, and no worker process outlives it."""
    global slots
    slots = Slots(config.execution)
    workers.start()
    watch.begin()
    try:
        with watch.board:
            yield
    except BaseException:
        workers.stop()
        raise
    finally:
        workers.close()
