"""How far a run is, for whoever watches: a live table on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

LINE_SECONDS = 10.0
"""Where there is no terminal, at most one line in this time, and one at the end of every stage."""


class _Stage:
    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.done = self.reused = self.failed = self.documents = self.nbytes = 0
        self.began = time.monotonic()
        self.seconds = 0.0

    @property
    def elapsed(self) -> float:
        return self.seconds or time.monotonic() - self.began

    def line(self) -> str:
        parts = [f"{self.name}: {self.done}/{self.total}"]
        if self.reused:
            parts.append(f"{self.reused} reused")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.documents:
            parts.append(f"{self.documents:,} documents, {self.documents / max(self.elapsed, 1e-3):,.0f}/s")
        if self.nbytes:
            parts.append(f"{self.nbytes / 1e6 / max(self.elapsed, 1e-3):,.1f} MB/s")
        return ", ".join(parts) + f", {self.elapsed:.1f} s"

    def left(self) -> str:
        if not self.done or self.done == self.total:
            return ""
        return f"{self.elapsed / self.done * (self.total - self.done):.0f} s"


class Board:
    """Counts of every stage of one run; thread-safe. Use as a context manager."""

    def __init__(self) -> None:
        self._stages: dict[str, _Stage] = {}
        self._lock = threading.Lock()
        self._said = time.monotonic()
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def begin(self, stage: str, total: int) -> None:
        """A stage with ``total`` units of work starts."""
        with self._lock:
            self._stages[stage] = _Stage(stage, total)

    def extend(self, stage: str, more: int) -> None:
        """A stage has ``more`` units of work than was known."""
        with self._lock:
            self._stages[stage].total += more

    def advance(self, stage: str, documents: int, nbytes: int) -> None:
        """Some documents and bytes of a unit went through a stage."""
        with self._lock:
            entry = self._stages[stage]
            entry.documents += documents
            entry.nbytes += nbytes
        self._say(stage)

    def finish(self, stage: str, *, reused: int = 0, failed: int = 0) -> None:
        """One unit of a stage is done (or found done already, or has failed)."""
        with self._lock:
            entry = self._stages[stage]
            entry.done += 1
            entry.reused += reused
            entry.failed += failed
            last = entry.done == entry.total
            if last:
                entry.seconds = time.monotonic() - entry.began
        self._say(stage, always=last)

    def share(self) -> float:
        """Mean share of all stages known so far that is done, 0 to 1."""
        with self._lock:
            return sum(entry.done / max(1, entry.total) for entry in self._stages.values()) / max(1, len(self._stages))

    def _say(self, stage: str, always: bool = False) -> None:
        if self._console.is_terminal:
            return
        now = time.monotonic()
        with self._lock:
            if not always and now - self._said < LINE_SECONDS:
                return
            self._said = now
            line = self._stages[stage].line()
        print(line, file=sys.stderr, flush=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for name in ("stage", "done", "reused", "failed", "documents", "documents/s", "MB/s", "time", "left"):
            table.add_column(name, justify="left" if name == "stage" else "right")
        with self._lock:
            for entry in self._stages.values():
                rate = max(entry.elapsed, 1e-3)
                table.add_row(
                    entry.name,
                    f"{entry.done}/{entry.total}",
                    f"{entry.reused}" if entry.reused else "",
                    f"{entry.failed}" if entry.failed else "",
                    f"{entry.documents:,}" if entry.documents else "",
                    f"{entry.documents / rate:,.0f}" if entry.documents else "",
                    f"{entry.nbytes / 1e6 / rate:,.1f}" if entry.nbytes else "",
                    f"{entry.elapsed:.1f} s",
                    entry.left(),
                )
        return table
