"""Telling a listener how far a stage is."""

from collections.abc import Iterator

import pytest

from gristmill.processes import progress
from gristmill.types import StageReport


@pytest.fixture
def told() -> Iterator[list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []
    progress.listen(lambda *done: seen.append(done))
    yield seen
    progress.listen(None)


def test_nothing_is_lost_when_the_listener_leaves(told: list[tuple[int, int]]) -> None:
    """The last quarter of a second of every shard would be missing from the board."""
    for _ in range(500):
        progress.advance(2, 3)
    progress.listen(None)
    assert [sum(column) for column in zip(*told, strict=True)] == [1000, 1500]
    assert len(told) <= 3


def test_bytes_without_documents_are_told_too(told: list[tuple[int, int]]) -> None:
    """Packing and publishing advance in bytes alone: their last step must count."""
    progress.advance(0, 5)
    progress.advance(0, 7)
    progress.listen(None)
    assert sum(nbytes for _, nbytes in told) == 12


def test_a_part_is_announced_at_once_and_to_nobody_afterwards() -> None:
    """Unlike progress it cannot wait: a worker may be idle until it hears of it."""
    heard: list[StageReport] = []
    part = StageReport(stage="piece", shard=1, fingerprint="f00d")
    progress.listen(None, heard.append)
    progress.announce(part)
    assert heard == [part]
    progress.listen(None)
    progress.announce(part)
    assert heard == [part]


def test_a_listener_hears_only_of_its_own_time(told: list[tuple[int, int]]) -> None:
    """What one shard did must not be counted for the next."""
    progress.listen(None)
    progress.advance(100, 100)
    later: list[tuple[int, int]] = []
    progress.listen(lambda *done: later.append(done))
    progress.advance(1, 1)
    progress.listen(None)
    assert later == [(1, 1)]
    assert told == []


def test_a_step_is_told_to_who_listens() -> None:
    seen: list[tuple[str, int, int]] = []
    progress.step("compute merges", 1, 9)
    progress.listen(None, None, lambda *step: seen.append(step))
    progress.step("compute merges", 2, 9)
    progress.listen(None)
    progress.step("compute merges", 3, 9)
    assert seen == [("compute merges", 2, 9)]
