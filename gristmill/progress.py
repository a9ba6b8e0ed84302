"""How far a stage is, while it runs: ``advance`` in the worker, one listener outside.

The listener is set once per process by whoever supervises the work; without one, nothing happens.
"""

import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.25
"""Listeners are told at most this often; a terminal cannot show more."""


class _Meter:
    def __init__(self) -> None:
        self.listener: Callable[[int, int], None] | None = None
        self.documents = 0
        self.nbytes = 0
        self.told = 0.0


_meter = _Meter()


def listen(listener: Callable[[int, int], None] | None) -> None:
    """Call ``listener(documents, bytes)`` with what was done since its last call; None tells the rest and stops."""
    if _meter.listener is not None and (_meter.documents or _meter.nbytes):
        _meter.listener(_meter.documents, _meter.nbytes)
    _meter.listener = listener
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
