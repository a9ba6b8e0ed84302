"""Which documents of a source are published, how often, and where their copies go."""

from collections.abc import Callable, Iterator
from itertools import count
from math import gcd

import msgspec
import numpy as np

from gristmill.types import StageReport, Value

GOLDEN = 0x9E3779B97F4A7C15
"""2**64 over the golden ratio: the step of splitmix64."""

CHOSEN = 0x6D6978206F6E6365
"""Keys the hash that documents are chosen by, so that it says nothing of their order."""

BINS = 1 << 16
"""Of the histogram of hashes: a threshold is refined among one document in 65,536 of its source."""


def hashes(keys: np.ndarray, salt: int) -> np.ndarray:
    """uint64: splitmix64 (Steele, Lea, Flood 2014) of the order keys under a salt. Keys that are places in the order
    are spread as well as those that are hashes."""
    with np.errstate(over="ignore"):
        mixed: np.ndarray = (keys ^ np.uint64(salt)) + np.uint64(GOLDEN)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = mixed ^ (mixed >> np.uint64(31))
    return found


class Cut(Value, frozen=True, kw_only=True):
    """The first document in the order of (hash, piece, row) that is not chosen; piece and row part equal texts, whose
    hashes are equal."""

    hash: int = 0
    place: int = 0
    row: int = 0

    def chosen(self, keys: np.ndarray, place: int, rows: np.ndarray) -> np.ndarray:
        """bool: which documents of the piece number ``place`` come before it."""
        found, limit = hashes(keys, CHOSEN), np.uint64(self.hash)
        before: np.ndarray = found < limit
        if place > self.place:
            return before
        equal = found == limit
        chosen: np.ndarray = before | (equal if place < self.place else equal & (rows < self.row))
        return chosen


class Choice(Value, frozen=True, kw_only=True):
    """What is published of a source: all documents ``whole`` times, those before ``cut`` once more."""

    whole: int
    cut: Cut = Cut()

    @property
    def copies(self) -> int:
        """How often its documents are published at most."""
        return self.whole + (self.cut != Cut())


Column = Callable[[], Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]]
"""Gives the (number of the piece, order keys, rows, lengths) of the documents of a source, piece by piece, anew at each
call."""


def choose(documents: Column, supply: int, target: int, most: int) -> Choice:
    """The choice whose tokens come closest to ``target`` without passing ``most``, of a source of ``supply``.

    A larger target never takes a document away: documents come in one order, whatever the target is.
    """
    whole, rest = divmod(target, supply) if supply else (0, 0)
    return Choice(whole=whole, cut=_cut(documents, rest, most - whole * supply) if rest else Cut())


def _cut(documents: Column, wanted: int, most: int) -> Cut:
    """Find the bin of hashes in which the wanted number of tokens is reached, then the document in it."""
    sizes = np.zeros(BINS, np.int64)
    for _, keys, _, lengths in documents():
        bins = (hashes(keys, CHOSEN) >> np.uint64(48)).astype(np.int64)
        sizes += np.bincount(bins, lengths, BINS).astype(np.int64)  # exact up to 2**53
    ends = np.cumsum(sizes)
    place = int(np.searchsorted(ends, wanted, "right"))
    inside = _within(documents, place)
    sums = int(ends[place] - sizes[place]) + np.concatenate([[0], np.cumsum(inside["length"], dtype=np.int64)])
    sums = sums[: max(1, int(np.searchsorted(sums, most, "right")))]
    first = int(np.argmin(np.abs(sums - wanted)))
    if first == len(inside):
        last = inside[-1]
        return Cut(hash=int(last["hash"]), place=int(last["place"]), row=int(last["row"]) + 1)
    record = inside[first]
    return Cut(hash=int(record["hash"]), place=int(record["place"]), row=int(record["row"]))


def _within(documents: Column, number: int) -> np.ndarray:
    """The documents of a bin, in the order in which they are chosen."""
    form = np.dtype([("hash", "u8"), ("place", "u4"), ("row", "u4"), ("length", "u4")])
    found = [np.empty(0, form)]
    for place, keys, rows, lengths in documents():
        values = hashes(keys, CHOSEN)
        here = np.flatnonzero(values >> np.uint64(48) == np.uint64(number))
        records = np.empty(len(here), form)
        records["hash"], records["place"], records["row"] = values[here], place, rows[here]
        records["length"] = lengths[here]
        found.append(records)
    every = np.concatenate(found)
    ordered: np.ndarray = every[np.lexsort((every["row"], every["place"], every["hash"]))]
    return ordered


class Copy(Value, frozen=True, kw_only=True):
    """Documents of a bucket that come to stand in a bucket, some perhaps, for the first time or once more."""

    number: int
    """0 for the first time."""
    bucket: int
    """Where they are in the index."""
    first: int
    """The first key of the bucket to which they go, and how many keys it has."""
    width: int
    cut: Cut | None
    """None: all of them."""

    def chosen(self, keys: np.ndarray, place: int, rows: np.ndarray) -> np.ndarray | slice:
        """Which documents of the piece number ``place``."""
        return slice(None) if self.cut is None else self.cut.chosen(keys, place, rows)

    def keys(self, keys: np.ndarray) -> np.ndarray:
        """Their order keys: for a repetition others, spread over the bucket."""
        if not self.number:
            return keys
        shares = (hashes(keys, self.number * GOLDEN % 2**64) >> np.uint64(12)).astype(np.float64) * 2.0**-52
        return np.uint64(self.first) + (shares * self.width).astype(np.uint64)


class Mixing:
    """What a ``mix`` report says of the pieces. Validation has the first half of the buckets and is not mixed."""

    def __init__(self, report: StageReport) -> None:
        details = report.details
        self._choices = {label: msgspec.convert(row["choice"], Choice) for label, row in details["sources"].items()}
        self._sources: list[str] = details["labels"]
        self._buckets: int = details["buckets"]
        self._key_space: int = details["last_key"] + 1

    def copies(self, bucket: int, place: int) -> list[Copy]:
        """What of the piece number ``place`` comes to stand in a bucket."""
        if bucket < self._buckets:
            return [unmixed(bucket)]
        choice = self._choices.get(self._sources[place], Choice(whole=0))
        to = bucket - self._buckets
        first, end = (number * self._key_space // self._buckets for number in (to, to + 1))
        return [
            Copy(
                number=number,
                bucket=self._buckets + (to - number * stride(self._buckets)) % self._buckets,
                first=first,
                width=end - first,
                cut=None if number < choice.whole else choice.cut,
            )
            for number in range(choice.copies)
        ]


def mixing_of(report: StageReport | None) -> Mixing | None:
    """None where nothing is mixed."""
    return None if report is None else Mixing(report)


def unmixed(bucket: int) -> Copy:
    """All documents of a bucket, where they are."""
    return Copy(number=0, bucket=bucket, first=0, width=0, cut=None)


def stride(buckets: int) -> int:
    """How many buckets further each copy of a document goes: as many copies as there are buckets are all in different
    ones, and those that follow each other far apart."""
    return next(step for step in count(max(1, round(0.382 * buckets))) if gcd(step, buckets) == 1)
