"""The last input shard is the validation set, as nanochat takes the last file."""

import numpy as np

from gristmill.splits.base import Split


class LastShard(Split):
    """Documents of the last input shard (in global order) are held out."""

    def held_out(self, keys: np.ndarray, *, shard: int, shards: int, key_space: int) -> np.ndarray:
        return np.full(len(keys), shard == shards - 1)
