"""Whole documents, padded rows, marked pieces."""

from hypothesis import given
from hypothesis import strategies as st
from row_packing import LENGTHS, checked

from gristmill.packing.no_truncation import NoTruncation


@given(LENGTHS, st.integers(1, 24), st.integers(1, 12))
def test_nothing_is_lost_and_only_what_is_longer_than_a_row_is_split(
    lengths: list[int], length: int, buffer: int
) -> None:
    """A cut document ends nowhere: the model learns to stop in the middle of a sentence."""
    found, account = checked(NoTruncation(length=length, buffer=buffer, refill=2), lengths)
    assert account["placed"] == sum(lengths)
    assert not len(found.left)
    for number, size in enumerate(lengths):
        pieces = sorted(
            zip(found.skipped[found.document == number], found.taken[found.document == number], strict=True)
        )
        capacity = length + 1
        assert [int(skipped) for skipped, _ in pieces] == list(range(0, size, capacity))
        assert all(taken == capacity for _, taken in pieces[:-1])


def test_documents_stay_near_their_place() -> None:
    """Rows of one bucket are read in order: all short documents at the end would be a curriculum nobody chose."""
    found, _ = checked(NoTruncation(length=9, buffer=4, refill=1), [5, 3, 2, 9, 1, 5, 5, 8, 2] * 10)
    assert abs(found.document - range(len(found.document))).max() < 20
