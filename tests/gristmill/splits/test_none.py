"""Everything trains."""

import numpy as np

from gristmill.splits.base import Corpus
from gristmill.splits.none import NoSplit


def test_no_document_is_held_out_and_none_is_cut() -> None:
    """Also the one with the smallest key of all."""
    keys = np.array([0, 1, 2**64 - 1], np.uint64)
    assert NoSplit().held_out(keys, last_shard=True, shards=1, key_space=2**64).tolist() == [False] * 3
    assert NoSplit().cut(Corpus(documents=[3], characters=[30])) is None
    NoSplit().check_ordering("hashed")
