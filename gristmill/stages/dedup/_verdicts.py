"""Which documents stay: one goes when another one that stays and comes before it is its copy.

The rule takes documents in their turn. Two passes over all pairs settle nearly all of them without that: a document
without an earlier copy stays, and the copies of such documents go. The pairs that are left, mostly chains of versions,
are sorted by the turn of their first document and taken one by one.
"""

import heapq
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gristmill.stages.dedup._pairs import LEADERS, places_within, portions
from gristmill.stages.dedup.records import Numbering
from gristmill.storage import disk
from gristmill.types import Value

STAYS = np.iinfo(np.int64).max
"""``best`` of a document that stays."""

GONE = 1
UNSURE = 2
"""Bits of ``state``. Unsure is what has an earlier copy, or an earlier document in a group of which not all pairs were
compared."""

LEFT = np.dtype([("class", ">u4"), ("hash", ">u8"), ("first", ">u8"), ("second", ">u8")])
"""A pair that waits for the turn of ``first``. Compared as bytes, records are in the order of turns."""


class Found(Value, frozen=True, kw_only=True):
    """What one search wrote, and how it compares."""

    kind: int
    edges: np.ndarray
    members: np.ndarray
    sizes: np.ndarray
    copies: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Of two arrays of nodes, which pairs are copies."""


class Turn(NamedTuple):
    """When a document is asked whether others of its group are its copies, and which group and document that is."""

    order: tuple[int, int, int]
    """Class, hash and number of the document."""
    search: int
    start: int
    stop: int
    at: int
    """Its place in the group."""
    asked: int
    """Documents of the group that were asked before it."""


class Verdicts(Value, frozen=True, kw_only=True):
    """All documents, by number, and what is known of them."""

    numbering: Numbering
    old: int
    """Documents of earlier data, the first numbers: they were decided before."""
    order: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Class and hash of nodes. Documents come in the order of class, hash and number."""
    state: np.ndarray
    """uint8; of documents that were decided before it says ``GONE`` or nothing, of all others nothing."""
    best: np.ndarray
    """int64, filled with ``STAYS``; in the end, of a document that goes, ``kind * documents + number`` of the first one
    that stays in its place: of the first kind that found any."""
    step: int
    """Pairs taken into memory together."""

    def settle(self, found: list[Found], folder: Path) -> None:
        """Fill in ``state`` and ``best``; ``folder`` takes a file without a name."""
        self._doubt(found)
        with disk.translated(folder), tempfile.TemporaryFile(dir=folder) as left:
            for _, edges, first, second in self._pairs(found):
                left.write(self._left(edges, first, second).tobytes())
            left.flush()
            turns = list(self._turns(found))
            heapq.heapify(turns)
            if left.tell():
                pairs = np.memmap(left, LEFT, "r+")
                pairs.view(f"S{LEFT.itemsize}").sort()
                self._take(pairs, turns, found)
        while turns:
            self._ask(turns, found)
        self._name(found)

    def _doubt(self, found: list[Found]) -> None:
        """Mark what cannot be said to stay at once."""
        for _, _, _, second in self._pairs(found):
            self.state[second] |= UNSURE
        for search in found:
            for starts, sizes in _portions(search, self.step):
                later = self.numbering.of(search.members["node"][places_within(starts + 1, sizes - 1)])
                self.state[later[later >= self.old]] |= UNSURE

    def _left(self, edges: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Take the copies of what stays for sure away; returns the pairs that need their turn."""
        self.state[second[self.state[first] == 0]] |= GONE
        waits = (self.state[first] == UNSURE) & (self.state[second] & GONE == 0)
        found = np.empty(np.count_nonzero(waits), LEFT)
        found["class"], found["hash"] = self.order(edges["first"][waits])
        found["first"], found["second"] = first[waits], second[waits]
        return found

    def _take(self, pairs: np.ndarray, turns: list[Turn], found: list[Found]) -> None:
        state = self.state.data
        for start in range(0, len(pairs), self.step):
            for *order, second in pairs[start : start + self.step].tolist():
                while turns and turns[0].order <= tuple(order):
                    self._ask(turns, found)
                if not state[order[2]] & GONE:
                    state[second] |= GONE

    def _turns(self, found: list[Found]) -> Iterator[Turn]:
        """The groups in which a document that has a leader is still there, and a later one too."""
        for number, search in enumerate(found):
            for starts, sizes in _portions(search, self.step):
                members = search.members[int(starts[0]) : int(starts[-1] + sizes[-1])]
                numbers, places = self.numbering.of(members["node"]), np.arange(len(members))
                there = self.state[numbers] & GONE == 0
                bounds = starts - starts[0]
                at = np.minimum.reduceat(np.where(there & members["led"], places, len(members)), bounds)
                last = np.maximum.reduceat(np.where(there & (numbers >= self.old), places, -1), bounds)
                for group in np.flatnonzero(at < last).tolist():
                    start, stop = int(starts[group]), int(starts[group] + sizes[group])
                    yield self._turn(search, number, start, stop, int(at[group] - bounds[group]), 0)

    def _turn(self, search: Found, number: int, start: int, stop: int, at: int, asked: int) -> Turn:
        node = search.members["node"][start + at : start + at + 1]
        (kind,), (hashed,) = self.order(node)
        order = int(kind), int(hashed), int(self.numbering.of(node)[0])
        return Turn(order, number, start, stop, at, asked)

    def _ask(self, turns: list[Turn], found: list[Found]) -> None:
        """Compare the document whose turn it is with the later ones of its group that are still there, if it stays."""
        turn = heapq.heappop(turns)
        search, asked = found[turn.search], turn.asked
        members = search.members[turn.start + turn.at : turn.stop]
        numbers = self.numbering.of(members["node"])
        there = self.state[numbers] & GONE == 0
        later = np.flatnonzero(there & (numbers >= self.old))
        later = later[later > 0]
        if there[0] and len(later):
            copies = search.copies(np.broadcast_to(members["node"][0], len(later)), members["node"][later])
            gone, later, asked = numbers[later[copies]], later[~copies], asked + 1
            self.state[gone] |= GONE
            there = self.state[numbers] & GONE == 0
            self.best[gone] = np.minimum(self.best[gone], search.kind * len(self.numbering) + numbers[0])
        heads = np.flatnonzero(there & members["led"])
        heads = heads[heads > 0]
        if len(heads) and len(later) and heads[0] < later[-1] and asked < LEADERS:
            next_at = turn.at + int(heads[0])
            heapq.heappush(turns, self._turn(search, turn.search, turn.start, turn.stop, next_at, asked))

    def _name(self, found: list[Found]) -> None:
        """Note what stays in the place of each document that goes."""
        for kind, _, first, second in self._pairs(found):
            named = (self.state[first] & GONE == 0) & (self.state[second] & GONE != 0)
            np.minimum.at(self.best, second[named], kind * len(self.numbering) + first[named])

    def _pairs(self, found: list[Found]) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Kind, ``EDGE`` records and the numbers in them, where the second document is not decided yet."""
        for search in found:
            for start in range(0, len(search.edges), self.step):
                edges = search.edges[start : start + self.step]
                first, second = self.numbering.of(edges["first"]), self.numbering.of(edges["second"])
                new = second >= self.old
                yield search.kind, edges[new], first[new], second[new]


def _portions(search: Found, step: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Starts and sizes of the groups of a search, some at a time."""
    sizes = np.asarray(search.sizes)
    return portions(np.cumsum(sizes) - sizes, sizes, step)
