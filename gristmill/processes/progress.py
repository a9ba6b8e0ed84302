"""What a stage says while it runs: how far it is, and which parts of its output can be used already.

The listeners are set once per process by whoever supervises the work; without them, nothing happens.
"""

import time
from collections.abc import Callable

from gristmill.types import StageReport

INTERVAL_SECONDS = 0.25
"""Listeners are told at most this often; a terminal cannot show more."""


class _Meter:
    def __init__(self) -> None:
        self.listener: Callable[[int, int], None] | None = None
        self.announced: Callable[[StageReport], None] | None = None
        self.stepped: Callable[[str, int, int], None] | None = None
        self.documents = 0
        self.nbytes = 0
        self.told = 0.0


_meter = _Meter()


def listen(
    listener: Callable[[int, int], None] | None,
    announced: Callable[[StageReport], None] | None = None,
    stepped: Callable[[str, int, int], None] | None = None,
) -> None:
    """Call ``listener(documents, bytes)`` with what was done since its last call, ``announced(report)`` with every
    part that is ready and ``stepped(name, done, total)`` in the course of long steps; None tells the rest and stops."""
    if _meter.listener is not None and (_meter.documents or _meter.nbytes):
        _meter.listener(_meter.documents, _meter.nbytes)
    _meter.listener, _meter.announced, _meter.stepped = listener, announced, stepped
    _meter.documents = _meter.nbytes = 0


def advance(documents: int, nbytes: int) -> None:
    """Say that a stage worked through so many documents and bytes of text or tokens."""
    if _meter.listener is None:
        return
    _meter.documents += documents
    _meter.nbytes += nbytes
    now = time.monotonic()
    if now - _meter.told >= INTERVAL_SECONDS:
        _meter.listener(_meter.documents, _meter.nbytes)
        _meter.documents = _meter.nbytes = 0
        _meter.told = now


def announce(report: StageReport) -> None:
    """Say that a part of the output stands for good and may be used while the stage goes on."""
    if _meter.announced is not None:
        _meter.announced(report)


def step(name: str, done: int, total: int) -> None:
    """Say how far a step is that goes through no documents; ``total`` is 0 where it is not known."""
    if _meter.stepped is not None:
        _meter.stepped(name, done, total)
