"""Settings of every test."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from gristmill import places, workers

# Tables and tokenizers that a process builds once take longer than Hypothesis allows a single example.
settings.register_profile("gristmill", deadline=None)
settings.load_profile("gristmill")

pytest_plugins = ["object_store"]  # its fixtures start servers for the tests that ask for them


@pytest.fixture(scope="session", autouse=True)
def _spool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is kept in the home of whoever runs the tests; processes that tests start use the same place."""
    os.environ[places.SPOOL] = str(tmp_path_factory.mktemp("spool"))
    yield
    del os.environ[places.SPOOL]


@pytest.fixture(autouse=True)
def _workers_work() -> None:
    """A run that a test stopped must not stop the next test's work in the same process."""
    workers.start()
