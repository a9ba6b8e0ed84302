"""spread: the calls of one stage in batches, over threads here, Dask, Ray, or runs of a work pool.

The bytes are the same. A task run each is the rule; above 1,000 calls, and on other machines, a task run works off a
batch of calls, so that no stage has more than 1,000 task runs.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from prefect.utilities.annotations import opaque

from gristmill.config.execution import Execution
from gristmill.errors import InputError
from gristmill.phases.ingest import CleanedPiece
from gristmill.types import StageReport
from tasks import run
from tasks.batches import Batch, Failure, batches, marked, work_off
from tasks.cluster import on_cluster
from tasks.hand_over import in_pool
from tasks.pool import PrefectPool

MOST_TASKS = 1000
"""Task runs of one stage: a run's page does not open above 5,000, and each takes 19 kB of the server's database."""


def in_batches(calls: Sequence[partial[Any]], execution: Execution) -> list[Any]:
    """Results or exceptions in the order of ``calls``, once all are done."""
    if not calls:
        return []
    size = batch_size(len(calls), execution)
    if execution.runner == "local":
        given = batches(calls, size, mark="")
        return opened(given, on_threads(given, execution))
    with marked(execution) as mark:
        given = batches(calls, size, mark)
        spread = in_pool if execution.runner == "work_pool" else on_cluster
        results = opened(given, spread(given, execution))
    count_reports(results)
    return results


def is_batched(calls: int, execution: Execution) -> bool:
    """Whether a task run works off several calls, or one on another machine."""
    return execution.runner != "local" or batch_size(calls, execution) > 1


def batch_size(calls: int, execution: Execution) -> int:
    """Calls that one task run, or one run of a work pool, works off."""
    if execution.runner == "work_pool":
        return execution.shards_per_run
    return execution.shards_per_task or -(-calls // MOST_TASKS)


def on_threads(given: list[Batch], execution: Execution) -> list[Any]:
    """Results or exceptions of batches that are worked off here."""
    tasks, tried = PrefectPool(execution), work_off.with_options(retries=execution.retries)
    for batch in given:
        tasks.submit_task(tried, {"batch": opaque(batch)}, batch.name)
    return tasks.results()


def opened(given: list[Batch], results: list[Any]) -> list[Any]:
    """One result or exception for each call; where a batch was lost, its exception for each."""
    found: list[Any] = []
    for batch, result in zip(given, results, strict=True):
        lost = isinstance(result, BaseException)
        found += [result] * len(batch.calls) if lost else [_raised(entry) for entry in result]
    return found


def _raised(result: Any) -> Any:
    return InputError(result.message, result.reason) if isinstance(result, Failure) else result


def count_reports(results: list[Any]) -> None:
    """On the board, what other machines did."""
    for result in results:
        for report in reports_in(result):
            run.workers.display.finish(
                report.stage, reused=report.reused, tokens=report.tokens, quarantined=report.quarantined
            )


def reports_in(result: Any) -> list[StageReport]:
    """The reports that a call or job gave; none of one that failed."""
    if isinstance(result, CleanedPiece):
        return [result.cleaned, result.signed]
    found = result if isinstance(result, list) else [result]
    return [report for report in found if isinstance(report, StageReport)]
