"""Work on further threads."""

import threading

import pytest

from gristmill.threads import WORTH_BYTES, beside

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
