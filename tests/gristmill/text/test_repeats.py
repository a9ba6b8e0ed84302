"""Which ids count as repeating, against a search that tries every place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.text.repeats import repeated, repeated_blocks


def plain(ids: list[int], max_period: int, least: int) -> list[bool]:
    found = [False] * len(ids)
    for period in range(1, max_period + 1):
        for start in range(len(ids)):
            stop = start + period
            while stop < len(ids) and ids[stop] == ids[stop - period]:
                stop += 1
            if (stop - start) // period >= least:
                found[start:stop] = [True] * (stop - start)
    return found


@given(st.lists(st.lists(st.integers(0, 1), min_size=20, max_size=20), min_size=1, max_size=4), st.integers(2, 5))
def test_marks_are_those_of_the_plain_search(rows: list[list[int]], least: int) -> None:
    """A run that went on into the next row would mask what does not repeat."""
    found = repeated(np.array(rows), max_period=3, least=least)
    assert found.tolist() == [plain(row, 3, least) for row in rows]


@pytest.mark.parametrize("period", [1, 2, 7, 13])
@pytest.mark.parametrize("repeats", [31, 32, 40])
def test_the_rule_is_32_repeats_of_up_to_13_ids(period: int, repeats: int) -> None:
    """The bounds of OLMo's filter, with other ids before and behind."""
    run = list(range(100, 100 + period)) * repeats
    row = np.array([1, 2, 3, *run, 4, 5])
    assert repeated(row).sum() == (len(run) if repeats >= 32 else 0)


def test_a_period_of_14_is_no_repetition() -> None:
    assert not repeated(np.array(list(range(14)) * 64)).any()


@given(
    st.lists(st.tuples(st.integers(1, 14), st.integers(1, 600), st.integers(0, 3)), min_size=1, max_size=8),
    st.lists(st.integers(1, 900), max_size=9),
)
def test_blocks_are_marked_as_if_they_were_one(runs: list[tuple[int, int, int]], sizes: list[int]) -> None:
    """A run that goes over the edge of a block, however short its piece on one side, is one run."""
    ids = np.concatenate([np.resize(np.arange(period) + first, length) for period, length, first in runs])
    blocks = np.split(ids.astype("<u2"), np.cumsum(sizes))
    found = list(repeated_blocks(blocks))
    assert np.array_equal(np.concatenate(found), repeated(ids))


def test_blocks_without_an_id_have_no_mark() -> None:
    assert sum(map(len, repeated_blocks([]))) == 0
