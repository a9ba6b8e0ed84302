"""How work is carried out."""

import os

import pytest

from gristmill.config.execution import MEMORY, WORKERS, Execution
from gristmill.errors import ConfigError


def test_workers_default_to_the_cores_that_may_be_used() -> None:
    assert Execution().worker_count() == len(os.sched_getaffinity(0))
    assert Execution(workers=7).worker_count() == 7


def test_a_deployment_bounds_the_workers_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One configuration runs on machines of many sizes: eight workers on a small one are killed for their memory."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    for workers, memory, expected in (
        ("", "", 16),
        ("0", "0", 16),
        ("4", "", 4),
        ("", "8", 5),
        ("4", "3", 2),
        ("", "1", 1),
    ):
        monkeypatch.setenv(WORKERS, workers)
        monkeypatch.setenv(MEMORY, memory)
        assert Execution().worker_count() == expected
    assert Execution(workers=9).worker_count() == 9
    monkeypatch.setenv(MEMORY, "8G")
    with pytest.raises(ConfigError, match="GRISTMILL_MEMORY_GB: '8G' is not a number"):
        Execution().worker_count()


def test_dask_without_an_address_is_refused_at_the_door() -> None:
    """Prefect would start a cluster of its own, whose workers share this machine's cores."""
    with pytest.raises(ConfigError, match="needs the scheduler's address"):
        Execution(runner="dask")


def test_text_is_plain_on_disk_and_small_where_it_travels() -> None:
    """Compressing takes a tenth of a job of tokens alone; in an object store every byte is sent and fetched again."""
    assert Execution(work="work").kept() == "plain"
    assert Execution(work="s3://bucket/work").kept() == "lz4"
    assert Execution(work="work", work_files="lz4").kept() == "lz4"
    assert Execution(work="s3://bucket/work", work_files="plain").kept() == "plain"
