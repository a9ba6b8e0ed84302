"""hand_over: batches as runs of the deployment `batch`, for the workers of a work pool on any machine.

Orders and results travel through the work area: a server would keep every parameter of every run.
"""

import importlib
import typing
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any

import msgspec
from prefect import task
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.states import Cancelling
from prefect.task_runners import ThreadPoolTaskRunner

from gristmill.config.execution import Execution
from gristmill.errors import InputError, StorageError
from gristmill.ledger import fingerprint
from gristmill.processes import child
from gristmill.processes.pool import Stopped
from gristmill.storage import stores
from tasks.batches import Batch, Failure, check_mark
from tasks.run import OPTIONS, tag

DEPLOYMENT = "batch/batch"
ORDER, RESULTS = "order.json", "results.json"
AT_ONCE = 64
"""Child runs under way; each takes a thread here, and 5 s of the server and its worker to start."""

LOOK_SECONDS = 2.0
"""Between two looks at a child run."""


def in_pool(given: list[Batch], execution: Execution) -> list[Any]:
    """Results of the batches, in order; an exception for one whose run failed too often. Whatever interrupts the wait
    cancels the runs under way."""
    stop = Event()
    tried = hand_over.with_options(retries=execution.retries)
    with ThreadPoolTaskRunner(max_workers=min(AT_ONCE, len(given))) as runner:
        try:
            futures = [runner.submit(task=tried, parameters={"batch": batch, "stop": stop}) for batch in given]
            return [future.result(raise_on_failure=False) for future in futures]
        except BaseException:
            stop.set()  # before the runner is left, which waits for its threads
            raise


@task(name="hand-over", task_run_name="hand-over-{batch.name}", **OPTIONS)
def hand_over(batch: Batch, stop: Event) -> list[Any]:
    """Have a batch worked off by a run of its own, and read its results from the work area."""
    tag("batch")
    execution: Execution = batch.calls[0].keywords["config"].execution
    place, name = written(batch, execution)
    run = run_deployment(
        execution.address or DEPLOYMENT,
        parameters={"order": name, "execution": execution.model_dump(mode="json")},
        flow_run_name=batch.name,
        timeout=0,  # we look ourselves, and cancel it when we are stopped
    )
    ended = followed(typing.cast(FlowRun, run), stop)
    state = ended.state
    if state is None or not state.is_completed():
        raise StorageError(f"{batch.name}: its run {ended.name} did not complete: {state}")
    return results_in(place.read(f"{name}/{RESULTS}"), batch.calls[0].func)


def written(batch: Batch, execution: Execution) -> tuple[stores.Place, str]:
    """Put an order into the work area, unless it is there since an earlier try; returns the place and its name.

    What all calls have in common stands there once.
    """
    function, first = batch.calls[0].func, batch.calls[0].keywords
    given = [call.keywords for call in batch.calls]
    common = {key for key in first if all(call[key] is first[key] for call in given)}
    order = {
        "function": f"{function.__module__}:{function.__qualname__}",
        "mark": batch.mark,
        "common": {key: first[key] for key in common},
        "calls": [{key: value for key, value in call.items() if key not in common} for call in given],
    }
    data = msgspec.json.encode(order, enc_hook=child.plain)
    place = stores.at(execution.work)
    name = f"orders/{fingerprint('order', {'data': data.decode()})}"
    place.swap(f"{name}/{ORDER}", data, data if place.has(f"{name}/{ORDER}") else None)
    return place, name


def followed(run: FlowRun, stop: Event) -> FlowRun:
    """The run once it has ended; it is cancelled when ``stop`` is set."""
    with get_client(sync_client=True) as client:
        while not (found := client.read_flow_run(run.id)).state or not found.state.is_final():
            if stop.wait(LOOK_SECONDS):
                client.set_flow_run_state(run.id, Cancelling())
                raise Stopped(f"{run.name} was cancelled")  # not retried, unlike a run that was lost
        return found


def read_order(name: str, execution: Execution) -> list[partial[Any]]:
    """The calls of an order, typed as their function asks for them. Raises ``ConfigError`` where this machine has
    another work area than the run."""
    execution.apply()
    place = stores.at(execution.work)
    check_mark(place.where(f"{name}/{ORDER}"))
    order = msgspec.json.decode(place.read(f"{name}/{ORDER}"))
    module, _, function = order["function"].partition(":")
    called = getattr(importlib.import_module(module), function)
    hints = typing.get_type_hints(called)
    common = {key: child.typed(value, hints[key]) for key, value in order["common"].items()}
    own = [{key: child.typed(value, hints[key]) for key, value in call.items()} for call in order["calls"]]
    return [partial(called, **common, **call) for call in own]


def file_results(results: list[Any], name: str, execution: Execution) -> None:
    """Leave the results of an order, bad data among them, for the run that gave it."""
    lines = [
        {"bad": Failure(message=str(result), reason=result.reason)}
        if isinstance(result, InputError)
        else {"good": result}
        for result in results
    ]
    place = stores.at(execution.work)
    path = f"{name}/{RESULTS}"
    place.swap(path, msgspec.json.encode(lines), place.read(path) if place.has(path) else None)


def results_in(data: bytes, function: Callable[..., Any]) -> list[Any]:
    """What ``file_results`` left, typed as ``function`` returns it."""
    hint = typing.get_type_hints(function)["return"]
    typed = partial(child.typed, hint=hint)
    return [
        typed(line["good"]) if "good" in line else msgspec.convert(line["bad"], Failure)
        for line in msgspec.json.decode(data)
    ]
