"""Limits that all runs of a server share, under fixed names; each counts only where somebody has created it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any

from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency

from gristmill.stages.ingest.fetch import fetch
from gristmill.stages.output.upload import upload
from gristmill.storage import stores

DOWNLOADS = "gristmill-downloads"
UPLOADS = "gristmill-uploads"


def moving(call: partial[Any]) -> AbstractContextManager[None]:
    """The limit to be held during a call that fetches or publishes; none for other calls."""
    if call.func is upload:
        return limited(UPLOADS, call.keywords["config"].destination)
    return limited(DOWNLOADS, call.keywords["shard"].uri) if call.func is fetch else nullcontext()


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
