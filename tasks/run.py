"""What all tasks share: how one runs a stage in a worker process, when it is retried, how many run at once."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from queue import SimpleQueue
from threading import BoundedSemaphore
from typing import Any, TypeVar
from uuid import UUID

import httpx
from prefect import Task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext
from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectConcurrentFuture
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.annotations import opaque

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import ConfigError, InputError, StorageError, WorkerLost
from gristmill.processes import pool
from gristmill.reporting.board import Board
from gristmill.types import PlannedFile, ShardRef, StageReport, Value
from tasks.artifacts import record_failures
from tasks.limits import existing, moving
from tasks.ray_cluster import connected
from tasks.stopping import confirm_cancelled, log_stopped_as_information

Call = dict[str, Any]
Reported = TypeVar("Reported", StageReport, list[StageReport])


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


@cache
def retried(task: Task[..., Any], retries: int) -> Task[..., Any]:
    """The task with another number of retries. Made once: Prefect reads the task's source for it, which takes 3 ms."""
    return task.with_options(retries=retries)


def closed(call: Call) -> Call:
    """The parameters of a task run, into which Prefect does not look: it would walk twice through all settings and
    lists for what other task runs gave, which is a third of what a task run takes."""
    return {name: opaque(value) for name, value in call.items()}


def nested(task: Task[..., Any], config: PrepareConfig, **call: Any) -> Any:
    """The result of a task run within the one that runs here, with retries of its own."""
    return retried(task, config.execution.retries)(**closed({**call, "config": config}))


PROGRESS_SECONDS = 1.0
"""Between updates of the progress artifact. One takes 30 ms, and seconds where the server is busy."""


class Unwatched(Board):
    """The board of a process that works for a flow in another one, which counts what it gets back."""

    def advance(self, stage: str, documents: int, nbytes: int) -> None:
        """Nobody sees it."""

    def finish(self, stage: str, *, reused: int = 0, failed: int = 0, tokens: int = 0, quarantined: int = 0) -> None:
        """Nobody sees it."""

    def retry(self, stage: str) -> None:
        """Nobody sees it."""

    def step(self, stage: str, name: str, done: int, total: int) -> str:
        """Nobody sees it."""
        return ""


class Watch:
    """The board of the current run and its progress artifact."""

    def __init__(self) -> None:
        self.board: Board = Unwatched()
        self._artifact: UUID | None = None

    @contextmanager
    def following(self) -> Iterator[None]:
        """Count from zero, show the board, and keep the artifact up to date: from a thread, for the run must not wait
        for the server, and in the flow's context, for there is its client: another one a second, with the certificates
        that it loads, would take 50 ms of CPU each time."""
        self.board = Board()
        self._artifact = UUID(str(create_progress_artifact(0.0, key="progress", description="Work done so far")))
        ended = threading.Event()

        def follow() -> None:
            while not ended.wait(PROGRESS_SECONDS):
                with contextlib.suppress(httpx.HTTPError):  # the next update will do
                    self.update(self.board.share())

        thread = threading.Thread(target=copy_context().run, args=[follow], daemon=True)
        thread.start()
        try:
            with self.board:
                yield
        finally:
            ended.set()
            thread.join()

    def update(self, share: float) -> None:
        """Show in the artifact that this share of the work is done."""
        if self._artifact is not None:
            update_progress_artifact(self._artifact, progress=100 * share)


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
    """How many calls may be under way: CPU work, and downloads and uploads where they are limited on their own."""

    def __init__(self, execution: Execution) -> None:
        self._work = BoundedSemaphore(execution.worker_count())
        self._downloads = BoundedSemaphore(execution.downloads) if execution.downloads else self._work
        self._uploads = BoundedSemaphore(execution.uploads) if execution.uploads else self._work

    def of(self, shard: ShardRef | None, file: PlannedFile | None) -> BoundedSemaphore:
        """The slots for fetching ``shard`` or publishing ``file``, or for work where there is neither."""
        if file is not None:
            return self._uploads
        return self._downloads if shard is not None and shard.remote else self._work


slots = Slots(Execution())


