"""The runner of one machine: calls in child processes, supervised by threads, without a server."""

import random
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import StorageError
from gristmill.processes import pool
from gristmill.reporting.board import Board
from gristmill.runners.base import Announced, R, Run, perform
from gristmill.runners.pooled import PooledRunner, TaskPool, Work
from gristmill.runners.workers import Workers, threads
from gristmill.types import Plan, part_name

DELAYS = (1.0, 5.0, 25.0)
"""Seconds before a call is tried again, up to twice as long at random; the last holds for all further tries."""


class LocalRunner(PooledRunner):
    """Carries out calls in the child processes of this machine; a storage error or a lost process is tried again."""

    def __init__(self, execution: Execution, display: Board) -> None:
        self._execution = execution
        self._workers = Workers(execution, display)
        self._stopped = threading.Event()

    @property
    def display(self) -> Board:
        """The one that the calls are counted on."""
        return self._workers.display

    def task_pool(self) -> TaskPool:
        """Threads for the calls of one fan-out."""
        return _Threads(threads(self._execution), self._tried, self._stopped)

    def stage_of(self, call: partial[Any]) -> str:
        """The name of its function."""
        return str(call.func.__name__)

    def warn(self, line: str) -> None:
        """On the terminal."""
        print(f"warning: {line}", file=sys.stderr)

    def name_run(self, planned: Plan, config: PrepareConfig) -> None:
        """Nothing lists the runs of a machine."""

    def _tried(self, call: partial[R], announced: Announced | None = None) -> R:
        for tries in range(self._execution.retries):
            try:
                return self._workers.run(self.stage_of(call), self._name(call), call, announced)
            except StorageError:
                delay = DELAYS[min(tries, len(DELAYS) - 1)]
                self._stopped.wait(delay * random.uniform(1, 2))
        return self._workers.run(self.stage_of(call), self._name(call), call, announced)

    def _name(self, call: partial[Any]) -> str:
        given = call.keywords
        if "shard" not in given:
            return self.stage_of(call)
        piece = given["cleaned"].piece if "cleaned" in given else given.get("piece", 0)
        return f"{self.stage_of(call)}-{part_name(given['shard'].index, piece)}"


class _Threads:
    def __init__(self, count: int, run: Run, stopped: threading.Event) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._run, self._stopped = run, stopped
        self._lock = threading.Lock()
        self._tasks: list[Future[Any]] = []

    def submit(self, call: partial[Any], work: Work | None = None, number: int | None = None) -> int:
        """Begin a task; its number is of no use here."""
        with self._lock:
            self._tasks.append(self._threads.submit(work or partial(perform, call), self._run))
            return len(self._tasks) - 1

    def results(self) -> list[Any]:
        """Wait for all; tasks that others submit meanwhile are at the end of the list."""
        try:
            return [task.exception() or task.result() for task in self._tasks]
        except BaseException:
            self._stopped.set()
            pool.stop()
            raise
        finally:
            self._threads.shutdown(cancel_futures=True)


@contextmanager
def local_runner(execution: Execution) -> Iterator[LocalRunner]:
    """A runner whose progress is displayed; no child process outlives the block."""
    execution.apply()
    pool.start()
    try:
        with Board() as display:
            yield LocalRunner(execution, display)
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.close()
