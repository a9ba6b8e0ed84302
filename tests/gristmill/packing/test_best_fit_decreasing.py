"""Best fit, longest first, against the rule written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_packing import LENGTHS, checked

from gristmill.packing.best_fit_decreasing import BestFitDecreasing


def plain(sizes: list[int], capacity: int) -> set[frozenset[int]]:
    """Which pieces share a row, by looking at every row for every piece."""
    rows: list[list[int]] = []
    for piece in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        rooms = [capacity - sum(sizes[other] for other in row) for row in rows]
        fitting = [place for place, room in enumerate(rooms) if room >= sizes[piece]]
        if fitting:
            rows[min(fitting, key=lambda place: (rooms[place], place))].append(piece)
        else:
            rows.append([piece])
    return {frozenset(row) for row in rows}


@given(LENGTHS, st.integers(1, 24))
def test_rows_are_those_of_the_plain_rule(lengths: list[int], length: int) -> None:
    found, account = checked(BestFitDecreasing(length=length), lengths)
    sizes = [min(size, length + 1) for size in lengths]
    rows = {frozenset(found.document[found.row == row].tolist()) for row in range(found.rows)}
    assert rows == plain(sizes, length + 1)
    assert account["placed"] == sum(sizes)
    assert account["cropped"] == sum(lengths) - sum(sizes)


@given(LENGTHS, st.integers(1, 24))
def test_fragments_keep_every_id(lengths: list[int], length: int) -> None:
    _, account = checked(BestFitDecreasing(length=length, long="fragment"), lengths)
    assert account["placed"] == sum(lengths)


@pytest.mark.parametrize("count", [100, 2000])
def test_long_rows_do_not_come_first(count: int) -> None:
    """Training would begin with the longest documents and end with crumbs."""
    lengths = np.random.default_rng(2).integers(1, 64, count)
    found = BestFitDecreasing(length=63).arrange(lengths)
    longest = np.array([lengths[found.document[found.row == row]].max() for row in range(found.rows)])
    firsts = [int(found.document[found.row == row][0]) for row in range(found.rows)]
    assert firsts == sorted(firsts)
    half = len(longest) // 2
    assert abs(longest[:half].mean() - longest[half:].mean()) < 8
