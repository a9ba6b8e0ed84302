"""Documents stay where they are."""

import numpy as np

from gristmill.columns import strings
from gristmill.ordering.input import Input


def test_the_key_is_the_place_in_the_whole_input() -> None:
    """Places that began anew in every shard would weave the shards together."""
    keys = [
        Input().order_keys(strings([""] * count), first=first, documents=7) for first, count in ((0, 3), (3, 0), (3, 4))
    ]
    assert np.concatenate(keys).tolist() == list(range(7))
    assert {part.dtype for part in keys} == {np.dtype(np.uint64)}
    assert Input().key_space(7) == 7
