"""batches: several calls of a stage or job as one task run, here or in a process on another machine."""

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.errors import ConfigError, InputError, StorageError
from gristmill.runners.base import perform
from gristmill.storage import stores
from gristmill.types import Value
from tasks.run import OPTIONS, in_worker, tag
from tasks.stages import row_of


class Failure(Value, frozen=True, kw_only=True):
    """Bad data in one call of a batch, as a value: the others count all the same."""

    message: str
    reason: str


class Batch(Value, frozen=True, kw_only=True):
    """Calls of one stage, as one parameter: Prefect walks through lists, and a long one would cost seconds."""

    name: str
    calls: list[partial[Any]]
    folder: str
    """What relative paths start from, where it exists."""
    mark: str
    """URI of a file in the run's work area; empty on the run's own machine."""


def batches(calls: Sequence[partial[Any]], size: int, mark: str) -> list[Batch]:
    """The calls in order, ``size`` in each batch."""
    task, folder = row_of(calls[0]).task, str(Path.cwd())
    return [
        Batch(name=f"{task}-{first:05d}", calls=list(calls[first : first + size]), folder=folder, mark=mark)
        for first in range(0, len(calls), size)
    ]


@task(name="batch", task_run_name="{batch.name}", **OPTIONS)
def work_off(batch: Batch) -> list[Any]:
    """Results of all calls, in order, or a ``Failure`` where the data is bad.

    Raises ``StorageError`` after all have been tried: another try finds those that succeeded done.
    """
    tag("batch")
    if batch.mark:
        settle(batch)
    results: list[Any] = []
    lost: list[StorageError] = []
    for call in batch.calls:
        try:
            results.append(perform(call, in_worker))
        except InputError as error:
            results.append(Failure(message=str(error), reason=error.reason))
        except StorageError as error:
            lost.append(error)
    if lost:
        raise lost[0]
    return results


def settle(batch: Batch) -> None:
    """Make a process on another machine ready for a batch. Raises ``ConfigError`` where it sees another work area."""
    config: PrepareConfig = batch.calls[0].keywords["config"]
    config.execution.apply()
    if Path(batch.folder).is_dir():
        os.chdir(batch.folder)
    check_mark(batch.mark)


def check_mark(mark: str) -> None:
    """Raises ``ConfigError`` unless this process sees the file that the run left in its work area."""
    folder, _, name = mark.rpartition("/")
    if not stores.at(folder).has(name):
        raise ConfigError(
            f"worker on {os.uname().nodename}: {folder} is not the run's work area; every worker must see the same: "
            "set execution.work to an s3:// prefix, or to a folder that all machines share"
        )


@contextmanager
def marked(execution: Execution) -> Iterator[str]:
    """URI of a file in the work area, for other machines to show that theirs is the same."""
    work = stores.at(stores.absolute(execution.work))
    name = f"marks/{uuid.uuid4().hex}"
    work.swap(name, b"the run that looks for this file works here\n", None)
    try:
        yield work.where(name)
    finally:
        work.remove(name)
