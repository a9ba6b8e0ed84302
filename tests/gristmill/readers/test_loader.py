"""Batches for every rank: each sample once, and on from where it stopped."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_sets import Numbers, drawn

from gristmill.errors import ConfigError
from gristmill.readers._samples import Read
from gristmill.readers.loader import Loader

BLOCKS = st.lists(st.integers(1, 7), min_size=1, max_size=12)
SHUFFLES = st.sampled_from(["blocks", "samples", "none"])


@given(BLOCKS, st.integers(1, 5), st.integers(1, 4), SHUFFLES, st.integers(0, 9))
def test_over_an_epoch_every_sample_is_read_once_over_all_ranks(
    blocks: list[int], batch: int, world: int, shuffle: str, seed: int
) -> None:
    """A rank that reads what another has read trains on less than it says; one that skips loses data."""
    size = sum(blocks)
    steps = size  # so many steps are ``batch * world`` whole epochs
    loaders = [
        Loader(Numbers(*blocks), batch=batch, rank=rank, world_size=world, seed=seed, shuffle=shuffle)  # type: ignore[arg-type]
        for rank in range(world)
    ]
    taken = [number for _ in range(steps) for loader in loaders for number in drawn(loader, 1)]
    for epoch in range(batch * world):
        assert sorted(taken[epoch * size : (epoch + 1) * size]) == list(range(size))
    assert loaders[0].epoch == batch * world


@given(
    BLOCKS, st.integers(0, 9), st.integers(0, 30), SHUFFLES, st.sampled_from([(1, 8), (2, 4), (8, 1)]), st.booleans()
)
def test_resume_equals_no_interruption(
    blocks: list[int], seed: int, steps: int, shuffle: str, split: tuple[int, int], several: bool
) -> None:
    """Also when as many samples a step go to another number of ranks; the state goes through JSON, as checkpoints
    do."""

    def ranks(batch: int, world: int) -> list[Loader]:
        samples = {"a": Numbers(*blocks), "b": Numbers(3, 4, base=1000)} if several else Numbers(*blocks)
        options = {"batch": batch, "world_size": world, "seed": seed, "shuffle": shuffle}
        return [Loader(samples, rank=rank, **options) for rank in range(world)]  # type: ignore[arg-type]

    def step(loaders: list[Loader]) -> list[int]:
        return [number for loader in loaders for number in drawn(loader, 1)]

    whole = ranks(4, 2)
    for _ in range(steps):
        step(whole)
    state = json.loads(json.dumps(whole[0].state_dict()))
    assert state == whole[1].state_dict()
    resumed = ranks(*split)
    step(resumed)  # what was read before the state was loaded must not matter
    for loader in resumed:
        loader.load_state_dict(state)
    assert [step(resumed) for _ in range(5)] == [step(whole) for _ in range(5)]


def test_a_state_of_other_data_is_refused() -> None:
    """Going on at the same number in another order repeats and skips samples, and nothing shows it."""
    loader = Loader(Numbers(5, 5), batch=2)
    state = loader.state_dict()
    others = [
        Loader(Numbers(5, 4), batch=2),
        Loader(Numbers(5, 5), batch=2, seed=1),
        Loader(Numbers(5, 5), batch=2, shuffle="none"),
        Loader({"a": Numbers(5, 5), "b": Numbers(5, base=7)}, batch=2),
    ]
    for other in others:
        with pytest.raises(ConfigError, match="state is of other data"):
            other.load_state_dict(state)
    loader.load_state_dict(state)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=5), st.integers(1, 3000))
def test_a_mixture_keeps_its_shares_at_every_point(weights: list[float], count: int) -> None:
    """Shares that hold on average only make a run that stops early train on another mixture."""
    names = [str(number) for number in range(len(weights))]
    samples = {name: Numbers(5, 6, base=100 * number) for number, name in enumerate(names)}
    loader = Loader(samples, batch=count, weights=dict(zip(names, weights, strict=True)))
    found = np.bincount(loader.next().x[:, 0] // 100, minlength=len(names))
    assert found.sum() == count
    wanted = np.array(weights) / sum(weights) * count
    assert abs(found - wanted).max() < len(names) + 0.001 * count


def test_each_part_of_a_mixture_goes_through_its_own_epochs() -> None:
    """A small source is repeated as a whole, never one of its samples before the others."""
    loader = Loader(
        {"big": Numbers(50, base=0), "small": Numbers(3, 2, base=100)}, batch=20, weights={"big": 3, "small": 1}
    )
    small = [number for number in drawn(loader, 40) if number >= 100]
    assert len(small) == 200
    for low in range(0, 200, 5):
        assert sorted(small[low : low + 5]) == [100, 101, 102, 103, 104]


def test_the_next_batch_is_announced() -> None:
    """Without it every batch waits for the object store."""
    samples = Numbers(9, 9)
    loader = Loader(samples, batch=4)
    for _ in range(10):
        loader.next()
        announced = samples.expected
        assert drawn(loader, 1) == announced


class Looping(Numbers):
    """A sample of 100 ids, the first 40 the same."""

    def read(self, numbers: np.ndarray) -> Read:
        ids = np.arange(101)[None].repeat(len(numbers), 0)
        ids[:, :40] = 7
        return Read(ids=ids, mask=np.ones(ids.shape, bool))


@pytest.mark.parametrize(("rule", "learned"), [("keep", 100), ("mask", 61), ("mask_sample", 0)])
def test_repetitions_are_masked_by_the_rule(rule: str, learned: int) -> None:
    """39 of the 100 targets repeat the id before: the first of the 40 is an input alone."""
    batch = Loader(Looping(1, length=100), batch=1, repetitions=rule).next()  # type: ignore[arg-type]
    assert batch.mask.sum() == learned
    assert (batch.labels() == -100).sum() == 100 - learned
    assert np.array_equal(batch.labels()[batch.mask], batch.y[batch.mask])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"batch": 0}, "batch 0"),
        ({"batch": 1, "rank": 2, "world_size": 2}, "rank 2 of 2"),
        ({"batch": 1, "repetitions": "drop"}, "keep, mask, mask_sample"),
        ({"batch": 1, "shuffle": "all"}, "blocks, samples, none"),
        ({"batch": 1, "weights": {"x": 1}}, "one above 0 for each of: a, b"),
        ({"batch": 1, "weights": {"a": 1, "b": 0}}, "one above 0 for each of: a, b"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Loader({"a": Numbers(1), "b": Numbers(1)}, **options)  # type: ignore[arg-type]


def test_samples_of_different_lengths_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"\[1, 2\] ids do not make a batch"):
        Loader({"a": Numbers(1), "b": Numbers(1, length=2)}, batch=1)
