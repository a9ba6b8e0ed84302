"""Rows of small documents, and what must hold of those of every kind of packing."""

import numpy as np
from hypothesis import strategies as st

from gristmill.packing.base import RowPacking, Segments

LENGTHS = st.lists(st.integers(1, 40), max_size=60)
BOS = 0


def document(number: int, length: int) -> list[int]:
    """Start of text, and ids that tell where they come from."""
    return [BOS, *(1000 * (number + 1) + place for place in range(1, length))]


def rows_of(segments: Segments, lengths: list[int]) -> list[list[int]]:
    """The ids of every row, without padding."""
    found: list[list[int]] = [[] for _ in range(segments.rows)]
    entries = zip(*(getattr(segments, name).tolist() for name in ("document", "skipped", "taken", "row")), strict=True)
    for number, skipped, taken, row in entries:
        found[row] += document(number, lengths[number])[skipped : skipped + taken]
    return found


def checked(kind: RowPacking, lengths: list[int]) -> tuple[Segments, dict[str, int]]:
    """Rows in order, none empty, none too full; every id accounted for, and none twice."""
    sizes = np.array(lengths, np.int64)
    found = kind.arrange(sizes)
    account = found.account(sizes, kind.capacity)
    assert (np.diff(found.row) >= 0).all()
    assert sorted(set(found.row.tolist())) == list(range(found.rows))
    assert (np.bincount(found.row, found.taken, minlength=1) <= kind.capacity).all()
    assert (found.taken > 0).all()
    there = [range(a, a + n) for a, n in zip(found.skipped.tolist(), found.taken.tolist(), strict=True)]
    places = [(number, at) for number, ids in zip(found.document.tolist(), there, strict=True) for at in ids]
    assert len(places) == len(set(places)) == account["placed"]
    assert all(at < lengths[number] for number, at in places)
    assert set(found.document.tolist()) | set(found.left.tolist()) == set(range(len(lengths)))
    assert not set(found.document.tolist()) & set(found.left.tolist())
    assert account["placed"] + account["cropped"] + account["left"] == account["ids"] == sum(lengths)
    assert account["placed"] + account["padding"] == found.rows * kind.capacity
    return found, account
