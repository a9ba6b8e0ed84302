"""Task runs on threads."""

import threading
from functools import partial
from queue import SimpleQueue
from typing import Any

from prefect import Task
from prefect.futures import PrefectConcurrentFuture
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill.config.execution import Execution
from gristmill.processes import pool
from gristmill.runners.base import perform
from gristmill.runners.pooled import Work
from gristmill.runners.workers import threads
from gristmill.types import Value
from tasks.artifacts import record_failures
from tasks.run import in_worker, nested, parameters, task_of
from tasks.stages import row_of


class _Submitted(Value, frozen=True, kw_only=True):
    """A task run to come."""

    task: Task[..., Any]
    parameters: dict[str, Any]


class PrefectPool:
    """Task runs, on more threads than calls may be under way: some wait for a slot.

    A task that runs may submit others, which start when a thread is free; it must not wait for them.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._labels: list[str] = []
        self._events: SimpleQueue[_Submitted | None] = SimpleQueue()
        self._lock = threading.Lock()

    def submit(self, call: partial[Any], work: Work | None = None, number: int | None = None) -> int:
        """Have a call made in a task run, or ``work`` done in one whose calls are nested task runs.

        A task without retries leaves them to the tasks nested in it: retries of retries would multiply.
        """
        row = row_of(call)
        row = row if work is None else row.chain or row
        done = partial(perform, call, in_worker) if work is None else partial(work, nested)
        task = task_of(row, self._execution.retries)
        return self.submit_task(task, parameters(row, row.name(call, number), done), row.label(call, number))

    def submit_task(self, task: Task[..., Any], given: dict[str, Any], label: str) -> int:
        """Have a task run submitted by the thread that waits for all: Prefect warns when a busy one does."""
        with self._lock:
            self._labels.append(label)
            self._events.put(_Submitted(task=task, parameters=given))
            return len(self._labels) - 1

    def results(self) -> list[Any]:
        """Wait until all are done: results or exceptions. Each failure gets an artifact, up to a number of them.

        An interrupt of the wait (Ctrl-C, a cancelled run) stops the worker processes at once.
        """
        with ThreadPoolTaskRunner(max_workers=threads(self._execution)) as runner:
            try:
                futures = self._ended(runner)
                results = [future.result(raise_on_failure=False) for future in futures]
            except BaseException:
                pool.stop()  # before the runner is left, which waits for its threads
                raise
        pairs = zip(self._labels, results, strict=True)
        record_failures({label: result for label, result in pairs if isinstance(result, BaseException)})
        return results

    def _ended(self, runner: ThreadPoolTaskRunner[Any]) -> list[PrefectConcurrentFuture[Any]]:
        futures: list[PrefectConcurrentFuture[Any]] = []
        ended = 0
        while ended < len(self._labels):  # what a task submits is in there before the task ends
            event = self._events.get()
            if event is None:
                ended += 1
                continue
            future = runner.submit(task=event.task, parameters=event.parameters)
            future.wrapped_future.add_done_callback(lambda _: self._events.put(None))
            futures.append(future)
        return futures
