"""The runner of tests and notebooks: every call in this process, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.runners.base import Announced, Chain, Link, R, perform
from gristmill.stages.ingest.plan import plan
from gristmill.types import Plan


def run(call: partial[R], announced: Announced | None = None) -> R:  # noqa: ARG001  its parts come with its end
    """Make the call."""
    return call()


class InProcessRunner:
    """Carries out calls in the calling thread. The first failure ends the run, but for input that cannot be read."""

    def plan(self, config: PrepareConfig) -> Plan:
        """Every new input shard."""
        return plan(config)

    def each(self, calls: Sequence[partial[R]], units: int | None = None) -> list[R]:
        """Results in order."""
        return [call() for call in calls]

    def at_once(self, *calls: partial[R]) -> list[R]:
        """Results in order."""
        return self.each(calls)

    def chain(self, chain: Chain) -> list[Link]:
        """Each call with what follows it."""
        return [_linked(call, chain) for call in chain.calls]

    @contextmanager
    def meanwhile(self, call: partial[R]) -> Iterator[Callable[[], R]]:
        """The call is made when its result is asked for."""
        yield call


def _linked(call: partial[Any], chain: Chain) -> Link:
    then: list[Any] = []
    try:
        first = call()
        then.extend(perform(following, run) for following in chain.ended(call, first))
    except InputError as error:
        return Link(first=error, then=then)
    return Link(first=first, then=then)


IN_PROCESS = InProcessRunner()
