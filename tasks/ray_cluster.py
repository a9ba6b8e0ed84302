"""ray_cluster: a run's connection to Ray."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gristmill.config.execution import Execution
from gristmill.errors import ConfigError


@contextmanager
def connected(execution: Execution) -> Iterator[None]:
    """Around the body of a flow: with ``runner: ray``, its stages find one Ray, that of ``address`` or a new one.

    Prefect's task runner would start and end one for every stage, which takes half a minute each time: every worker
    imports Prefect anew. Raises ``ConfigError`` when Ray is not installed or not reached.
    """
    if execution.runner != "ray":
        yield
        return
    ray = _installed()
    if ray.is_initialized():
        yield
        return
    with _held(ray, _wanted(execution)):
        yield


@contextmanager
def _held(ray: Any, wanted: dict[str, Any]) -> Iterator[None]:
    """Ray, by a thread of its own. In the main thread it would take SIGTERM, by which Prefect learns that the run is to
    stop, and what it starts is ended by the system when the thread that started it ends."""
    begun, ended = threading.Event(), threading.Event()
    failed: list[Exception] = []

    def hold() -> None:
        try:
            ray.init(**wanted, namespace="prefect", log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray raises this very class when a machine is too busy to start it
            failed.append(error)
            return
        finally:
            begun.set()
        ended.wait()
        ray.shutdown()

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    begun.wait()
    if failed:
        raise ConfigError(f"execution.address: Ray at {wanted['address']}: {failed[0]}")
    try:
        yield
    finally:
        ended.set()
        holder.join()


def _installed() -> Any:
    try:
        import prefect_ray  # noqa: F401  which needs it
        import ray
    except ImportError as error:
        raise ConfigError(f"execution.runner: ray: {error}; pip install 'gristmill[ray]'") from None
    return ray


def _wanted(execution: Execution) -> dict[str, Any]:
    if execution.address:
        return {"address": execution.address}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing about the runs leaves the machine
    return {"address": "local", "num_cpus": execution.worker_count(), "include_dashboard": False}
