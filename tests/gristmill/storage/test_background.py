"""Background threads."""

import threading
import time

import pytest

from gristmill.storage.background import MOST, WORTH_BYTES, beside, each

SIZES = pytest.mark.parametrize("nbytes", [0, WORTH_BYTES])


@SIZES
def test_the_result_is_there_when_the_block_is_left(nbytes: int) -> None:
    with beside(lambda: 7, nbytes) as found:
        pass
    assert found.done()
    assert found.result() == 7


def test_work_and_block_run_at_once() -> None:
    """Each waits for the other to begin: one after the other they would never end."""
    met = threading.Barrier(2)
    with beside(lambda: met.wait(60), WORTH_BYTES):
        met.wait(60)


@SIZES
def test_an_error_of_the_work_is_raised_though_nobody_asks_for_its_result(nbytes: int) -> None:
    """A file whose sync failed must not pass for one that is on the disk."""

    def failing() -> None:
        raise OSError("no sync")

    with pytest.raises(OSError, match="no sync"), beside(failing, nbytes):
        pass


def test_an_error_of_the_block_waits_for_the_work_and_counts_first() -> None:
    """The first thing that went wrong is what the user must hear of, and no thread may go on with a file that is being
    removed."""
    begun, ended = threading.Event(), threading.Event()

    def failing() -> None:
        assert begun.wait(60)
        ended.set()
        raise OSError("later")

    def run() -> None:
        with beside(failing, WORTH_BYTES):
            begun.set()
            raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        run()
    assert ended.is_set()


@pytest.mark.parametrize("threads", [1, 2, 1000])
def test_no_item_is_left_out(threads: int) -> None:
    """A file that nobody looked at would count as checked."""
    seen = list[int]()
    each(seen.append, range(500), threads)
    assert sorted(seen) == list(range(500))


def test_of_many_threads_no_more_are_started_than_a_machine_bears() -> None:
    """A cluster of 4,096 workers must not become so many open files and blocks of memory in the process that leads."""
    used = set()
    arrived = threading.Barrier(MOST)

    def work(_: int) -> None:
        arrived.wait(60)
        used.add(threading.get_ident())

    each(work, range(2 * MOST), 4096)
    assert len(used) == MOST


def test_the_first_error_in_order_is_raised_and_the_rest_not_begun() -> None:
    """Which of two errors a user reads must not depend on timing; and after one, hours of uploads would be wasted."""
    begun = list[int]()
    second = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.01)
        if number == 0:
            assert second.wait(60)
        if number < 2:
            second.set()
            raise OSError(str(number))

    with pytest.raises(OSError, match="0"):
        each(work, range(10_000), 2)
    assert len(begun) < 10_000
