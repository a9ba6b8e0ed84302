"""The last input shard validates."""

import numpy as np
import pytest

from gristmill.errors import ConfigError
from gristmill.splits.last_shard import LastShard


def held_out(shard: int, shards: int) -> list[bool]:
    keys = np.arange(3, dtype=np.uint64)
    found: list[bool] = LastShard().held_out(keys, last_shard=shard == shards - 1, shards=shards, key_space=3).tolist()
    return found


def test_only_the_last_shard_validates() -> None:
    """Off by one and a training file would be validation data."""
    assert [held_out(shard, 3) for shard in range(3)] == [[False] * 3, [False] * 3, [True] * 3]


def test_one_shard_cannot_be_both() -> None:
    """Everything would be held out, and there would be no training file."""
    with pytest.raises(ConfigError, match="only input shard"):
        held_out(0, 1)
