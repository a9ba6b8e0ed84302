"""Which documents a source gives, for any number of tokens wanted."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.stages.tokens._choice import Choice, Copy, Cut, choose, hashes, stride

KEYS = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 3), st.integers(0, 200))
DOCUMENTS = st.lists(st.tuples(KEYS, st.integers(1, 5000)), min_size=1, max_size=60)
Piece = tuple[np.ndarray, np.ndarray, np.ndarray]


def pieces(documents: list[tuple[int, int]], size: int) -> list[Piece]:
    """Keys, rows and lengths of pieces of so many documents."""
    keys = np.array([key for key, _ in documents], np.uint64)
    lengths = np.array([length for _, length in documents], np.uint32)
    cuts = [slice(start, start + size) for start in range(0, len(keys), size)]
    return [(keys[cut], np.arange(len(keys[cut]), dtype=np.uint32), lengths[cut]) for cut in cuts]


def chosen(made: list[Piece], target: int, most: int | None = None) -> Choice:
    def read() -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        for place, (keys, rows, lengths) in enumerate(made):
            yield place, keys, rows, lengths

    supply = sum(int(lengths.sum()) for *_, lengths in made)
    return choose(read, supply, target, target if most is None else most)


def times(made: list[Piece], choice: Choice) -> np.ndarray:
    """How often each document is published."""
    found = [choice.whole + choice.cut.chosen(keys, place, rows) for place, (keys, rows, _) in enumerate(made)]
    return np.concatenate(found)


def sizes(documents: list[tuple[int, int]]) -> np.ndarray:
    return np.array([length for _, length in documents], np.int64)


@settings(deadline=None, max_examples=50)
@given(DOCUMENTS, st.floats(0, 4), st.integers(1, 60))
def test_the_tokens_are_those_wanted_to_within_a_document(
    documents: list[tuple[int, int]], weight: float, size: int
) -> None:
    """Whatever the keys are, equal ones too: independent coin flips would miss by the square root of their number."""
    lengths, made = sizes(documents), pieces(documents, size)
    target = int(weight * lengths.sum())
    found = times(made, chosen(made, target, most=int(lengths.sum()) * 5))
    assert abs(int((found * lengths).sum()) - target) * 2 <= lengths.max()
    assert set(found.tolist()) <= {target // lengths.sum(), target // lengths.sum() + 1}


@settings(deadline=None, max_examples=50)
@given(DOCUMENTS, st.floats(0, 4))
def test_a_limit_on_repetition_is_never_passed(documents: list[tuple[int, int]], weight: float) -> None:
    lengths, made = sizes(documents), pieces(documents, 7)
    most = int(weight * lengths.sum())
    for target in (most, max(0, most - 1), most // 2):
        assert int((times(made, chosen(made, target, most)) * lengths).sum()) <= most


@settings(deadline=None, max_examples=50)
@given(DOCUMENTS, st.lists(st.floats(0, 3), min_size=2, max_size=5))
def test_a_smaller_total_takes_a_part_of_what_a_larger_one_takes(
    documents: list[tuple[int, int]], weights: list[float]
) -> None:
    """A model trained on less must not have seen what one trained on more has not."""
    lengths, made = sizes(documents), pieces(documents, 11)
    several = [times(made, chosen(made, int(weight * lengths.sum()), 10**9)) for weight in sorted(weights)]
    for smaller, larger in pairwise(several):
        assert (smaller <= larger).all()


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(KEYS, st.integers(1, 5000), min_size=1, max_size=60), st.floats(0, 2), st.data())
def test_the_choice_depends_on_keys_alone(table: dict[int, int], weight: float, data: Any) -> None:
    """Pieces in another order, or cut otherwise, give the same documents."""
    shuffled = data.draw(st.permutations(list(table.items())))
    target = int(weight * sum(table.values()))
    seen = []
    for documents, size in ((list(table.items()), 60), (shuffled, data.draw(st.integers(1, 60)))):
        made = pieces(documents, size)
        found = times(made, chosen(made, target, 10**9)).tolist()
        seen.append({key: count for (key, _), count in zip(documents, found, strict=True)})
    assert seen[0] == seen[1]


def test_equal_texts_are_parted() -> None:
    """Without dedup one page may be there a million times; all or none of it would miss any target."""
    documents = [(7, 10)] * 100
    made = pieces(documents, 30)
    assert int(times(made, chosen(made, 450)).sum()) == 45


def test_above_ten_million_tokens_the_deviation_is_far_below_half_a_percent() -> None:
    """Lengths with a heavy tail, as real documents have; keys that are hashes, and places in the order."""
    random = np.random.default_rng(5)
    lengths = np.minimum(random.pareto(1.2, 20_000) * 300 + 20, 200_000).astype(np.int64)
    assert lengths.sum() > 10_000_000
    for keys in (random.integers(0, 2**63, 20_000), np.arange(20_000)):
        documents = list(zip(keys.tolist(), lengths.tolist(), strict=True))
        made = pieces(documents, 5_000)
        for weight in (0.01, 0.18, 0.67, 2.34):
            target = int(weight * lengths.sum())
            published = int((times(made, chosen(made, target, 10**12)) * lengths).sum())
            assert abs(published / target - 1) < 0.005


def test_the_choice_says_nothing_of_the_order() -> None:
    """Chosen by the order key itself, a source would stand at the front of the stream and end in its middle."""
    keys = np.sort(np.random.default_rng(1).integers(0, 2**63, 40_000).astype(np.uint64))
    for ordered in (keys, np.arange(40_000, dtype=np.uint64)):
        made = [(ordered, np.arange(40_000, dtype=np.uint32), np.full(40_000, 10, np.uint32))]
        found = times(made, chosen(made, 100_000))
        quarters = [part.mean() for part in np.split(found, 4)]
        assert max(abs(np.array(quarters) - 0.25)) < 0.02


def test_splitmix_is_the_published_one() -> None:
    """First outputs for the seed 1234567, as listed with the generator's reference code."""
    state = np.array([1234567], np.uint64)
    assert hashes(state, 0).tolist() == [6457827717110365317]


@given(st.integers(1, 4096))
def test_copies_go_to_different_buckets(buckets: int) -> None:
    """Two copies in one bucket are seen by a model shortly after one another."""
    places = Counter(number * stride(buckets) % buckets for number in range(min(buckets, 40)))
    assert set(places.values()) == {1}
    if buckets > 20:
        assert min(stride(buckets), buckets - stride(buckets)) > buckets / 5


def test_keys_of_copies_stay_in_their_bucket_and_are_spread_over_it() -> None:
    keys = np.arange(1000, dtype=np.uint64)
    for first, width in ((0, 2**64), (2**63, 2**63), (5000, 1000)):
        seen = []
        for number in (1, 2):
            copy = Copy(number=number, bucket=0, first=first, width=width, cut=None)
            places = (copy.keys(keys) - np.uint64(first)).astype(np.float64) / width
            assert places.max() < 1
            assert abs(places.mean() - 0.5) < 0.05
            seen.append(places)
        assert abs(np.corrcoef(seen)[0, 1]) < 0.1
    original = Copy(number=0, bucket=0, first=5, width=5, cut=Cut())
    assert original.keys(keys) is keys
