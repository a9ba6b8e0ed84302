"""Calls of stages in child processes: how many at once, and what the progress display hears of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import BoundedSemaphore
from typing import Any

from gristmill.config.execution import Execution
from gristmill.errors import ConfigError, InputError, StorageError, WorkerLost
from gristmill.processes import pool
from gristmill.reporting.board import Board
from gristmill.runners.base import Announced, R
from gristmill.stages.ingest.fetch import fetch
from gristmill.stages.output.upload import upload

BEGUN = 3
"""Calls that are begun for each worker: some wait for one to be free. Some shards more than one a worker are read ahead
of the work on them, so that the last ones to be read do not come when nothing else is left; more would gain nothing.
From the end of a call to the next one of the same thread Prefect takes 15 to 35 ms, in which the worker does the call
of another thread."""


def threads(execution: Execution) -> int:
    """How many threads begin calls, all kinds together."""
    return BEGUN * execution.worker_count() + execution.downloads + execution.uploads


class Slots:
    """How many calls may be under way: CPU work, and downloads and uploads where they are limited on their own."""

    def __init__(self, execution: Execution) -> None:
        self._work = BoundedSemaphore(execution.worker_count())
        self._downloads = BoundedSemaphore(execution.downloads) if execution.downloads else self._work
        self._uploads = BoundedSemaphore(execution.uploads) if execution.uploads else self._work

    def of(self, call: partial[Any]) -> BoundedSemaphore:
        """The slots of fetching, publishing, or other work."""
        if call.func is upload:
            return self._uploads
        return self._downloads if call.func is fetch and call.keywords["shard"].remote else self._work


def no_limit(_call: partial[Any]) -> AbstractContextManager[None]:
    """Nothing else limits a call."""
    return nullcontext()


def no_log(_line: str) -> None:
    """Nobody keeps the lines."""


class Workers:
    """The child processes of a run. A call waits for a slot, then for ``limit``; ``log`` gets a line of each report."""

    def __init__(
        self,
        execution: Execution,
        display: Board,
        limit: Callable[[partial[Any]], AbstractContextManager[None]] = no_limit,
        log: Callable[[str], None] = no_log,
    ) -> None:
        self.display = display
        self._slots = Slots(execution)
        self._limit = limit
        self._log = log

    def run(self, stage: str, name: str, call: partial[R], announced: Announced | None = None) -> R:
        """The result of a call for the ``stage`` of the display; ``name`` is that of the call in errors."""
        try:
            # The limit inside the slot: a call that waits for a slot must not hold up other runs under the same limit.
            with self._slots.of(call), self._limit(call):
                made = self._made(stage, call, announced)
        except (ConfigError, InputError):  # for good: these are not retried
            self.display.finish(stage, failed=1)
            raise
        except WorkerLost as error:
            self.display.retry(stage)
            place = f"{call.keywords['shard'].uri}: " if "shard" in call.keywords else ""
            raise WorkerLost(f"{place}{name}: {error}") from None
        except StorageError:
            self.display.retry(stage)
            raise
        for report in made if isinstance(made, list) else [made]:
            self._count(stage, report)
        return made

    def _made(self, stage: str, call: partial[R], announced: Announced | None) -> R:
        return pool.call(
            call.func,
            listener=lambda documents, nbytes: self.display.advance(stage, documents, nbytes),
            announced=announced,
            stepped=lambda name, done, total: self._stepped(self.display.step(stage, name, done, total)),
            seconds=call.keywords["config"].execution.shard_seconds,
            **call.keywords,
        )

    def _stepped(self, line: str) -> None:
        if line:
            self._log(line)

    def _count(self, stage: str, report: Any) -> None:
        self.display.finish(stage, reused=report.reused, tokens=report.tokens, quarantined=report.quarantined)
        done = "reused" if report.reused else f"{report.seconds:.2f} s"
        counts = f"{report.docs_in} documents in, {report.docs_out} out, {report.tokens} tokens"
        self._log(f"{stage} {report.name}: {done}, {counts}")
