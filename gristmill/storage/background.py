"""Background threads for work that releases the GIL: reading, hashing, waiting for a disk."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

MOST = 32
"""Threads at once, however many workers a cluster has: each holds an open file or a connection of 64."""

WORTH_BYTES = 4 << 20
"""Hashing them takes 3 ms, starting a thread 0.2 ms."""


@contextmanager
def beside(work: Callable[[], T], nbytes: int) -> Iterator[Future[T]]:
    """Do ``work`` on ``nbytes`` bytes while the ``with`` block runs, which is given its result to come; before it where
    they are few.

    Both have ended when the block is left, whatever failed; an error of the block counts before one of the work.
    """
    if nbytes < WORTH_BYTES:
        done: Future[T] = Future()
        done.set_result(work())
        yield done
        return
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(work)
        yield running
        running.result()


def each(work: Callable[[S], None], items: Iterable[S], threads: int) -> None:
    """Do ``work`` on every item, on so many threads but at most ``MOST``.

    Raises the first error in the order of the items once what is under way has ended; the rest is not begun.
    """
    with ThreadPoolExecutor(min(threads, MOST)) as pool:
        for _ in pool.map(work, items):
            pass
