"""Limits that runs share through the server."""

import threading
import time
from collections.abc import Iterator

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate

from tasks.limits import DOWNLOADS, UPLOADS, existing, limited


@pytest.fixture
def one_download() -> Iterator[None]:
    with get_client(sync_client=True) as client:
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=DOWNLOADS, limit=1))
        existing.cache_clear()
        yield
        client.delete_global_concurrency_limit_by_name(DOWNLOADS)
    existing.cache_clear()


def at_once(name: str, uri: str) -> int:
    """How many of three threads were in at the same time."""
    inside, most, lock = 0, 0, threading.Lock()

    def hold() -> None:
        nonlocal inside, most
        with limited(name, uri):
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.5)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


@pytest.mark.usefixtures("one_download")
def test_a_limit_holds_where_somebody_made_it() -> None:
    """Ten runs at once would be blocked by the store that they all download from."""
    assert at_once(DOWNLOADS, "s3://bucket/part-0.parquet") == 1
    assert at_once(DOWNLOADS, "/data/part-0.parquet") == 3, "nothing is downloaded"
    assert at_once(UPLOADS, "s3://bucket/out") == 3, "nobody limited uploads"
