"""A flow's run: its worker processes, how a task run works in one, and what must hold around the body of a flow."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext
from prefect.exceptions import TerminationSignal
from prefect.logging import get_run_logger
from prefect.runtime import flow_run, task_run
from prefect.utilities.annotations import opaque

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import StorageError
from gristmill.processes import pool
from gristmill.reporting.board import Unwatched
from gristmill.runners.base import Announced, R
from gristmill.runners.workers import Workers
from tasks.limits import existing, moving
from tasks.progress import progress
from tasks.ray_cluster import connected
from tasks.stages import Row, row_of
from tasks.stopping import confirm_cancelled, log_stopped_as_information


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


def _log(line: str) -> None:
    get_run_logger().info("%s", line)


def _workers(execution: Execution) -> Workers:
    return Workers(execution, Unwatched(), moving, _log)


workers = _workers(Execution())
"""Of this process: those of its flow, or of whichever flow gives it batches."""


def in_worker(call: partial[R], announced: Announced | None = None) -> R:
    """Make a call in a worker process, within the task run that works here."""
    stage = row_of(call).stage()
    tag(stage)
    call.keywords["config"].execution.apply()  # a task may run in a process that no flow has prepared
    return workers.run(stage, task_run.name, call, announced)


def tag(stage: str) -> None:
    """The task run that works has the stage as a tag, from here on and not from its beginning: for every tag that it
    begins with, Prefect asks the server for a limit, 10 ms a time, and 2 s where two ask SQLite at once."""
    context = TaskRunContext.get()
    if context is not None:  # the function of a task may be called on its own
        context.task_run.tags = sorted({*context.task_run.tags, stage})


def work(name: str, stage: str, perform: Callable[[], R]) -> R:  # noqa: ARG001  names the task run
    """The body of the task runs of all stages."""
    tag(stage)
    return perform()


@cache
def task_of(row: Row, retries: int) -> Task[..., Any]:
    """The task of a row, tried again ``retries`` times where the row does not say otherwise. Made once: Prefect reads
    the source of its function for it, which takes 3 ms."""
    tries = {"retries": retries if row.retries is None else row.retries}
    return Task(work, name=row.task, task_run_name="{name}", **{**OPTIONS, **tries})


def parameters(row: Row, name: str, perform: Callable[[], Any]) -> dict[str, Any]:
    """The parameters of a task run. Prefect does not look into what is done: it would walk twice through all settings
    and lists for what other task runs gave, which is a third of the time that a task run takes."""
    return {"name": name, "stage": row.stage(), "perform": opaque(perform)}


def nested(call: partial[Any], announced: Announced | None = None) -> Any:
    """Make a call in a task run within the one that works here, with retries of its own."""
    row = row_of(call)
    task = task_of(row, call.keywords["config"].execution.retries)
    return task(**parameters(row, row.name(call, None), partial(in_worker, call, announced)))


def dated(config: PrepareConfig) -> PrepareConfig:
    """``{date}`` in the output is the day for which the run was scheduled, so that a late retry keeps its place."""
    return config.dated(flow_run.scheduled_start_time.astimezone().date())


@contextmanager
def running(execution: Execution) -> Iterator[None]:
    """Around the body of a flow: work may begin, and no worker process outlives it."""
    global workers
    log_stopped_as_information()
    workers = _workers(execution)
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
    with progress.following() as board:
        workers.display = board
        yield
