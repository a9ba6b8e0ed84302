import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, sample, strings

from gristmill.cleaning import _characters, _hashing, _repeats, _table_filter
from gristmill.cleaning._tables import Pieces, Tables

COMMON = pytest.mark.parametrize("kind", ["words", "lines", "paragraphs"])


def pieces(texts: "tuple[str, ...] | list[str]", kind: str) -> list[list[str]]:
    """The pieces of each text, cut out by the tables' places."""
    found: list[list[str]] = []
    for part in _table_filter.tables(strings(texts)):
        characters = part.utf8.data.tobytes().decode()
        table: Pieces = getattr(part, kind)
        cut = [characters[a:b] for a, b in zip(table.starts.tolist(), table.stops.tolist(), strict=True)]
        firsts = table.firsts.tolist()
        found += [cut[a:b] for a, b in pairwise(firsts)]
    return found


@COMMON
def test_pieces_of_real_and_odd_documents(kind: str) -> None:
    """A word or line cut one character off shifts every count and every duplicate after it."""
    texts = sample()
    assert pieces(texts, kind) == [getattr(slow, kind)(text) for text in texts]


@given(st.lists(ANY_TEXT), st.sampled_from(["words", "lines", "paragraphs"]))
def test_pieces_of_any_text(texts: list[str], kind: str) -> None:
    assert pieces(texts, kind) == [getattr(slow, kind)(text) for text in texts]


def test_languages_without_spaces_have_words() -> None:
    """A Chinese page would count as one word and be dropped as too short."""
    texts = ["\u4e2d\u6587\uff0cLinux\u3002", "\u0e01\u0e34\u0e19 \u0e19\u0e49\u0e33", "\u304b\u306a\u30fbABC-1"]
    assert pieces(texts, "words") == [
        ["\u4e2d", "\u6587", "Linux"],
        ["\u0e01\u0e34", "\u0e19", "\u0e19\u0e49\u0e33"],
        ["\u304b", "\u306a", "ABC-1"],
    ]


def test_the_class_table_matches_the_names_of_characters() -> None:
    table = _characters.classes()
    for code in range(0x32000):
        char = chr(code)
        if unicodedata.category(char) in ("Cn", "Cs"):
            continue
        assert bool(table[code] & _characters.SOLO) == slow.is_solo(char), hex(code)
        assert bool(table[code] & _characters.BREAK) == slow.is_break(char), hex(code)
        assert bool(table[code] & _characters.JOINED) == slow.is_joined(char), hex(code)


@given(st.lists(ANY_TEXT, min_size=1))
def test_equal_hashes_are_equal_pieces(texts: list[str]) -> None:
    """A false match would call different lines duplicates; a missed one would let repetition pass."""
    seen: dict[int, str] = {}
    (part,) = _table_filter.tables(strings(texts))
    characters = part.utf8.data.tobytes().decode()
    for table in (part.words, part.lines, part.paragraphs):
        for start, stop, value in zip(table.starts, table.stops, table.hashes, strict=True):
            assert seen.setdefault(int(value), characters[start:stop]) == characters[start:stop]
    values = {text: value for value, text in seen.items()}
    assert len(values) == len(seen)
    for text, value in values.items():
        assert int(_hashing.text_hashes((text,))[0]) == value


def test_hashes_do_not_depend_on_the_place_in_a_long_document() -> None:
    """Powers are tabled by blocks of 65,536 characters; a slip at a block's edge would hide repeats there."""
    text = "\n".join(["some line"] * 20_000)
    (part,) = _table_filter.tables(strings([text]))
    assert len(np.unique(part.lines.hashes)) == 1
    assert len(np.unique(part.words.hashes)) == 2


def test_tables_are_shared_by_filters_and_not_taken_from_another_batch() -> None:
    first, second = strings(["a b", "c"] * 3), strings(["d e f", "g"] * 3)
    tables = _table_filter.tables(first)
    assert _table_filter.tables(first) is tables
    assert _table_filter.tables(first.slice(0, 2)) is not tables
    assert [part.words.counts.tolist() for part in _table_filter.tables(second)] == [[3, 1] * 3]
    assert _table_filter.tables(strings([])) == []


def test_chunks_cover_every_document_once() -> None:
    """A document lost or doubled at the edge of a chunk would shift all reasons after it."""
    texts = ["x" * 100_000, "", "y" * 600_000, "", "z", ""] * 3
    parts = _table_filter.tables(strings(texts))
    assert len(parts) > 3
    assert [n for part in parts for n in part.lengths.tolist()] == [len(text) for text in texts]


def test_groups_hold_all_places_of_a_repeated_key() -> None:
    found = _repeats.groups(np.array([5, 7, 5, 9, 7, 5], np.uint64), np.arange(6))
    assert sorted(zip(found.firsts.tolist(), found.sizes.tolist(), strict=True)) == [(0, 3), (1, 2)]
    assert found.later().tolist() == [2, 4, 5]


def test_an_empty_chunk_has_no_pieces() -> None:
    (part,) = _table_filter.tables(strings(["", " \n "]))
    assert isinstance(part, Tables)
    assert part.words.counts.tolist() == part.lines.counts.tolist() == part.paragraphs.counts.tolist() == [0, 0]
