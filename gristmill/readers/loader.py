"""Batches for one rank of a training run, in an order that a few numbers restore."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from gristmill.errors import ConfigError, alternatives
from gristmill.readers._permutation import Order, Shuffle, keyed
from gristmill.readers._samples import Read, Samples
from gristmill.text.repeats import repeated

Repetitions = Literal["keep", "mask", "mask_sample"]

_Drawn = tuple[Samples, np.ndarray, np.ndarray]

SLOTS = 1 << 12
"""Places after which a mixture repeats itself: shares are met to 0.02 % over them."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """``x`` and ``y``, int64 (batch, length): ``y[:, i]`` is the id after ``x[:, i]``. ``mask``, bool: the targets to
    learn."""

    x: np.ndarray
    y: np.ndarray
    mask: np.ndarray

    def labels(self, ignore: int = -100) -> np.ndarray:
        """``y`` with ``ignore`` where there is nothing to learn, as cross-entropy functions take it."""
        return np.where(self.mask, self.y, ignore)


class Loader:
    """Samples epoch after epoch, each exactly once an epoch over all ranks, ``batch`` at a time for each rank.

    samples: ``Windows``, ``Documents`` or ``Rows``, or several by name.
    weights: of several, their shares of the samples, met at every point to within some; each goes through its own
        epochs. Default: equal.
    seed, shuffle: of the order, as ``Order`` has it.
    repetitions: what becomes of targets where 32 or more repeats of up to 13 ids stand: ``keep``; ``mask`` does not
        learn them; ``mask_sample``, the rule of OLMo, learns nothing of the whole sample.

    The next sample to read is one number, the same for all ranks: ``state_dict`` has it, and what the order depends on.
    A step over all ranks takes ``batch * world_size`` samples; a batch may hold the end of an epoch and the start of
    the next. Raises ``ConfigError``.
    """

    def __init__(
        self,
        samples: Samples | Mapping[str, Samples],
        *,
        batch: int,
        weights: Mapping[str, float] | None = None,
        seed: int = 0,
        shuffle: Shuffle = "blocks",
        rank: int = 0,
        world_size: int = 1,
        repetitions: Repetitions = "keep",
    ) -> None:
        if batch < 1 or not 0 <= rank < world_size:
            raise ConfigError(
                f"batch {batch}, rank {rank} of {world_size}: expected a batch of 1 or more, 0 <= rank < of"
            )
        if repetitions not in get_args(Repetitions):
            raise ConfigError(f"repetitions: {repetitions!r}; {alternatives(repetitions, get_args(Repetitions))}")
        named = dict(samples) if isinstance(samples, Mapping) else {"": samples}
        if len({found.length for found in named.values()}) != 1:
            raise ConfigError(f"samples of {[found.length for found in named.values()]} ids do not make a batch")
        self.batch, self.rank, self.world_size = batch, rank, world_size
        self._samples, self._repetitions = list(named.values()), repetitions
        self._orders = [
            Order(found.blocks, seed=int(keyed(seed, place)[0]), shuffle=shuffle)
            for place, found in enumerate(self._samples)
        ]
        self._mixture = _Mixture(_shares(list(named), weights))
        self._content = _content(named, self._mixture, seed, shuffle)
        self._position = 0
        self._coming: list[_Drawn] = []

    @property
    def epoch(self) -> float:
        """How often the samples were read; of a mixture, those of which the most was."""
        counts = self._mixture.counts(self._position)
        return max(count / len(order) for count, order in zip(counts, self._orders, strict=True))

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield self.next()

    def next(self) -> Batch:
        """The next batch of this rank."""
        found = self._read(self._coming or self._chosen())
        self._position += self.batch * self.world_size
        self._coming = self._chosen()
        for samples, _, numbers in self._coming:
            samples.expect(numbers)
        mask = found.mask
        if self._repetitions != "keep":
            marks = repeated(found.ids) & found.mask
            mask = mask & ~(marks if self._repetitions == "mask" else marks.any(axis=1, keepdims=True))
        return Batch(x=found.ids[:, :-1], y=found.ids[:, 1:], mask=mask[:, 1:])

    def state_dict(self) -> dict[str, Any]:
        """Enough to go on with the very next sample, as plain values; the same for all ranks."""
        return {"position": self._position, "content": self._content}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a loader left off: one of the same samples in the same order; its batch and its ranks may differ.

        Raises ``ConfigError`` when it read other ids, or in another order.
        """
        if state.get("content") != self._content:
            raise ConfigError(
                "this state is of other data, or of another length, seed, shuffle or mixture; where the data set has "
                "grown since, give the reader the number of its generations then"
            )
        self._position = int(state["position"])
        self._coming = []

    def _chosen(self) -> list[_Drawn]:
        """What the next batch draws: for each of the samples which rows of the batch, and the numbers."""
        names, counts = self._mixture.at(self._position + self.rank * self.batch + np.arange(self.batch))
        found = []
        for number in np.unique(names).tolist():
            here = np.flatnonzero(names == number)
            found.append((self._samples[number], here, self._orders[number].at(counts[here])))
        return found

    def _read(self, drawn: list[_Drawn]) -> Read:
        parts = [(here, samples.read(numbers)) for samples, here, numbers in drawn]
        if len(parts) == 1:
            return parts[0][1]
        ids = np.empty((self.batch, self._samples[0].length + 1), np.int64)
        mask = np.empty(ids.shape, bool)
        for here, part in parts:
            ids[here], mask[here] = part.ids, part.mask
        return Read(ids=ids, mask=mask)


