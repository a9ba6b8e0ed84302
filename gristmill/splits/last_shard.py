"""The last input shard is the validation set, as nanochat takes the last file."""

import numpy as np

from gristmill.errors import ConfigError
from gristmill.splits.base import Split


class LastShard(Split):
    """Documents of the last input shard (in global order) are held out; ``ConfigError`` when there is no other."""

    def held_out(self, keys: np.ndarray, *, last_shard: bool, shards: int, key_space: int) -> np.ndarray:
        if shards == 1:
            raise ConfigError(
                "split: last_shard would hold out the only input shard; give more files or kind: fraction"
            )
        return np.full(len(keys), last_shard)
