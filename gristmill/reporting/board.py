"""How far a run is, for whoever watches: a live table on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from typing import Self

from rich.live import Live
from rich.table import Table

from gristmill.reporting.tables import Row
from gristmill.reporting.terminal import Terminal

LINE_SECONDS = 10.0
"""Where there is no terminal, at most one line in this time, and one at the end of every stage."""


ALWAYS = ("stage", "done", "documents", "documents/s", "MB/s", "time", "left")
"""Columns that are there from the start, so that the table does not jump; the others come when there is something."""

LINE_WIDTH = 160
"""Of the table at the end where there is no terminal to ask."""


class _Step:
    """How far a long step of one unit of work is."""

    def __init__(self, name: str, done: int, total: int) -> None:
        self.name, self.done, self.total, self._first = name, done, total, done
        self._began = time.monotonic()

    def advanced(self, name: str, done: int, total: int) -> "_Step":
        """The step after some progress, or the next one."""
        if (name, total) != (self.name, self.total) or done < self.done:
            return _Step(name, done, total)
        self.done = done
        return self

    def __str__(self) -> str:
        return f" {self.name} {self.done:,}" + (f"/{self.total:,}" if self.total else "") if self.name else ""

    def left(self) -> str:
        """An estimate from what was done since it began; empty where there is none."""
        if not self._first < self.done < self.total:
            return ""
        seconds = (time.monotonic() - self._began) / (self.done - self._first)
        return f"{seconds * (self.total - self.done):.0f} s"


NO_STEP = _Step("", 0, 0)


class _Stage:
    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.done = self.reused = self.failed = self.retried = 0
        self.documents = self.nbytes = self.tokens = self.quarantined = 0
        self.step = NO_STEP
        self.began = time.monotonic()
        self.seconds = 0.0

    @property
    def elapsed(self) -> float:
        return max(self.seconds or time.monotonic() - self.began, 1e-3)

    def row(self) -> Row:
        """Everything that is known of the stage; texts are empty where there is nothing to tell."""
        return {
            "stage": self.name,
            "done": f"{self.done}/{self.total}{self.step}",
            "reused": self._if(self.reused),
            "failed": self._if(self.failed),
            "retries": self._if(self.retried),
            "quarantined": self._if(self.quarantined),
            "documents": self._if(self.documents),
            "documents/s": self._if(round(self.documents / self.elapsed)),
            "MB/s": f"{self.nbytes / 1e6 / self.elapsed:,.1f}" if self.nbytes else "",
            "tokens": self._if(self.tokens),
            "time": f"{self.elapsed:.1f} s",
            "left": self.left(),
        }

    def line(self) -> str:
        """The row in words, without what there is nothing to tell of."""
        row = self.row()
        counts = ("reused", "failed", "retries", "quarantined", "documents", "documents/s", "MB/s", "tokens")
        parts = [f"{row[name]} {name}" for name in counts if row[name]]
        left = f", about {row['left']} left" if row["left"] else ""
        return ", ".join([f"{self.name}: {row['done']}", *parts, str(row["time"])]) + left

    def left(self) -> str:
        """An estimate from what was done so far."""
        if not self.done or self.done == self.total:
            return self.step.left()
        return f"{self.elapsed / self.done * (self.total - self.done):.0f} s"

    @staticmethod
    def _if(count: int) -> str:
        return f"{count:,}" if count else ""


class Board:
    """Counts of every stage of one run; thread-safe. Use as a context manager."""

    def __init__(self) -> None:
        self._stages: dict[str, _Stage] = {}
        self._lock = threading.Lock()
        self._said = self._logged = time.monotonic()
        self._console = Terminal(stderr=True)
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()
        elif kind is None and self._stages:  # a run that failed ends with the one line that says why
            Terminal(stderr=True, width=LINE_WIDTH).print(self._table())

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

    def step(self, stage: str, name: str, done: int, total: int) -> str:
        """A unit of a stage is in the step ``name``. Returns the line to log, empty between two of them."""
        with self._lock:
            entry = self._stages[stage]
            entry.step = entry.step.advanced(name, done, total)
            now = time.monotonic()
            if now - self._logged < LINE_SECONDS:
                return ""
            self._logged = now
            line = entry.line()
        self._say(stage)
        return line

    def finish(self, stage: str, *, reused: int = 0, failed: int = 0, tokens: int = 0, quarantined: int = 0) -> None:
        """One unit of a stage is done (or found done already, or has failed), with so many tokens and documents that
        could not be used."""
        with self._lock:
            entry = self._stages[stage]
            entry.done += 1
            entry.step = NO_STEP
            entry.reused += reused
            entry.failed += failed
            entry.tokens += tokens
            entry.quarantined += quarantined
            last = entry.done == entry.total
            if last:
                entry.seconds = time.monotonic() - entry.began
        self._say(stage, always=last)

    def retry(self, stage: str) -> None:
        """One unit of a stage met trouble with its surroundings and is tried again, as long as tries are left."""
        with self._lock:
            self._stages[stage].retried += 1

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

    def rows(self) -> list[Row]:
        """What every stage did, in the order in which they began."""
        with self._lock:
            return [entry.row() for entry in self._stages.values()]

    def _table(self) -> Table:
        rows = self.rows()
        table = Table(box=None, pad_edge=False)
        for name in _Stage("", 0).row():
            if name in ALWAYS or any(row[name] for row in rows):
                table.add_column(name, justify="left" if name == "stage" else "right")
        shown = [str(column.header) for column in table.columns]
        for row in rows:
            table.add_row(*(str(row[name]) for name in shown))
        return table


class Unwatched(Board):
    """The board of a process that works for a run in another one, which counts what it gets back."""

    def advance(self, stage: str, documents: int, nbytes: int) -> None:
        """Nobody sees it."""

    def finish(self, stage: str, *, reused: int = 0, failed: int = 0, tokens: int = 0, quarantined: int = 0) -> None:
        """Nobody sees it."""

    def retry(self, stage: str) -> None:
        """Nobody sees it."""

    def step(self, stage: str, name: str, done: int, total: int) -> str:
        """Nobody sees it."""
        return ""
