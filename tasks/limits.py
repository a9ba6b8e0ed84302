"""Limits that all runs of a server share, under fixed names; each counts only where somebody has created it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency

from gristmill.config import PrepareConfig
from gristmill.storage import stores
from gristmill.types import PlannedFile, ShardRef

DOWNLOADS = "gristmill-downloads"
UPLOADS = "gristmill-uploads"


def moving(shard: ShardRef | None, file: PlannedFile | None, config: PrepareConfig) -> AbstractContextManager[None]:
    """The limit to be held while ``shard`` is fetched or ``file`` is published; none where there is neither."""
    if file is not None:
        return limited(UPLOADS, config.destination)
    return nullcontext() if shard is None else limited(DOWNLOADS, shard.uri)


@contextmanager
def limited(name: str, uri: str) -> Iterator[None]:
    """Hold one of the slots of a limit while something is moved to or from ``uri``, unless that is on this machine.

    A slot held by a process that was killed is free after five minutes.
    """
    if not stores.is_elsewhere(uri) or name not in existing():
        yield
        return
    with concurrency(name):
        yield


@cache
def existing() -> frozenset[str]:
    """Names of the server's limits: asked for once a run, since most have none and a question takes 10 ms."""
    with get_client(sync_client=True) as client:
        return frozenset(limit.name for limit in client.read_global_concurrency_limits(limit=200, offset=0))
