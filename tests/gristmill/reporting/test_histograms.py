"""Counts at other thresholds, against a loop over the values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.reporting.histograms import Histogram, added, edges, histogram

FIGURES = st.floats(-10, 10) | st.sampled_from([0.0, 0.12, 0.114, float("nan"), float("inf"), float("-inf")])


def made(values: "list[float] | list[int]", threshold: float, side: str, *, whole: bool = False) -> Histogram:
    array = np.array(values, np.int64 if whole else np.float64)
    bound = {"least": threshold, "most": None} if side == "below" else {"least": None, "most": threshold}
    return histogram("why", array, np.full(len(values), 3), **bound)


def stays(value: float, threshold: float, side: str) -> bool:
    return not (value < threshold if side == "below" else value > threshold)


@given(
    st.lists(FIGURES), st.sampled_from([0, 0.12, 1, -5, 0.67]), st.sampled_from(["below", "above"]), st.integers(0, 9)
)
def test_shares_at_every_edge(values: list[float], threshold: float, side: str, cut: int) -> None:
    """Rounding at an edge would move documents over the very threshold that is in force."""
    found = added([made(values[:cut], threshold, side), made(values[cut:], threshold, side)])[0]
    assert threshold in found.edges
    assert found.kept(found.documents) == [sum(stays(value, edge, side) for value in values) for edge in found.edges]
    assert found.kept(found.characters) == [3 * count for count in found.kept(found.documents)]


@given(st.lists(st.integers(0, 300)), st.sampled_from([0, 1, 2, 50, 100_000]), st.sampled_from(["below", "above"]))
def test_counts_at_every_edge(values: list[int], threshold: int, side: str) -> None:
    found = made(values, threshold, side, whole=True)
    assert found.kept(found.documents) == [sum(stays(value, edge, side) for value in values) for edge in found.edges]
    assert all(edge == int(edge) for edge in found.edges)


@pytest.mark.parametrize("threshold", [0, 0.01, 0.12, 1, 2, 50, 100_000, -3.5])
@pytest.mark.parametrize("whole", [False, True])
def test_edges_are_few_and_follow_from_the_threshold(threshold: float, whole: bool) -> None:
    """Edges by the values of a shard would not add up over shards."""
    if whole and threshold != int(threshold):
        return
    found = edges(threshold, whole=whole)
    assert found == sorted(set(found))
    assert 5 <= len(found) <= 22
    assert threshold in found
