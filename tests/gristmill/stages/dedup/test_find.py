"""The exchange that finds copies over all pieces, against slow references."""

import io
import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages.dedup import _pairs, _verdicts, find
from gristmill.stages.dedup._pairs import ALL_PAIRS, groups, pairs_within, with_first, within_groups
from gristmill.stages.dedup._verdicts import STAYS, Found, Verdicts
from gristmill.stages.dedup.records import EDGE, MEMBER, Numbering
from gristmill.types import StageReport


def compared(keys: list[int]) -> list[tuple[int, int]]:
    """The pairs of documents, in their order, that are compared for having one of these keys in common."""
    order = np.argsort(np.array(keys, np.uint64), kind="stable")
    starts, sizes = groups(np.array(keys, np.uint64)[order])
    found = [order[np.stack(part, axis=1)] for part in within_groups(starts, sizes)]
    assert sum(map(len, found)) <= pairs_within(sizes).sum()
    return [(first, second) for part in found for first, second in part.tolist()]


@given(st.lists(st.integers(0, 8), max_size=60))
def test_small_groups_give_every_pair_once(keys: list[int]) -> None:
    """A pair that is never compared is a copy that stays."""
    wanted = [pair for pair in itertools.combinations(range(len(keys)), 2) if keys[pair[0]] == keys[pair[1]]]
    if max([keys.count(key) for key in keys], default=0) <= ALL_PAIRS:
        assert sorted(compared(keys)) == wanted


@dataclass(frozen=True)
class Graph:
    """Documents, which of them are alike, and the keys that they have in two bands of ``minhash`` and in ``exact``."""

    alike: np.ndarray
    bands: list[list[int]]
    exact: list[int]
    order: list[int]
    """By it documents come, then by their number."""
    old: int = 0
    gone: frozenset[int] = frozenset()
    """Documents of the first ``old`` that were dropped when they were new."""

    def first(self, documents: int) -> "Graph":
        return replace(self, exact=self.exact[:documents])

    def edges(self) -> set[tuple[int, int, int]]:
        """Kind and documents of every pair that has a key in common and is a copy."""
        pairs = itertools.permutations(range(len(self.exact)), 2)
        return {
            (kind, a, b)
            for a, b in pairs
            for kind, copies in enumerate(
                [self.exact[a] == self.exact[b], self.alike[a, b] and any(keys[a] == keys[b] for keys in self.bands)]
            )
            if copies
        }

    def turns(self) -> list[int]:
        return sorted(range(len(self.exact)), key=lambda place: (place >= self.old, self.order[place], place))


@st.composite
def graphs(draw: st.DrawFn, most: int = 24) -> Graph:
    size, chance = draw(st.integers(1, most)), np.random.default_rng(draw(st.integers(0, 2**32)))
    alike = np.triu(chance.random((size, size)) < draw(st.sampled_from([0.05, 0.2, 0.5])), 1)
    bands = chance.integers(0, draw(st.integers(1, 3)), (2, size)).tolist()
    exact = chance.integers(0, draw(st.sampled_from([size, 5 * size])), size).tolist()
    order = chance.integers(0, draw(st.sampled_from([1, 3, 100])), size).tolist()
    return Graph(alike=alike | alike.T, bands=bands, exact=exact, order=order)


def reference(graph: Graph) -> set[int]:
    """The documents that stay: every one in its turn, against those that stay already."""
    edges = {(a, b) for _, a, b in graph.edges()}
    kept: set[int] = set()
    for place in graph.turns():
        if place not in graph.gone and (place < graph.old or not any((other, place) in edges for other in kept)):
            kept.add(place)
    return kept


