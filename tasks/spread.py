"""spread: the calls of one stage over whatever works on them: threads here, Dask, Ray, or runs of a work pool.

The bytes are the same. A task run each is the rule; above 1,000 calls, and on other machines, a task run works off a
batch of calls, so that no stage has more than 1,000 task runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prefect import Task
from prefect.futures import PrefectFuture
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import InputError
from gristmill.types import StageReport
from tasks.batches import Batch, Failure, batches, marked, task_at, work_off
from tasks.cluster import on_cluster
from tasks.hand_over import file_results, in_pool, read_order
from tasks.run import Call, Crew, watch

MOST_TASKS = 1000
"""Task runs of one stage: a run's page does not open above 5,000, and each takes 19 kB of the server's database."""


def each(task: Task[..., Any], calls: list[Call], config: PrepareConfig) -> list[Any]:
    """Results or exceptions in the order of ``calls``, once all are done."""
    if not calls:
        return []
    if not is_batched(len(calls), config):
        crew = Crew(config)
        for number, call in enumerate(calls):
            crew.ask(f"{task.name}-{number:05d}", task, call)
        return list(crew.outcomes().values())
    size = batch_size(len(calls), config.execution)
    if config.execution.runner == "local":
        given = batches(task, calls, size, mark="")
        return opened(given, on_threads(given, config))
    with marked(config.execution) as mark:
        given = batches(task, calls, size, mark)
        spread = in_pool if config.execution.runner == "work_pool" else on_cluster
        results = opened(given, spread(given, config.execution))
    count_reports(results)
    return results


def carry_out(order: str, execution: Execution) -> int:
    """Work off an order that another machine's run gave; returns how many calls it had."""
    called, calls = read_order(order, execution)
    config: PrepareConfig = calls[0]["config"]
    here = execution.model_copy(update={"runner": "local"})
    results = each(task_at(called), calls, config.model_copy(update={"execution": here}))
    raise_failed([result for result in results if not isinstance(result, InputError)])
    file_results([_as_value(result) for result in results], order, execution)
    return len(results)


def is_batched(calls: int, config: PrepareConfig) -> bool:
    """Whether a task run works off several calls, or one on another machine."""
    return config.execution.runner != "local" or batch_size(calls, config.execution) > 1


def batch_size(calls: int, execution: Execution) -> int:
    """Calls that one task run, or one run of a work pool, works off."""
    if execution.runner == "work_pool":
        return execution.shards_per_run
    return execution.shards_per_task or -(-calls // MOST_TASKS)


def on_threads(given: list[Batch], config: PrepareConfig) -> list[Any]:
    """Results or exceptions of batches that are worked off here."""
    crew = Crew(config)
    for batch in given:
        crew.ask(batch.name, work_off, {"batch": batch})
    return list(crew.outcomes().values())


def opened(given: list[Batch], results: list[Any]) -> list[Any]:
    """One result or exception for each call; where a batch was lost, its exception for each."""
    found: list[Any] = []
    for batch, result in zip(given, results, strict=True):
        lost = isinstance(result, BaseException)
        found += [result] * len(batch.calls) if lost else [_raised(entry) for entry in result]
    return found


def _as_value(result: Any) -> Any:
    return Failure(message=str(result), reason=result.reason) if isinstance(result, InputError) else result


def _raised(result: Any) -> Any:
    return InputError(result.message, result.reason) if isinstance(result, Failure) else result


def count_reports(results: list[Any]) -> None:
    """On the board, what other machines did."""
    for result in results:
        reports = result.values() if isinstance(result, dict) else result if isinstance(result, list) else [result]
        for report in reports:
            if isinstance(report, StageReport):
                watch.board.finish(
                    report.stage, reused=report.reused, tokens=report.tokens, quarantined=report.quarantined
                )


def at_once(calls: dict[Task[..., Any], Call], config: PrepareConfig) -> list[Any]:
    """The results of different tasks that need not wait for each other, as ``all_done``; they run here."""
    crew = Crew(config)
    for task, call in calls.items():
        crew.ask(task.name, task, call)
    results = list(crew.outcomes().values())
    raise_failed(results)
    return results


@contextmanager
def meanwhile(task: Task[..., Any], call: Call) -> Iterator[PrefectFuture[Any]]:
    """A task that runs in this process, on a thread of its own, while the block goes on."""
    with ThreadPoolTaskRunner(max_workers=1) as runner:
        yield runner.submit(task=task, parameters=call)


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
            if other is not failures[0]:
                failures[0].add_note(f"also failed: {other}")
        raise failures[0]
