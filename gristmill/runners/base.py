"""The protocol between the pipeline and the runner that carries out its calls.

A call is a ``functools.partial`` of a stage function with keyword arguments. A job is one of a function that also takes
``run``, and makes several calls with it, one after the other.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, TypeVar

from gristmill.config import PrepareConfig
from gristmill.types import Plan, StageReport, Value

R = TypeVar("R")
Announced = Callable[[StageReport], None]
Follow = Callable[[partial[StageReport], StageReport], list[partial[Any]]]
"""The calls and jobs that may begin after a report of a call."""


class Run(Protocol):
    """Carries out one call and returns its result; ``announced`` hears of the parts that are ready before."""

    def __call__(self, call: partial[R], announced: Announced | None = None) -> R:
        """Raises what the stage raises."""


def no_calls(_call: partial[StageReport], _report: StageReport) -> list[partial[Any]]:
    """Nothing may begin yet."""
    return []


class Chain(Value, frozen=True, kw_only=True):
    """Calls of one stage, and what may begin while others of them are at work."""

    calls: list[partial[StageReport]]
    ended: Follow
    """What may begin once a call has ended, and did not begin before."""
    announced: Follow = no_calls
    """What may begin with a part that a call announces."""
    stages: list[str]
    """Names of the stage and of those that follow, for the progress display."""
    expected: int
    """How often each that follows will be called, as far as that is known beforehand."""


class Link(Value, frozen=True, kw_only=True):
    """What became of one call of a chain: results or exceptions."""

    first: Any
    then: list[Any]
    """Of what followed the call, in the order in which it could begin."""

    @property
    def failures(self) -> list[BaseException]:
        """The exceptions."""
        return [result for result in (self.first, *self.then) if isinstance(result, BaseException)]


class Runner(Protocol):
    """Carries out the calls of a run. The bytes are the same whichever it is."""

    def plan(self, config: PrepareConfig) -> Plan:
        """List the input, and load the stages in the processes that will work on it."""

    def each(self, calls: Sequence[partial[R]], units: int | None = None) -> list[R]:
        """Results of many calls of one stage, in order; ``units`` of work in all, where a call has several.

        All are tried before the first failure is raised.
        """

    def at_once(self, *calls: partial[R]) -> list[R]:
        """Results of a few calls of different stages that need not wait for each other."""

    def chain(self, chain: Chain) -> list[Link]:
        """What became of each call of ``chain``, in order, once all that follows has ended too."""

    def meanwhile(self, call: partial[R]) -> AbstractContextManager[Callable[[], R]]:
        """Carry out a call of little work in this process while the block runs, which gets a function that waits for
        its result."""


def perform(call: partial[Any], run: Run) -> Any:
    """The result of a call or of a job."""
    return call(run=run) if "run" in inspect.signature(call.func).parameters else run(call)


def raise_failed(results: Sequence[Any]) -> None:
    """Raise the first exception among results; the others are named in a note."""
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        for other in failures[1:]:
            if other is not failures[0]:
                failures[0].add_note(f"also failed: {other}")
        raise failures[0]
