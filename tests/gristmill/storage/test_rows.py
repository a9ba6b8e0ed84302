"""Files of packed rows: what is read is what was written, and broken files are named."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import VerificationError
from gristmill.storage.rows import RowGroup, read_groups, write_groups

U2 = np.dtype("<u2")


def group(rows: list[list[int]], capacity: int, seed: int = 1) -> RowGroup:
    """Rows of segments of these lengths, of random ids."""
    draws = np.random.default_rng(seed)
    filled = np.array([sum(row) for row in rows])
    ids = draws.integers(0, 65536, (len(rows), capacity)).astype(U2)
    return RowGroup(
        ids=ids,
        mask=np.arange(capacity) < filled[:, None],
        segments=np.array([len(row) for row in rows]),
        ends=np.concatenate([np.cumsum(row) for row in rows]),
        skipped=draws.integers(0, 99, sum(map(len, rows))),
        shards=draws.integers(0, 99, sum(map(len, rows))),
    )


ROWS = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=3), st.sampled_from(["<u2", "<u4"]))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[list[int]]], kind: str
) -> None:
    dtype = np.dtype(kind)
    path = tmp_path_factory.mktemp("rows") / "train.parquet"
    wrote = [group(rows, 16, seed) for seed, rows in enumerate(groups)]
    with path.open("wb") as out:
        write_groups(out, wrote, dtype)
    found = list(read_groups(path, dtype))
    assert len(found) == len(wrote) > 0
    for ours, theirs in zip(found, wrote, strict=True):
        for name in ("ids", "mask", "segments", "ends", "skipped", "shards"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        assert ours.ids.dtype == dtype


def test_a_row_of_another_length_is_refused(tmp_path: Path) -> None:
    """It would shift every row after it."""
    path = tmp_path / "train.parquet"
    with path.open("wb") as out:
        write_groups(out, [group([[4]], 8), group([[4]], 9)], U2)
    table = pq.read_table(path)
    pq.write_table(table, path)
    with pytest.raises(VerificationError, match=r"not all of 8 ids"):
        list(read_groups(path, U2))


@pytest.mark.parametrize("content", ["other type", "no parquet"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "train.parquet"
    pq.write_table(pa.table({"ids": [[1]]}), path)
    if content == "no parquet":
        path.write_bytes(b"PAR1" + path.read_bytes()[4:-9])
    with pytest.raises(VerificationError, match=r"train\.parquet"):
        list(read_groups(path, U2))


def test_ids_take_two_bytes_or_less(tmp_path: Path) -> None:
    """Parquet stores uint16 as 32 bits; stored as they are they would take twice the space."""
    ids = np.random.default_rng(1).integers(0, 50257, (256, 2049)).astype(U2)
    rows = RowGroup(
        ids=ids,
        mask=np.ones(ids.shape, bool),
        segments=np.ones(256, int),
        ends=np.full(256, 2049),
        skipped=np.zeros(256, int),
        shards=np.zeros(256, int),
    )
    with (tmp_path / "x").open("wb") as out:
        write_groups(out, [rows] * 4, U2)
    assert (tmp_path / "x").stat().st_size < 4 * ids.nbytes * 1.05
