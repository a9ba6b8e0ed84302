"""What runners share whose calls are on the threads of a task pool: the local one and that of Prefect."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from gristmill.config import PrepareConfig
from gristmill.processes import pool
from gristmill.reporting.board import Board
from gristmill.runners.base import Chain, Link, R, Run, perform, raise_failed
from gristmill.stages.ingest import plan as listing
from gristmill.stages.publish.budget import budget, check_space
from gristmill.stages.tokens.ready import ready
from gristmill.stages.tokens.tokenizer import check_tokenizer
from gristmill.types import Plan, StageReport

Work = Callable[[Run], Any]


class TaskPool(Protocol):
    """Tasks on threads. A task may submit others, but must not wait for them."""

    def submit(self, call: partial[Any], work: Work | None = None, number: int | None = None) -> int:
        """Begin a task as soon as a thread is free: it makes the call, or does the ``work`` that needs several calls.

        ``number`` is its place among others of its kind. Returns its place in ``results``.
        """

    def results(self) -> list[Any]:
        """Wait until all are done: results or exceptions. An interrupt of the wait ends all child processes."""


class PooledRunner(ABC):
    """Carries out calls on the threads of task pools, and begins their stages on the progress display."""

    @property
    @abstractmethod
    def display(self) -> Board:
        """The progress display of the run."""

    @abstractmethod
    def task_pool(self) -> TaskPool:
        """An empty pool."""

    @abstractmethod
    def stage_of(self, call: partial[Any]) -> str:
        """The name of the call's stage on the display."""

    @abstractmethod
    def warn(self, line: str) -> None:
        """Show the user a warning."""

    @abstractmethod
    def name_run(self, planned: Plan, config: PrepareConfig) -> None:
        """Name the run, now that its generation is known."""

    def plan(self, config: PrepareConfig) -> Plan:
        """Every new input shard in global order; refuses a run that cannot fit on the disk or would mix data sets.

        The tokenizer is checked by every worker at once: it stays loaded there, and so do the stages.
        """
        config.check_rules()
        planned = pool.call(listing.plan, config=config)
        needed = pool.call(budget, shards=planned.shards, config=config)  # reads a sample, and counts its ids
        self.name_run(planned, config)
        for line in check_space(needed, config):
            self.warn(line)
        if not planned.shards:
            pool.call(check_tokenizer, config=config)
            return planned
        children = min(config.execution.worker_count(), len(planned.shards))
        pool.everywhere(ready, children=children, config=config)
        return planned

    def each(self, calls: Sequence[partial[R]], units: int | None = None) -> list[R]:
        """Results in order; the first failure is raised after all have been tried."""
        if not calls:
            return []
        self.display.begin(self.stage_of(calls[0]), len(calls) if units is None else units)
        results = self.outcomes(calls)
        raise_failed(results)
        return results

    def outcomes(self, calls: Sequence[partial[Any]]) -> list[Any]:
        """Results or exceptions of calls or jobs, in order."""
        tasks = self.task_pool()
        for number, call in enumerate(calls):
            tasks.submit(call, number=number)
        return tasks.results()

    def at_once(self, *calls: partial[R]) -> list[R]:
        """Results in order."""
        tasks = self.task_pool()
        for call in calls:
            self.display.begin(self.stage_of(call), 1)
            tasks.submit(call)
        results = tasks.results()
        raise_failed(results)
        return results

    def chain(self, chain: Chain) -> list[Link]:
        """A call that follows the end of another is made by the same task, one that follows a part by a further."""
        self.begin(chain)
        tasks = self.task_pool()
        links = [_Link(call, chain, tasks, self.display) for call in chain.calls]
        places = [tasks.submit(link.call, link.work, number) for number, link in enumerate(links)]
        results = tasks.results()
        return [link.linked(results[place], results) for place, link in zip(places, links, strict=True)]

    def begin(self, chain: Chain) -> None:
        """Show the stages of a chain."""
        self.display.begin(chain.stages[0], len(chain.calls))
        for stage in chain.stages[1:]:
            self.display.begin(stage, chain.expected)

    @contextmanager
    def meanwhile(self, call: partial[R]) -> Iterator[Callable[[], R]]:
        """On one further thread."""
        with ThreadPoolExecutor(1) as thread:
            yield thread.submit(call).result


class _Link:
    """One call of a chain on its way."""

    def __init__(self, call: partial[StageReport], chain: Chain, tasks: TaskPool, display: Board) -> None:
        self.call = call
        self._chain, self._tasks, self._display = chain, tasks, display
        self._further: list[int] = []

    def work(self, run: Run) -> list[Any]:
        """Make the call, then those that follow its end; returns all results."""
        first = run(self.call, announced=self._begin)
        return [first, *(perform(job, run) for job in self._chain.ended(self.call, first))]

    def _begin(self, part: StageReport) -> None:
        for job in self._chain.announced(self.call, part):
            for stage in self._chain.stages[1:]:
                self._display.extend(stage, 1)
            self._further.append(self._tasks.submit(job, partial(perform, job)))

    def linked(self, own: Any, results: list[Any]) -> Link:
        """The outcome, once all is done."""
        further = [results[place] for place in self._further]
        if isinstance(own, BaseException):
            return Link(first=own, then=further)
        return Link(first=own[0], then=[*further, *own[1:]])
