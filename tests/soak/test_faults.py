"""A little of every fault that ``make soak`` tries in full."""

from collections.abc import Callable
from pathlib import Path

import pytest
from object_store import Server, reached
from soak import damage, disk, kills, nights, races, surroundings, unsteady
from soak.bench import Bench
from soak.job import Job, texts_in
from soak.places import Disk
from soak.rows import Row

from gristmill.errors import NoSpaceError
from gristmill.manifest import read_manifest
from gristmill.stages.dedup import decide


def test_an_undisturbed_run_is_what_the_job_asks_for(bench: Bench) -> None:
    """Guards the rest: every kind of loss occurs in the job, and its documents are known beforehand."""
    manifest = read_manifest(Path(bench.calm.output))
    assert set(manifest.dropped) == {"blank", "duplicate_exact", "duplicate_minhash"}
    assert manifest.quarantined.keys() == {"json_syntax", "null_text", "invalid_utf8"}
    assert bench.finished(bench.calm) == []
    texts = texts_in(bench.site, bench.calm.output)
    assert bench.job.lost_or_doubled(texts[1:] + texts[-1:]) == ["1 documents lost, 1 too many"]


@pytest.mark.parametrize(
    ("fault", "count"),
    [
        (kills.at_random_moments, 4),
        (kills.at_storage_calls, 6),
        (nights.killed, 2),
        (disk.no_room_for_a_file, 5),
        (disk.small_disk, 256 << 10),
        (damage.in_published_files, 30),
        (damage.in_work_files, 3),
        (races.two_at_once, 2),
        (races.rivals_at_once, 3),
        (races.rivals_at_every_step, 3),
        (surroundings.variations, 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_promise_holds(bench: Bench, fault: Callable[[Bench, int], Row], count: int) -> None:
    """A crash, a full disk or a flipped bit that leaves wrong data behind is seen by nobody until training."""
    row = fault(bench, count)
    assert row.problems == ()
    assert row.held == row.tried
    assert row.tried or "may not mount" in row.notes


@pytest.mark.parametrize(
    ("fault", "count"),
    [
        (nights.killed, 1),
        (unsteady.faults, 1),
        (damage.in_published_files, 4),
        (damage.in_work_files, 1),
        (races.two_at_once, 1),
        (races.rivals_at_every_step, 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_promise_holds_on_a_store(
    store: Bench, weed: Server, fault: Callable[[Bench, int], Row], count: int
) -> None:
    """The same there, where nothing can be renamed and every answer may fail to arrive."""
    with reached(weed.endpoint):
        row = fault(store, count)
    assert row.problems == ()
    assert row.held == row.tried > 0


def test_the_same_kills_spoil_a_naive_job(job: Job, tmp_path: Path) -> None:
    """Guards the watcher and the comparison: where there is something to see, they see it."""
    with Bench(job, Disk(tmp_path), "naive") as naive:
        row = kills.at_random_moments(naive, 10)
    assert row.held < row.tried
    assert any("half-written" in problem for problem in row.problems)


def test_an_array_that_does_not_fit_on_the_disk_is_a_named_error(
    tmp_path: Path,
) -> None:
    """A mapped file with holes would end the process with SIGBUS at the first page that has no room."""
    with disk.mounted(tmp_path / "small") as folder:
        if folder is None:
            pytest.skip("this user may not mount")
        disk.resize(folder, 64 << 10)
        with pytest.raises(NoSpaceError, match="no space left"):
            decide._array(folder, 1 << 20, decide.np.dtype("<u4"), 0, resident=0)
        array = decide._array(folder, 1 << 10, decide.np.dtype("<u4"), 0, resident=0)
        array[:] = 7
        assert array.sum() == 7 << 10
        del array
