"""One bench for the short form of every fault."""

from collections.abc import Iterator

import pytest
from soak.bench import Bench
from soak.job import Job
from soak.places import Disk


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(tmp_path_factory.mktemp("job"), shards=3, documents=15)


@pytest.fixture(scope="session")
def bench(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(job, Disk(tmp_path_factory.mktemp("serial"))) as found:
        yield found