class _Mixture:
    """Which of several things has each place, at any place at once: a pattern of ``SLOTS`` that repeats, in which each
    stands at even distances."""

    def __init__(self, shares: np.ndarray) -> None:
        self._quota = _quotas(shares, SLOTS if len(shares) > 1 else 1)
        names = np.repeat(np.arange(len(shares)), self._quota)
        ordinals = np.concatenate([np.arange(quota) for quota in self._quota])
        self._names = names[np.argsort((ordinals + 0.5) / self._quota[names], kind="stable")]
        seen = self._names[:, None] == np.arange(len(shares))
        self._before = np.concatenate([np.zeros((1, len(shares)), np.int64), np.cumsum(seen, axis=0)])

    @property
    def quotas(self) -> list[int]:
        """Of each, how many slots."""
        return [int(quota) for quota in self._quota]

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each place has, and how many places before it have the same."""
        turns, slots = np.divmod(places, len(self._names))
        names = self._names[slots]
        return names, turns * self._quota[names] + self._before[slots, names]

    def counts(self, position: int) -> list[int]:
        """How often each was drawn before a place."""
        turns, slot = divmod(position, len(self._names))
        return [int(count) for count in turns * self._quota + self._before[slot]]


def _quotas(shares: np.ndarray, slots: int) -> np.ndarray:
    """int64, ``slots`` in all: by largest remainder, none below 1."""
    exact = shares / shares.sum() * slots
    found: np.ndarray = np.maximum(1, np.floor(exact)).astype(np.int64)
    while found.sum() != slots:
        step = 1 if found.sum() < slots else -1
        error = np.where((found > 1) | (step > 0), (exact - found) * step, -np.inf)
        found[int(error.argmax())] += step
    return found


def _shares(names: list[str], weights: Mapping[str, float] | None) -> np.ndarray:
    if weights is None:
        return np.ones(len(names))
    if set(weights) != set(names) or not all(0 < weight < float("inf") for weight in weights.values()):
        raise ConfigError(f"weights {dict(weights)}: expected one above 0 for each of: {', '.join(names)}")
    if len(names) > SLOTS:
        raise ConfigError(f"{len(names)} kinds of samples; a mixture has at most {SLOTS}")
    return np.array([weights[name] for name in names], np.float64)


def _content(named: dict[str, Samples], mixture: _Mixture, seed: int, shuffle: str) -> str:
    digest = hashlib.sha256(repr((seed, shuffle, mixture.quotas)).encode())
    for name, samples in named.items():
        digest.update(repr((name, samples.content)).encode())
    return digest.hexdigest()