def in_worker(
    stage: str,
    function: Callable[..., Reported],
    config: PrepareConfig,
    downloading: ShardRef | None = None,
    uploading: PlannedFile | None = None,
    announced: Callable[[StageReport], None] | None = None,
    **arguments: Any,
) -> Reported:
    """Run a stage function in a worker process; count each report on the board and log a line of it.

    ``downloading`` is the shard that the call fetches, ``uploading`` the file that it publishes, where it does;
    ``announced`` hears of parts that are ready.
    """
    tag(stage)
    config.execution.apply()  # a task may run in a process that no flow has prepared
    try:
        # The limit inside the slot: what waits for work to end here must not hold up other runs of the server.
        with slots.of(downloading, uploading), moving(downloading, uploading, config):
            made = pool.call(
                function,
                listener=lambda documents, nbytes: watch.board.advance(stage, documents, nbytes),
                announced=announced,
                stepped=lambda name, done, total: _log(watch.board.step(stage, name, done, total)),
                seconds=config.execution.shard_seconds,
                config=config,
                **arguments,
            )
    except (ConfigError, InputError):  # for good: these are not retried
        watch.board.finish(stage, failed=1)
        raise
    except WorkerLost as error:
        watch.board.retry(stage)
        place = f"{arguments['shard'].uri}: " if "shard" in arguments else ""
        raise WorkerLost(f"{place}{task_run.name}: {error}") from None
    except StorageError:
        watch.board.retry(stage)
        raise
    for report in made if isinstance(made, list) else [made]:
        watch.board.finish(stage, reused=report.reused, tokens=report.tokens, quarantined=report.quarantined)
        what = "reused" if report.reused else f"{report.seconds:.2f} s"
        counts = f"{report.docs_in} documents in, {report.docs_out} out, {report.tokens} tokens"
        get_run_logger().info("%s %s: %s, %s", stage, report.name, what, counts)
    return made


def _log(line: str) -> None:
    if line:
        get_run_logger().info("%s", line)


def tag(stage: str) -> None:
    """The task run that works has the stage as a tag, from here on and not from its beginning: for every tag that it
    begins with, Prefect asks the server for a limit, 10 ms a time, and 2 s where two ask SQLite at once."""
    context = TaskRunContext.get()
    if context is not None:  # the function of a task may be called on its own
        context.task_run.tags = sorted({*context.task_run.tags, stage})


BEGUN = 3
"""Task runs that are begun for each worker. From the end of a call to the next one of the same thread Prefect takes 15
to 35 ms, in which the worker does what another thread waits with. Some shards more than one a worker are read ahead of
what is done with them, so that the last ones to be read do not come when nothing else is left; more would gain nothing.
"""


class Crew:
    """Task runs, each under a name of its own, on more threads than calls may be under way: some wait for a slot.

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
        """Have a task run submitted by the thread that waits for all: Prefect warns when a busy one does.

        A task without retries leaves them to the tasks nested in it: retries of retries would multiply.
        """
        self._asked.add(name)
        tried = retried(task, self._execution.retries) if task.retries else task
        self._events.put(_Asked(name=name, task=tried, call=closed(call)))

    def outcomes(self) -> dict[str, Any]:
        """Wait until all are done; results or exceptions by name, in the order in which they were asked for.

        Whatever interrupts the wait (Ctrl-C, a cancelled run) stops the worker processes at once.
        """
        execution = self._execution
        threads = BEGUN * execution.worker_count() + execution.downloads + execution.uploads
        with ThreadPoolTaskRunner(max_workers=threads) as runner:
            try:
                futures = self._ended(runner)
                outcomes = {name: future.result(raise_on_failure=False) for name, future in futures.items()}
            except BaseException:
                pool.stop()  # before the runner is left, which waits for its threads
                raise
        record_failures({name: outcome for name, outcome in outcomes.items() if isinstance(outcome, BaseException)})
        return outcomes

    def _ended(self, runner: ThreadPoolTaskRunner[Any]) -> dict[str, PrefectConcurrentFuture[Any]]:
        futures: dict[str, PrefectConcurrentFuture[Any]] = {}
        ended = 0
        while ended < len(self._asked):  # what a task asks for is in there before the task ends
            asked = self._events.get()
            if asked is None:
                ended += 1
                continue
            future = runner.submit(task=asked.task, parameters=asked.call)
            future.wrapped_future.add_done_callback(lambda _: self._events.put(None))
            futures[asked.name] = future
        return futures


def dated(config: PrepareConfig) -> PrepareConfig:
    """``{date}`` in the output is the day for which the run was scheduled, so that a late retry keeps its place."""
    return config.dated(flow_run.scheduled_start_time.astimezone().date())


@contextmanager
def running(execution: Execution) -> Iterator[None]:
    """Around the body of a flow: work may begin, and no worker process outlives it."""
    global slots
    log_stopped_as_information()
    slots = Slots(execution)
    execution.apply()
    existing.cache_clear()
    pool.start()
    try:
        with connected(execution):
            yield
    except TerminationSignal:
        pool.stop()
        confirm_cancelled()
        raise
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.close()


@contextmanager
def watched() -> Iterator[None]:
    """Around the body of a flow that people watch: the board is shown, and its progress artifact kept."""
    with watch.following():
        yield
