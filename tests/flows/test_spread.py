"""Work that is spread in batches, here and over a Dask cluster of real processes: the same bytes, whoever dies."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import psutil
import pytest
from busy import busy_worker
from corpora import cut_short, request, small_corpus, tree, write_documents
from flow_runs import Run

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from tasks import spread

SHARDS = 6


def asked(folder: Path, name: str, **execution: Any) -> PrepareConfig:
    return request(
        folder,
        dedup=[{"kind": "exact"}, {"kind": "paragraph"}],
        output=str(folder / name / "out"),
        execution={"work": str(folder / name / "work"), "workers": 2, **execution},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the corpus, and what the library makes of it below ``serial/``."""
    found = tmp_path_factory.mktemp("spread")
    texts = small_corpus(40 * SHARDS)
    for number in range(SHARDS):
        write_documents(found / "in" / f"{number}.jsonl", [*texts[number * 40 : number * 40 + 40], "in every file"])
    pipeline.prepare(asked(found, "serial"))
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as found:
        yield found


def test_batches_give_the_same_bytes_in_fewer_task_runs(folder: Path) -> None:
    """A server that gets six task runs a shard does not survive 100,000 shards."""
    run = Run(asked(folder, "batched", shards_per_task=4))
    assert run.state.is_completed()
    assert run.bytes == tree(folder / "serial" / "out")
    names = run.tasks(["publish", "fetch-00000", "fetch-00004", "ingest-00000", "tokenize-00004"]).keys()
    assert [name for name in names if "shard" in name] == []
    assert len([name for name in names if name.startswith("fetch")]) == 2


def test_a_batch_is_as_large_as_it_must_be() -> None:
    """At most 1,000 task runs a stage: 100,000 shards are 100 in each."""
    execution = PrepareConfig().execution
    sizes = {calls: spread.batch_size(calls, execution) for calls in (1, 1000, 1001, 100_000)}
    assert sizes == {1: 1, 1000: 1, 1001: 2, 100_000: 100}


def test_a_damaged_file_in_a_batch_is_left_out_alone(tmp_path: Path) -> None:
    """The others of its batch would be lost with it, or the run would end at the first of two damaged files."""
    for number in range(3):
        write_documents(tmp_path / "in" / f"{number}.jsonl.gz", small_corpus(10 * number + 10)[10 * number :])
    cut_short(tmp_path / "in" / "1.jsonl.gz")
    run = Run(asked(tmp_path, "damaged", shards_per_task=3))
    with pytest.raises(InputError, match=r"1\.jsonl\.gz"):
        run.state.result()
    config = asked(tmp_path, "damaged", shards_per_task=3).model_copy(update={"on_bad_file": "quarantine"})
    assert Run(config).state.is_completed()


def test_a_dask_worker_that_is_killed_changes_no_byte(folder: Path, cluster: distributed.LocalCluster) -> None:
    """A cluster loses machines in the middle of a run; its work is done by the others."""
    config = asked(folder, "dask", runner="dask", address=cluster.scheduler_address)
    killed: list[int] = []

    def kill() -> None:
        worker = psutil.Process(busy_worker(Path(config.execution.work), "clean")).parent()
        assert worker is not None
        worker.kill()
        killed.append(worker.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    run = Run(config)
    killer.join()
    assert run.state.is_completed(), run.state
    assert len(killed) == 1
    assert run.bytes == tree(folder / "serial" / "out")


def test_workers_with_another_work_area_are_found_before_any_work(
    folder: Path, cluster: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would fetch for itself, and the run end hours later with files that are not there."""
    monkeypatch.setattr("tasks.spread.marked", lambda _: __import__("contextlib").nullcontext("/nowhere/marks/f00d"))
    run = Run(asked(folder, "elsewhere", runner="dask", address=cluster.scheduler_address))
    with pytest.raises(ConfigError, match="is not the run's work area"):
        run.state.result()
    assert not list((folder / "elsewhere" / "work").glob("fetch/*"))
