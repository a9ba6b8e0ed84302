"""Rows equal to those of nanochat's rule, full, and quickly found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_packing import best_fit_rows
from row_packing import BOS, LENGTHS, checked, document, rows_of

from gristmill.packing.best_fit import BestFit


@given(LENGTHS, st.integers(1, 24), st.integers(1, 12), st.integers(1, 5))
def test_rows_are_those_of_the_plain_rule(lengths: list[int], length: int, buffer: int, refill: int) -> None:
    """Another choice among equals, or a refill at another moment, makes other rows from there on."""
    kind = BestFit(length=length, buffer=buffer, refill=refill)
    found, account = checked(kind, lengths)
    documents = [document(number, size) for number, size in enumerate(lengths)]
    rows = rows_of(found, lengths)
    assert rows == best_fit_rows(documents, length + 1, buffer=buffer, refill=refill)
    assert all(row[0] == BOS and len(row) == length + 1 for row in rows)
    assert account["padding"] == 0
    assert account["left"] <= sum(lengths) - account["rows"] * (length + 1)


def test_rows_of_real_lengths_are_those_of_the_plain_rule() -> None:
    """At its defaults, with documents far longer than a row that stay in the buffer."""
    lengths = np.random.default_rng(5).lognormal(5, 1.5, 3000).astype(int).clip(1, 20_000).tolist()
    rows = rows_of(BestFit(length=256).arrange(np.array(lengths)), lengths)
    assert len(rows) > 1700
    assert rows == best_fit_rows(
        [document(number, size) for number, size in enumerate(lengths)], 257, buffer=1000, refill=128
    )


@pytest.mark.parametrize(("lengths", "whole", "cropped", "left"), [([4, 4], 2, 0, 0), ([9], 0, 1, 0), ([3], 0, 0, 3)])
def test_every_id_is_accounted_for(lengths: list[int], whole: int, cropped: int, left: int) -> None:
    _, account = checked(BestFit(length=7), lengths)
    assert (account["whole"], account["cropped"], account["left"]) == (whole, cropped, left)