def searched(graph: Graph) -> list[Found]:
    """What the searches find, two for ``minhash``; every key is one band."""
    turns = np.array(graph.turns())

    class ByTable:
        def copies(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
            found: np.ndarray = table[first.astype(int), second.astype(int)]
            return found

        def within(self, nodes: np.ndarray) -> Callable[[int], np.ndarray]:
            return lambda place: self.copies(np.repeat(nodes[place], len(nodes) - place - 1), nodes[place + 1 :])

    found = []
    for number, keys in enumerate([graph.exact, *graph.bands]):
        table = graph.alike if number else np.equal.outer(graph.exact, graph.exact)
        edges, members, sizes = (io.BytesIO() for _ in range(3))
        out = find.Output(edges, members, sizes, not number, ByTable(), 10)  # type: ignore[arg-type]
        there = np.array(keys[: len(graph.exact)])[turns]
        by_key = np.argsort(there, kind="stable")
        out.add(turns[by_key].astype(np.uint64), *groups(there[by_key].astype(np.uint64)))
        out.confirm()
        found.append(
            Found(
                kind=min(number, 1),
                edges=np.frombuffer(edges.getvalue(), EDGE),
                members=np.frombuffer(members.getvalue(), MEMBER),
                sizes=np.frombuffer(sizes.getvalue(), "<i8"),
                copies=lambda a, b, table=table: table[a.astype(int), b.astype(int)],  # type: ignore[misc]
            )
        )
    return found


def settled(graph: Graph, step: int = 3) -> dict[int, tuple[int, int]]:
    """By document that goes: the kind, and the document that it repeats."""
    size = len(graph.exact)
    numbering = Numbering([0], [StageReport(stage="sign", shard=0, fingerprint="", docs_in=size, docs_out=size)])
    state, best = np.zeros(size, np.uint8), np.full(size, STAYS)
    state[list(graph.gone)] = _verdicts.GONE
    order = np.array(graph.order, np.uint64)
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Verdicts(
            numbering=numbering,
            old=graph.old,
            order=lambda nodes: (nodes >= graph.old, order[nodes.astype(int)]),
            state=state,
            best=best,
            step=step,
        )
        verdicts.settle(searched(graph), Path(folder))
    return {place: divmod(int(value), size) for place, value in enumerate(best) if value != STAYS}


def check(graph: Graph) -> None:
    """What goes is what the rule takes, and each names one that stays and came before it, by a pair of its kind."""
    gone, kept, edges = settled(graph), reference(graph), graph.edges()
    assert set(range(graph.old, len(graph.exact))) - set(gone) == kept - set(range(graph.old))
    turns = graph.turns()
    for place, (kind, stays) in gone.items():
        assert stays in kept
        assert turns.index(stays) < turns.index(place)
        assert (kind, stays, place) in edges


@given(graphs())
def test_a_document_goes_only_as_the_copy_of_one_that_stays(graph: Graph) -> None:
    """Of a chain of 40 versions one was left, and 35 of those dropped were like nothing that was published."""
    check(graph)


@given(graphs(), st.integers(1, 5))
def test_large_groups_give_the_verdicts_of_all_pairs(graph: Graph, pairs: int) -> None:
    """In a group that is too large for all pairs a document would be compared only with one that goes itself."""
    with patch.object(_pairs, "ALL_PAIRS", pairs), patch.object(find, "ALL_PAIRS", pairs):
        check(graph)


@given(graphs(), st.data(), st.integers(1, 40))
def test_what_earlier_generations_decided_is_not_decided_again(graph: Graph, data: st.DataObject, pairs: int) -> None:
    """A document that was dropped in March would take a new one with it, and nothing like it was ever published."""
    old = data.draw(st.integers(0, len(graph.exact)))
    gone = data.draw(st.frozensets(st.integers(0, max(0, old - 1)), max_size=old))
    with patch.object(_pairs, "ALL_PAIRS", pairs), patch.object(find, "ALL_PAIRS", pairs):
        check(replace(graph, old=old, gone=gone if old else frozenset()))


@given(graphs(), st.data(), st.integers(1, 40))
def test_what_follows_changes_no_verdict(graph: Graph, data: st.DataObject, pairs: int) -> None:
    """A document that is published one night and a copy the next: three nights would not make what one run makes."""
    graph = replace(graph, order=[0] * len(graph.exact))
    part = data.draw(st.integers(1, len(graph.exact)))
    with patch.object(_pairs, "ALL_PAIRS", pairs), patch.object(find, "ALL_PAIRS", pairs):
        early, late = settled(graph.first(part)), settled(graph)
    assert early == {place: repeats for place, repeats in late.items() if place < part}


def chain(length: int) -> Graph:
    """Versions of which each is like the next two."""
    alike = np.zeros((length, length), bool)
    for step in (1, 2):
        places = np.arange(length - step)
        alike[places, places + step] = alike[places + step, places] = True
    return Graph(alike=alike, bands=[[0] * length, [1] * length], exact=list(range(length)), order=[0] * length)


@pytest.mark.parametrize("length", [20, ALL_PAIRS, ALL_PAIRS + 1, 300])
def test_of_a_chain_of_versions_those_stay_that_are_unlike(length: int) -> None:
    """In one group of keys, small or large, every third version is kept, and each dropped one names a neighbour."""
    gone = settled(chain(length), 50)
    assert sorted(set(range(length)) - set(gone)) == list(range(0, length, 3))
    assert all(stays < place <= stays + 2 for place, (_, stays) in gone.items())


def test_an_exact_copy_of_a_near_copy_is_judged_by_itself() -> None:
    """Two pages of one address: the first is a copy of another page; the second one is like nothing that stays."""
    alike = np.zeros((4, 4), bool)
    alike[0, 1] = alike[1, 0] = True
    graph = Graph(alike=alike, bands=[[0] * 4, [0] * 4], exact=[7, 5, 5, 5], order=[0] * 4)
    assert settled(graph) == {1: (1, 0), 3: (0, 2)}


@pytest.mark.parametrize("size", [ALL_PAIRS + 1, 5000])
def test_a_page_that_is_everywhere_does_not_cost_the_square_of_its_copies(size: int) -> None:
    """A million copies of a page would be compared with each other until the disk is full."""
    compared = []

    class Alike:
        def copies(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
            compared.append(len(second))
            return np.ones(len(second), bool)

        def within(self, nodes: np.ndarray) -> Callable[[int], np.ndarray]:
            return lambda place: self.copies(nodes, nodes[place + 1 :])

    out = find.Output(*(io.BytesIO() for _ in range(3)), star=False, comparison=Alike(), together=1000)  # type: ignore[arg-type]
    out.add(np.arange(size, dtype=np.uint64), np.zeros(1, np.int64), np.array([size]))
    out.confirm()
    assert sum(compared) == size - 1 + ALL_PAIRS * (ALL_PAIRS - 1) // 2


@given(st.lists(st.integers(0, 8), max_size=60))
def test_equal_documents_are_compared_with_their_first(keys: list[int]) -> None:
    keys.sort()
    first, second = with_first(*groups(np.array(keys, np.uint64)))
    assert second.tolist() == [number for number, key in enumerate(keys) if keys.index(key) < number]
    assert first.tolist() == [keys.index(keys[number]) for number in second]
