"""Validation is the front of the order, as nanoGPT's data set is split."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.columns import strings
from gristmill.errors import ConfigError
from gristmill.ordering.hashed import Hashed
from gristmill.ordering.nanogpt import NanoGPT
from gristmill.splits.fraction import Fraction

SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)


def held_out(split: Fraction, keys: np.ndarray, key_space: int) -> np.ndarray:
    return split.held_out(keys, last_shard=True, shards=1, key_space=key_space)


@given(st.integers(1, 3000), SHARES | st.just(0.0005), st.integers(0, 5))
def test_the_first_of_the_permutation_rounded_up_validate(count: int, share: float, seed: int) -> None:
    """nanoGPT's rule: one document more or less on either side and no byte of the files agrees."""
    order = NanoGPT(seed=seed)
    keys = order.order_keys(strings([""] * count), first=0, documents=count)
    found = held_out(Fraction(fraction=share), keys, order.key_space(count))
    wanted = np.random.default_rng(seed).permutation(count)[: math.ceil(share * count)]
    assert sorted(np.flatnonzero(found).tolist()) == sorted(wanted.tolist())


@pytest.mark.parametrize(("share", "count", "held"), [(0.0005, 8_013_769, 4_007), (0.0005, 2000, 1), (0.0005, 2001, 2)])
def test_counts_of_the_openwebtext_recipe(share: float, count: int, held: int) -> None:
    keys = np.arange(count, dtype=np.uint64)
    assert int(held_out(Fraction(fraction=share), keys, count).sum()) == held


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=30), SHARES)
def test_with_hashed_keys_a_document_never_changes_sides(texts: list[str], share: float) -> None:
    """A held-out document that moved into train with the next crawl would spoil every comparison."""
    order, split = Hashed(seed=3), Fraction(fraction=share)
    together = held_out(split, order.order_keys(strings(texts), first=0, documents=len(texts)), 2**64)
    for place, text in enumerate(texts):
        alone = held_out(split, order.order_keys(strings([text]), first=0, documents=1), 2**64)
        assert alone[0] == together[place]
        assert alone[0] == (int(order.order_keys(strings([text]), first=0, documents=1)[0]) < math.ceil(share * 2**64))


def test_a_share_of_hashed_documents_is_about_the_share() -> None:
    keys = Hashed().order_keys(strings([f"document {number}" for number in range(20_000)]), first=0, documents=20_000)
    assert int(held_out(Fraction(fraction=0.1), keys, 2**64).sum()) == pytest.approx(2000, abs=200)


def test_the_ends_of_the_key_space_fit() -> None:
    """The largest share must not overflow the 64 bits of a key."""
    keys = np.array([0, 2**64 - 1], np.uint64)
    assert held_out(Fraction(fraction=math.nextafter(1, 0)), keys, 2**64).tolist() == [True, False]
    assert held_out(Fraction(fraction=5e-324), keys, 2**64).tolist() == [True, False]


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
def test_a_share_outside_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="fraction"):
        Fraction.parse({"fraction": share})
