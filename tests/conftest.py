"""Settings of every test."""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from data import SHARED
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from gristmill.processes import pool
from gristmill.storage import stores

# Tables and tokenizers that a process builds once take longer than Hypothesis allows a single example.
settings.register_profile("gristmill", deadline=None)
settings.load_profile("gristmill")

pytest_plugins = ["object_store"]  # its fixtures start servers for the tests that ask for them


SLOW = ("tests/deployments", "tests/flows", "tests/soak")
"""Folders that go first: whoever runs their tests at the end leaves the other processors idle."""


class ServersApart(LoadScopeScheduling):
    """The tests of a file stay together, and those of a folder whose Prefect server takes 20 s to start."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        folder = file.rpartition("/")[0]
        return folder if folder in ("tests/flows", "tests/deployments") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Of several processes that run the tests (``-n``)."""
    config.option.loadscopereorder = False
    return ServersApart(config, log)


LEFT_OUT = f"needs the corpus in {SHARED}, which a clone does not have"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow folders first; leave out what needs the folder beside the project where it is not there."""
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))
    if not SHARED.is_dir():
        for item in items:
            if item.get_closest_marker("shared"):
                item.add_marker(pytest.mark.skip(reason=LEFT_OUT))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A test that was left out must not read as one that passed: say how many, and why, a line a reason."""
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"left out {count}: {reason.removeprefix('Skipped: ')}")


@pytest.fixture(scope="session", autouse=True)
def _spool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is kept in the home of whoever runs the tests; processes that tests start use the same place."""
    os.environ[stores.SPOOL] = str(tmp_path_factory.mktemp("spool"))
    yield
    del os.environ[stores.SPOOL]


@pytest.fixture(autouse=True)
def _workers_work() -> None:
    """A run that a test stopped must not stop the next test's work in the same process."""
    pool.start()
