"""Orders of samples that are computed and never stored: the sample at any place of any epoch, at once."""

from typing import Literal, get_args

import numpy as np

from gristmill.errors import ConfigError, alternatives

Shuffle = Literal["blocks", "samples", "none"]

OPEN_BLOCKS = 16
"""Blocks whose samples are mixed with one another under ``blocks``."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = [np.uint64(number * int(_GOLDEN) % 2**64) for number in range(6)]


def mixed(values: np.ndarray) -> np.ndarray:
    """uint64, each the splitmix64 finalizer of a uint64: every bit depends on all."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = values ^ (values >> np.uint64(31))
    return found


def keyed(seed: int, *parts: np.ndarray | int) -> np.ndarray:
    """uint64 keys, one for each combination of the parts."""
    found = mixed(np.array([seed % 2**64], np.uint64) + _GOLDEN)
    for part in parts:
        # times an odd number, or (seed, epoch) and (epoch, seed) would have the same key
        found = mixed(found * _GOLDEN + mixed(np.atleast_1d(part).astype(np.uint64) + _GOLDEN))
    return found


def permuted(places: np.ndarray, sizes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """int64: where each place, in ``0 .. size - 1``, goes in the permutation of its ``size`` that its ``key`` names.

    A Feistel network of six rounds over the next even power of two, walked until it comes back into range, which takes
    four steps at most on average: no memory, whatever the size. All three arrays are of one length.
    """
    half = np.array([max(1, ((int(size) - 1).bit_length() + 1) // 2) for size in np.unique(sizes)], np.uint64)
    bits = half[np.searchsorted(np.unique(sizes), sizes)]
    mask = (np.uint64(1) << bits) - np.uint64(1)
    values, limits = places.astype(np.uint64), sizes.astype(np.uint64)
    todo = np.arange(len(values))
    while len(todo):
        left, right = values[todo] >> bits[todo], values[todo] & mask[todo]
        for constant in _ROUNDS:
            turned = mixed(right + keys[todo] + constant)
            left, right = right, left ^ (turned & mask[todo])
        values[todo] = left << bits[todo] | right
        todo = todo[values[todo] >= limits[todo]]
    return values.astype(np.int64)


class Order:
    """The samples of every epoch, one epoch after the other: each place has one sample, and every epoch has each once.

    blocks: int64, how many samples each block has, none of them 0: samples of a block lie together in the file.
    shuffle: ``samples`` puts any sample at any place. ``blocks`` shuffles the blocks, and then the samples of 16 at a
    time, so that what is read at a time lies in few places. ``none`` keeps the order of the files.
    """

    def __init__(self, blocks: np.ndarray, *, seed: int, shuffle: Shuffle) -> None:
        if shuffle not in get_args(Shuffle):
            raise ConfigError(f"shuffle: {shuffle!r}; {alternatives(shuffle, get_args(Shuffle))}")
        self._first = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
        self._sizes, self._seed, self._shuffle = blocks.astype(np.int64), seed, shuffle
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return int(self._first[-1])

    def at(self, places: np.ndarray) -> np.ndarray:
        """int64: the sample at each place, counted from the start of the first epoch."""
        epochs, within = np.divmod(places, len(self))
        if self._shuffle == "none":
            return within
        if self._shuffle == "samples":
            return permuted(within, np.full(len(within), len(self)), keyed(self._seed, epochs))
        found = np.empty(len(places), np.int64)
        for epoch in np.unique(epochs).tolist():
            here = epochs == epoch
            found[here] = self._in_blocks(epoch, within[here])
        return found

    def _in_blocks(self, epoch: int, places: np.ndarray) -> np.ndarray:
        blocks, edges = self._blocks(epoch)
        group = (np.searchsorted(edges, places, "right") - 1) // OPEN_BLOCKS
        first = edges[group * OPEN_BLOCKS]
        sizes = edges[np.minimum((group + 1) * OPEN_BLOCKS, len(blocks))] - first
        turned = first + permuted(places - first, sizes, keyed(self._seed, epoch, group + 1))
        slot = np.searchsorted(edges, turned, "right") - 1
        found: np.ndarray = self._first[blocks[slot]] + turned - edges[slot]
        return found

    def _blocks(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The blocks in the order of an epoch, and at which place each begins: 16 bytes a block."""
        if self._epoch is None or self._epoch[0] != epoch:
            count = len(self._sizes)
            keys = np.repeat(keyed(self._seed, epoch, 0), count)
            blocks = permuted(np.arange(count), np.full(count, count), keys)
            self._epoch = epoch, blocks, np.concatenate([[0], np.cumsum(self._sizes[blocks])])
        return self._epoch[1:]
