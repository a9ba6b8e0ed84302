"""What all tasks share: how one runs a stage in a worker process, when it is retried, how many run at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from prefect import Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.futures import PrefectConcurrentFuture
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill import workers
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError, StorageError
from gristmill.execution import Execution
from gristmill.reporting.board import Board
from gristmill.types import ShardRef, StageReport, Value
from tasks.limits import existing

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


class Unwatched(Board):
    """The board of a process that works for a flow in another one, which counts what it gets back."""

    def advance(self, stage: str, documents: int, nbytes: int) -> None:
        """Nobody sees it."""

    def finish(self, stage: str, *, reused: int = 0, failed: int = 0) -> None:
        """Nobody sees it."""


class Watch:
    """The board of the current run and its progress artifact."""

    def __init__(self) -> None:
        self.board: Board = Unwatched()
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


class _Asked(Value, frozen=True, kw_only=True):
    """A task run to be submitted."""

    name: str
    task: Task[..., Any]
    call: Call


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
    announced: Callable[[StageReport], None] | None = None,
    **arguments: Any,
) -> StageReport:
    """Run a stage function in a worker process, count it on the board and log one line.

    ``downloading`` is the shard that the call fetches, where it does; ``announced`` hears of parts that are ready.
    """
    config.execution.apply()  # a task may run in a process that no flow has prepared
    try:
        with slots.of(downloading):
            report = workers.call(
                function,
                listener=lambda documents, nbytes: watch.board.advance(stage, documents, nbytes),
                announced=announced,
                seconds=config.execution.shard_seconds,
                config=config,
                **arguments,
            )
    except (ConfigError, InputError):  # for good: these are not retried
        watch.board.finish(stage, failed=1)
        raise
    watch.board.finish(stage, reused=report.reused)
    what = "reused" if report.reused else f"{report.seconds:.2f} s"
    counts = f"{report.docs_in} documents in, {report.docs_out} out, {report.tokens} tokens"
    get_run_logger().info("%s %s: %s, %s", stage, report.name, what, counts)
    return report


class Crew:
    """Task runs, each under a name of its own, on as many threads as calls may be under way.

    A task that runs may ask for others, which start when a thread is free; it must not wait for them.
    """

    def __init__(self, config: PrepareConfig) -> None:
        self._execution = config.execution
        self._asked: set[str] = set()
        self._events: SimpleQueue[_Asked | None] = SimpleQueue()

    def __contains__(self, name: str) -> bool:
        """Whether this task run was asked for, ended or not."""
        return name in self._asked

    def ask(self, name: str, task: Task[..., Any], call: Call) -> None:
        """Have a task run submitted by the thread that waits for all: Prefect warns when a busy one does."""
        self._asked.add(name)
        self._events.put(_Asked(name=name, task=task.with_options(retries=self._execution.retries), call=call))

    def outcomes(self) -> dict[str, Any]:
        """Wait until all are done; results or exceptions by name, in the order in which they were asked for.

        Whatever interrupts the wait (Ctrl-C, a cancelled run) stops the worker processes at once.
        """
        threads = self._execution.worker_count() + self._execution.downloads
        with ThreadPoolTaskRunner(max_workers=threads) as runner:
            try:
                futures = self._ended(runner)
                return {name: future.result(raise_on_failure=False) for name, future in futures.items()}
            except BaseException:
                workers.stop()  # before the runner is left, which waits for its threads
                raise

    def _ended(self, runner: ThreadPoolTaskRunner[Any]) -> dict[str, PrefectConcurrentFuture[Any]]:
        futures: dict[str, PrefectConcurrentFuture[Any]] = {}
        ended = 0
        while ended < len(self._asked):  # what a task asks for is in there before the task ends
            asked = self._events.get()
            if asked is None:
                ended += 1
                watch.update()
                continue
            future = runner.submit(task=asked.task, parameters=asked.call)
            future.wrapped_future.add_done_callback(lambda _: self._events.put(None))
            futures[asked.name] = future
        return futures


def dated(config: PrepareConfig) -> PrepareConfig:
    """``{date}`` in the output is the day for which the run was scheduled, so that a late retry keeps its place."""
    return config.dated(flow_run.scheduled_start_time.astimezone().date())


def name_run(name: str, config: PrepareConfig) -> None:
    """The flow run gets this name, known only once there is a plan, and the data set as a tag."""
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(flow_run.id), name=name, tags=sorted({*flow_run.tags, config.dataset}))


@contextmanager
def running(execution: Execution) -> Iterator[None]:
    """Around the body of a flow: work may begin, and no worker process outlives it."""
    global slots
    slots = Slots(execution)
    execution.apply()
    existing.cache_clear()
    workers.start()
    try:
        yield
    except BaseException:
        workers.stop()
        raise
    finally:
        workers.close()


@contextmanager
def watched() -> Iterator[None]:
    """Around the body of a flow that people watch: the board is shown, and its progress artifact kept."""
    watch.begin()
    with watch.board:
        yield
