"""One bench for the short form of every fault."""

from collections.abc import Iterator

import pytest
from object_store import Bucket, Server, reached
from soak.bench import Bench
from soak.job import Job
from soak.places import Disk, Store


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(tmp_path_factory.mktemp("job"), shards=3, documents=15)


@pytest.fixture(scope="session")
def bench(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(job, Disk(tmp_path_factory.mktemp("serial"))) as found:
        yield found


@pytest.fixture(scope="session")
def store(job: Job, weed: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The same in SeaweedFS; to be used while its server is ``reached``."""
    with reached(weed.endpoint, lease_seconds=1):
        site = Store(tmp_path_factory.mktemp("store"), Bucket(weed))
        bench = Bench(job, site)
    with bench:
        yield bench
