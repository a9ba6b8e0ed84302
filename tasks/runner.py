"""The Prefect runner: every call a task run, on threads here, or in batches on Dask, Ray and work pools."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import InputError
from gristmill.reporting.board import Board
from gristmill.runners.base import Chain, Link, R, raise_failed
from gristmill.runners.pooled import PooledRunner, TaskPool
from gristmill.stages.ingest import plan as listing
from gristmill.types import Plan
from tasks import run
from tasks.hand_over import file_results, read_order
from tasks.pool import PrefectPool
from tasks.spread import in_batches, is_batched
from tasks.stages import row_of


class PrefectRunner(PooledRunner):
    """Carries out calls as task runs, with the names, tags and retries of ``tasks.stages``."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    @property
    def display(self) -> Board:
        """The board of the flow that runs in this process."""
        return run.workers.display

    def task_pool(self) -> TaskPool:
        """Task runs on threads of this process."""
        return PrefectPool(self._execution)

    def stage_of(self, call: partial[Any]) -> str:
        """The tag of its task runs."""
        return row_of(call).stage()

    def warn(self, line: str) -> None:
        """In the run's log."""
        get_run_logger().warning(line)

    def name_run(self, planned: Plan, config: PrepareConfig) -> None:
        """The flow run gets a name that is known only once there is a plan, and the data set as a tag."""
        generation = planned.generation if planned.shards else planned.generation - 1
        with get_client(sync_client=True) as client:
            tags = sorted({*flow_run.tags, config.dataset})
            client.update_flow_run(UUID(flow_run.id), name=f"{config.dataset}-g{generation}", tags=tags)

    def plan(self, config: PrepareConfig) -> Plan:
        """In a task run."""
        call = partial(listing.plan, config=config)
        planned: Plan = run.task_of(row_of(call), self._execution.retries)(**_here(call, partial(super().plan, config)))
        return planned

    def outcomes(self, calls: Sequence[partial[Any]]) -> list[Any]:
        """Results or exceptions in the order of ``calls``, once all are done."""
        if not is_batched(len(calls), self._execution):
            return super().outcomes(calls)
        return in_batches(calls, self._execution)

    def chain(self, chain: Chain) -> list[Link]:
        """In batches, all calls end before those that follow begin; these may be on other machines."""
        if not is_batched(len(chain.calls), self._execution):
            return super().chain(chain)
        self.begin(chain)
        firsts = self.outcomes(chain.calls)
        following = [
            [] if isinstance(first, BaseException) else chain.ended(call, first)
            for call, first in zip(chain.calls, firsts, strict=True)
        ]
        jobs = [job for part in following for job in part]
        for stage in chain.stages[1:]:
            self.display.extend(stage, len(jobs) - chain.expected)
        results = iter(self.outcomes(jobs))
        return [
            Link(first=first, then=[next(results) for _ in part]) for first, part in zip(firsts, following, strict=True)
        ]

    @contextmanager
    def meanwhile(self, call: partial[R]) -> Iterator[Callable[[], R]]:
        """In a task run that works in this process, for all workers are busy."""
        task = run.task_of(row_of(call), self._execution.retries)
        with ThreadPoolTaskRunner(max_workers=1) as runner:
            yield runner.submit(task=task, parameters=_here(call, call)).result


def _here(call: partial[Any], perform: Callable[[], Any]) -> dict[str, Any]:
    row = row_of(call)
    return run.parameters(row, row.name(call, None), perform)


def carry_out(order: str, execution: Execution) -> int:
    """Work off an order that another machine's run gave; returns how many calls it had."""
    calls = read_order(order, execution)
    results = PrefectRunner(execution.model_copy(update={"runner": "local"})).outcomes(calls)
    raise_failed([result for result in results if not isinstance(result, InputError)])
    file_results(results, order, execution)
    return len(results)
