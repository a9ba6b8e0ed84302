"""cluster: batches on the workers of a Dask or Ray cluster."""

from typing import Any

from prefect.task_runners import TaskRunner

from gristmill.config.execution import Execution
from gristmill.errors import ConfigError, StorageError
from gristmill.storage.s3_client import use
from tasks.batches import Batch, check_mark, work_off


def on_cluster(given: list[Batch], execution: Execution) -> list[Any]:
    """Results of the batches, in order; an exception for one that failed for good.

    ``.wait()`` and ``.state`` of a Dask future say Running for one whose workers were killed too often; only its
    result tells.
    """
    with runner(execution) as started:
        if execution.runner == "dask":
            check_workers(started, given[0].mark, execution)
        tried = work_off.with_options(retries=execution.retries)
        futures = [started.submit(task=tried, parameters={"batch": batch}) for batch in given]
        results = []
        for batch, future in zip(given, futures, strict=True):
            try:
                results.append(future.result(raise_on_failure=False))
            except Exception as error:
                results.append(StorageError(f"{batch.name}: {type(error).__name__}: {error}"))
        return results


def runner(execution: Execution) -> TaskRunner[Any]:
    """Prefect's task runner for the cluster. Raises ``ConfigError`` when it is not installed."""
    if execution.runner == "ray":
        from prefect_ray import RayTaskRunner

        return RayTaskRunner()  # finds Ray ``connected``
    try:
        from prefect_dask import DaskTaskRunner
    except ImportError as error:
        raise ConfigError(f"execution.runner: dask: {error}; pip install 'gristmill[dask]'") from None
    return DaskTaskRunner(address=execution.address)


def check_workers(started: Any, mark: str, execution: Execution) -> None:
    """Every Dask worker looks for the mark before any work is given out. Raises ``ConfigError``."""
    found = started.client.run(probe, mark, execution.model_dump(mode="json"), on_error="return")
    if not found:
        raise ConfigError(f"execution.address: {execution.address}: the scheduler has no workers")
    for worker, problem in found.items():
        if problem is not None:
            raise ConfigError(f"Dask worker {worker}: {problem}")


def probe(mark: str, execution: dict[str, Any]) -> str | None:
    """What keeps this process from working for the run, if anything does."""
    settings = Execution.model_validate(execution)
    if settings.s3 is not None:
        use(settings.s3)
    try:
        check_mark(mark)
    except (ConfigError, StorageError) as error:
        return str(error)
    return None
