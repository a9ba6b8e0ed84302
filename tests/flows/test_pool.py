"""Task runs on threads: more of them than workers, and what must hold all the same."""

import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import chores
import pytest
from corpora import request
from prefect import task

from gristmill.config import PrepareConfig
from gristmill.errors import StorageError
from gristmill.runners.base import Run
from tasks.pool import PrefectPool
from tasks.run import in_worker, running
from tasks.stages import STAGES, Row


@pytest.fixture(autouse=True)
def _chores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children can import them, and they have task runs as stages have."""
    monkeypatch.setenv("PYTHONPATH", str(Path(chores.__file__).parent))
    for chore in (chores.await_others, chores.lose_the_disk, chores.length):
        monkeypatch.setitem(STAGES, chore, Row(task=chore.__name__, run=chore.__name__))


def one_worker(folder: Path) -> tuple[PrepareConfig, Path]:
    """Settings, and an empty folder to meet in."""
    (folder / "met").mkdir()
    return request(folder, execution={"work": str(folder / "work"), "workers": 1}), folder / "met"


def begin(call: partial[object], mark: Path, run: Run) -> object:
    """Show that a task run has begun, then have a worker wait until so many things have."""
    mark.touch()
    return run(call)


def four(config: PrepareConfig, met: Path, expected: int) -> list[object]:
    """What becomes of four of them."""
    tasks = PrefectPool(config.execution)
    call = partial(chores.await_others, folder=str(met), expected=expected, config=config)
    for number in range(4):
        tasks.submit(call, partial(begin, call, met / f"task-{number}"), number)
    return tasks.results()


def test_the_next_task_run_is_begun_before_a_worker_is_free_and_no_other_worker_is(tmp_path: Path) -> None:
    """A worker that waits for Prefect between two calls, 7 % of a run; a child process more for each thread that waits,
    and the memory of a machine that was planned for its workers."""
    config, met = one_worker(tmp_path)
    with running(config.execution):
        assert four(config, met, expected=3) == [[]] * 4  # two tasks and the worker
    assert len([path for path in met.iterdir() if not path.name.startswith("task-")]) == 1


def test_a_run_that_is_stopped_ends_though_task_runs_wait_for_a_worker(tmp_path: Path) -> None:
    """Ctrl-C would be without effect, and the terminal lost, if a thread waited for what nobody gives back."""
    config, met = one_worker(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

    def interrupt() -> None:
        while len(list(met.iterdir())) < 3:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt), running(config.execution):
            four(config, met, expected=100)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 15, "the chore gives up by itself after 20 s"


class Walked(list[int]):
    """Counts who goes through it."""

    walks = 0

    def __iter__(self) -> Iterator[int]:
        self.walks += 1
        return super().__iter__()


def test_prefect_does_not_walk_through_what_a_task_run_is_given(tmp_path: Path) -> None:
    """2 ms a task run for the settings of one source; seconds for a number of each of 100,000 pieces."""
    config, _ = one_worker(tmp_path)
    values = Walked([1, 2, 3])
    tasks = PrefectPool(config.execution)
    call = partial(chores.length, values=values, config=config)
    with running(config.execution):
        tasks.submit(call, lambda run: run(call))
        assert tasks.results() == [[]]
    assert values.walks == 0


def test_trouble_on_a_machine_without_a_board_stays_trouble_that_is_tried_again(tmp_path: Path) -> None:
    """On a cluster a disk that is gone for a second would be a bug of ours, and end the run at once."""

    @task
    def lose_the_disk(config: PrepareConfig) -> None:
        in_worker(partial(chores.lose_the_disk, config=config))

    config, _ = one_worker(tmp_path)
    with running(config.execution), pytest.raises(StorageError):
        lose_the_disk(config)
