"""Orders without memory: every sample once an epoch, mixed as promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import ConfigError
from gristmill.readers._permutation import OPEN_BLOCKS, Order, Shuffle, keyed, permuted

SHUFFLES: list[Shuffle] = ["blocks", "samples", "none"]


@given(st.integers(1, 3000), st.integers(-5, 2**64))
def test_every_place_goes_to_another(size: int, seed: int) -> None:
    """Two places with the same sample would lose another one."""
    found = permuted(np.arange(size), np.full(size, size), np.repeat(keyed(seed), size))
    assert sorted(found.tolist()) == list(range(size))


def test_a_trillion_places_cost_no_memory() -> None:
    """A list of the windows of a corpus of terabytes takes gigabytes in every rank."""
    size = 10**12
    places = np.arange(10**4) + size // 2
    found = permuted(places, np.full(len(places), size), np.repeat(keyed(1), len(places)))
    assert len(set(found.tolist())) == len(places)
    assert abs(found.mean() / size - 0.5) < 0.02
    assert abs(np.corrcoef(places, found)[0, 1]) < 0.05


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(0, 3), st.sampled_from(SHUFFLES))
def test_every_epoch_has_every_sample_once(blocks: list[int], seed: int, shuffle: Shuffle) -> None:
    order = Order(np.array(blocks), seed=seed, shuffle=shuffle)
    size = sum(blocks)
    found = order.at(np.arange(3 * size)).reshape(3, size)
    assert all(sorted(epoch.tolist()) == list(range(size)) for epoch in found)
    places = np.random.default_rng(1).integers(0, 3 * size, 20)
    assert np.array_equal(order.at(places), found.reshape(-1)[places]), (
        "a place has one sample, however it is asked for"
    )


@pytest.mark.parametrize("shuffle", ["blocks", "samples"])
def test_epochs_and_seeds_have_orders_of_their_own(shuffle: Shuffle) -> None:
    """The same order every epoch lets a model learn the order."""
    blocks = np.full(200, 5)
    first, other = (Order(blocks, seed=seed, shuffle=shuffle).at(np.arange(3000)).reshape(3, 1000) for seed in (1, 2))
    orders = [*first, *other]
    for place, left in enumerate(orders):
        assert abs(np.corrcoef(left, np.arange(1000))[0, 1]) < 0.25
        for right in orders[place + 1 :]:
            assert np.count_nonzero(left == right) < 20


def test_blocks_lie_together_and_are_mixed() -> None:
    """What is read at a time must come from few places, and yet not from one."""
    found = Order(np.full(200, 50), seed=3, shuffle="blocks").at(np.arange(10_000)) // 50
    for low in range(0, 10_000, 50 * OPEN_BLOCKS):
        stretch = found[low : low + 50 * OPEN_BLOCKS]
        assert len(set(stretch.tolist())) <= OPEN_BLOCKS
        assert len(set(stretch[:40].tolist())) > 4


def test_without_a_shuffle_samples_come_as_they_lie() -> None:
    assert Order(np.array([2, 3]), seed=1, shuffle="none").at(np.arange(7)).tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_an_unknown_shuffle_is_refused() -> None:
    with pytest.raises(ConfigError, match="blocks, samples, none"):
        Order(np.array([2]), seed=1, shuffle="all")  # type: ignore[arg-type]
