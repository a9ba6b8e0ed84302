"""One permutation of all documents, numpy's."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.columns import strings
from gristmill.errors import ConfigError
from gristmill.ordering.nanogpt import NanoGPT


@given(st.integers(0, 2000), st.integers(0, 2**40), st.lists(st.integers(0, 2000), max_size=4))
def test_documents_by_key_are_in_the_order_of_the_permutation(count: int, seed: int, cuts: list[int]) -> None:
    """Keys are asked for shard by shard: together they must be the inverse of one permutation."""
    edges = [0, *sorted(min(cut, count) for cut in cuts), count]
    order = NanoGPT(seed=seed)
    keys = [
        order.order_keys(strings([""] * (stop - start)), first=start, documents=count)
        for start, stop in pairwise(edges)
    ]
    together = np.concatenate(keys)
    assert together.dtype == np.uint64
    assert np.argsort(together).tolist() == np.random.default_rng(seed).permutation(count).tolist()
    assert order.key_space(count) == count


def test_the_seed_of_openwebtext_is_the_default() -> None:
    """The first documents of nanoGPT's shuffle of ten."""
    keys = NanoGPT().order_keys(strings(["x"] * 10), first=0, documents=10)
    assert np.argsort(keys).tolist() == np.random.default_rng(2357).permutation(10).tolist()


def test_two_orders_in_one_process_do_not_mix() -> None:
    """The ranks are kept between calls: those of another seed or count must not be taken."""
    wanted = {}
    for seed, count in ((1, 50), (2, 50), (1, 60)):
        wanted[seed, count] = np.random.default_rng(seed).permutation(count).tolist()
    for seed, count in [*wanted, *wanted]:
        keys = NanoGPT(seed=seed).order_keys(strings([""] * count), first=0, documents=count)
        assert np.argsort(keys).tolist() == wanted[seed, count]


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed"):
        NanoGPT.parse({"seed": -1})
