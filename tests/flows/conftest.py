"""One Prefect server for all flow tests: it takes 15 s to start."""

from collections.abc import Iterator

import pytest
from prefect.testing.utilities import prefect_test_harness


@pytest.fixture(scope="session", autouse=True)
def prefect_server() -> Iterator[None]:
    """Every flow in this folder runs against it; nothing reaches the user's own server."""
    with prefect_test_harness(server_startup_timeout=180):
        yield
