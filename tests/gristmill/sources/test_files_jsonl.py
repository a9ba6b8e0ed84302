"""JSON Lines for ``files``: what a line is, what it holds, and what it may cost."""

import json
import tracemalloc
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import Read, read

from gristmill.errors import InputError
from gristmill.sources import _jsonl
from gristmill.sources._jsonl import LineReader
from gristmill.sources._limits import Limits
from gristmill.sources._lines import Block, blocks, ranged
from gristmill.sources._rows import Fields
from gristmill.sources._streams import Raw, Text
from gristmill.sources.files import Files

FIELDS = Fields(text_key="text", id_key="id", columns=["m"], label="files")

ODD_LINES = [
    b"",
    b" \t",
    b"\r",
    b"\x0c",
    b"null",
    b"NaN",
    b"[1]",
    b'"text"',
    b"{}",
    b'{"text":"a"}{"text":"b"}',
    b'{"text":"a"} {"text":',
    b'"b"}',
    b'{"text":"a"}\r',
    b'{"text":"a"}\r{"text":"b"}',
    b'\xef\xbb\xbf{"text":"a"}',
    b'{"text":"a","m":NaN}',
    b'{"text":NaN}',
    b'{"text":"a","m":-Infinity,"id":1e999}',
    b'{"text":"a","m":"lait\xe9"}',
    b'{"text":"lait\xe9"}',
    b'{"text":"a","m\xff":1}',
    b'{"text":"a","m":"x\ty"}',
    b'{"text":"a\\u0000b"}',
    b'{"text":"a\x00b"}',
    b'{"text":"\\ud83d\\ude00"}',
    b'{"text":"\\ude00\\ud83d"}',
    b'{"text":"a","id":"\\ud83d"}',
    b'{"text":"a","m":"\\ud83d"}',
    b'{"text":"\xed\xa0\x80"}',
    b'{"text":"a","text":1}',
    b'{"text":1,"text":"a"}',
    b'{"t\\u0065xt":"a"}',
    b'{"text":"a","m":01}',
    b'{"text":"a","m":1.}',
    b'{"text":"a","m":[1,]}',
    b'{"text":"a","id":123456789012345678901234567890,"m":1.5e3}',
    b'{"text":"a","m":' + b"9" * 5000 + b"}",
    b'{"text":"a","id":' + b"9" * 5000 + b"}",
    b'{"text":"a","m":' + b"[" * 6 + b"]" * 6 + b"}",
    b'{"text":"a","m":' + b"[" * 7 + b"]" * 7 + b"}",
    b'{"text":"a\\"[[[[[[[[","m":"\\\\"}',
    b'{"text":"[[[[{{{{]]]]"}',
    b"[" * 100_000,
    b'{"text":"' + b"long" * 200 + b'"}',
    b'{"text":""}',
    b'{"text":null}',
    b'{"Text":"a"}',
    b'{"text":"\xe2\x80\xa8 \xc2\x85"}',
]
LIMITS = Limits(json_depth=7, line_bytes=6000, document_chars=500)


def by_the_standard_library(line: bytes, limits: Limits) -> str:
    """What the rules say of one line, in plain Python: the text after ``=``, a reason, or nothing for a blank line."""
    if len(line) > limits.line_bytes:
        return "line_too_long"
    line = line.lstrip(b" \t\r").removeprefix(b"\xef\xbb\xbf")
    if not line.strip(b" \t\r"):
        return ""
    if depth(line) > limits.json_depth:
        return "too_deep"
    try:
        decoded = line.decode()
        row = json.loads(decoded, parse_int=float)
    except UnicodeDecodeError:
        return "invalid_utf8"
    except ValueError:
        return "json_syntax"
    if not isinstance(row, dict):
        return "not_an_object"
    return text_fault(row, limits) or "=" + row["text"]


def text_fault(row: dict[str, Any], limits: Limits) -> str:
    text = row.get("text")
    if text is None:
        return "null_text" if "text" in row else "missing_text"
    if not isinstance(text, str):
        return "non_string_text"
    if not text:
        return "empty_text"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "lone_surrogate"
    return "document_too_long" if len(text) > limits.document_chars else ""


def depth(line: bytes) -> int:
    """Nesting of brackets outside strings, one byte at a time."""
    deepest = now = 0
    inside = escaped = False
    for byte in line.decode("latin-1"):
        if inside:
            inside, escaped = escaped or byte != '"', not escaped and byte == "\\"
        elif byte == '"':
            inside = True
        else:
            now += (byte in "[{") - (byte in "]}")
            deepest = max(deepest, now)
    return deepest


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """``data`` in pieces of the given sizes, over and over."""
    start = turn = 0
    while start < len(data):
        yield data[start : start + sizes[turn % len(sizes)]]
        start += sizes[turn % len(sizes)]
        turn += 1


def read_lines(data: bytes, sizes: list[int], size: int, limits: Limits = LIMITS) -> Read:
    text = Text(start=0, pieces=cut(data, sizes))
    reader = LineReader(fields=FIELDS, limits=limits, uri="x.jsonl")
    reader._text_seen = True  # the rule about shards without any text has its own tests
    return Read(reader.chunks(blocks(text, line_bytes=limits.line_bytes, size=size)))


@pytest.mark.parametrize("line", ODD_LINES, ids=range(len(ODD_LINES)))
@pytest.mark.parametrize("neighbour", [b"", b'{"text": "neighbour"}\n', b"nonsense\n"])
def test_a_line_is_judged_by_itself(line: bytes, neighbour: bytes):
    """The fast way reads many lines at once; a bad or odd neighbour must not change what becomes of a line."""
    expected = by_the_standard_library(line, LIMITS)
    found = read_lines(neighbour + line + b"\n" + neighbour, [1 << 20], 1 << 20)
    texts = [text for text in found.texts if text != "neighbour"]
    reasons = [bad.reason for bad in found.bad if bad.excerpt != "nonsense"]
    assert texts == ([expected[1:]] if expected.startswith("=") else [])
    assert reasons == ([expected] if expected and not expected.startswith("=") else [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries({}, optional={"text": st.text(max_size=9) | JSON, "id": JSON, "m": JSON, "other": JSON})
GOOD_LINES = st.builds(lambda row, plain: json.dumps(row, ensure_ascii=plain).encode(), ROWS, st.booleans())
DAMAGED_LINES = st.builds(
    lambda line, at, byte: line[: at % (len(line) + 1)] + bytes([byte]) + line[at % (len(line) + 1) + 1 :],
    GOOD_LINES,
    st.integers(0, 200),
    st.integers(0, 255).filter(lambda byte: byte != 10),
)
LINES = st.lists(st.one_of(st.sampled_from(ODD_LINES), GOOD_LINES, DAMAGED_LINES), max_size=12)
SIZES = st.lists(st.sampled_from([1, 2, 3, 7, 64, 1000, 100_000]), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(LINES, SIZES, st.sampled_from([1, 50, 4000]), st.booleans())
@example([b'{"text":"a"}{"text":', b'"b"}'], [100], 4000, True)
def test_pieces_and_blocks_change_nothing(lines: list[bytes], sizes: list[int], size: int, ended: bool):
    """Any lines, in any pieces, give what the standard library gives line by line, in order, with their numbers."""
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    found = read_lines(data, sizes, size)
    verdicts = [(f"line {n}", by_the_standard_library(line, LIMITS)) for n, line in enumerate(lines, 1)]
    assert found.texts == [verdict[1:] for _, verdict in verdicts if verdict.startswith("=")]
    assert found.faults == [(place, verdict) for place, verdict in verdicts if verdict and not verdict.startswith("=")]
    starts = {0, *(n + 1 for n, byte in enumerate(data) if byte == 10)}
    assert {bad.offset for bad in found.bad} <= starts
    assert all(bad.excerpt.isascii() and bad.excerpt.isprintable() and len(bad.excerpt) <= 200 for bad in found.bad)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [b"", b'{"text":"a"}', b'{"text":"\xc3\xa9\xc3\xa9"}', b"bad", b'{"text":"' + b"x" * 90 + b'"}']
        )
    ),
    st.lists(st.integers(0, 2000), max_size=6),
    st.sampled_from([1, 5, 64, 4096]),
    st.booleans(),
    st.booleans(),
)
def test_ranges_give_each_line_once(lines: list[bytes], edges: list[int], piece: int, ended: bool, marked: bool):
    """A line belongs to the range of its first byte; a line lost or doubled at an edge would go unseen for ever."""
    data = (b"\xef\xbb\xbf" if marked else b"") + b"\n".join(lines) + (b"\n" if ended else b"")
    cuts = sorted({0, len(data), *(edge for edge in edges if edge < len(data))})
    found: list[tuple[int, bytes]] = []
    for start, stop in pairwise(cuts):
        text = ranged(Raw(BytesIO(data), "x.jsonl"), start=start, stop=stop, piece=piece)
        for block in blocks(text, line_bytes=1000, size=1):
            found += offsets_of(block)
            assert start <= block.offset < stop or (marked and block.offset == 3)
    assert found == [pair for block in whole(data) for pair in offsets_of(block)]


def whole(data: bytes) -> Iterator[Block]:
    return blocks(ranged(Raw(BytesIO(data), "x.jsonl"), start=0, stop=max(len(data), 1)), line_bytes=1000)


def offsets_of(block: Block) -> list[tuple[int, bytes]]:
    lines = [line + b"\n" for line in block.data.split(b"\n")]
    return [(block.offset + sum(map(len, lines[:n])), line) for n, line in enumerate(lines) if line != b"\n"]


def test_an_endless_line_is_passed_without_holding_it():
    """Half a gigabyte without a line feed must cost a few megabytes, one quarantine entry and no neighbour."""
    piece = b"x" * (1 << 20)
    pieces = [b'{"text": "before"}\n{"text": "', *[piece] * 512, b'"}\n{"text": "after"}\n']
    reader = LineReader(fields=FIELDS, limits=Limits(line_bytes=4 << 20), uri="x.jsonl")
    tracemalloc.start()
    found = Read(reader.chunks(blocks(Text(start=0, pieces=iter(pieces)), line_bytes=4 << 20)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.texts, found.faults) == (["before", "after"], [("line 2", "line_too_long")])
    assert (found.bad[0].offset, found.ids) == (19, ["x.jsonl:1", "x.jsonl:3"])
    assert peak < 24 << 20


def test_a_file_of_garbage_is_handed_on_in_bounded_chunks():
    """Two million bad lines in a block would otherwise be one list of two million records."""
    found = read_lines(b"?\n" * 25_000 + b'{"text": "a"}\n', [1 << 20], 1 << 20)
    assert len(found.bad) == 25_000
    assert max(len(chunk.bad) for chunk in found.chunks) == 10_000
    assert found.ids == ["x.jsonl:25001"]


@pytest.mark.parametrize("lacking", [999, 1000])
def test_the_first_thousand_rows_decide_about_the_text_key(tmp_path: Path, lacking: int):
    """A misspelt key must stop the run early, not quarantine a corpus; a late start of the key must not."""
    rows = ['{"content": 1, "meta": {"body": 2}}\n'] * lacking + ['{"text": "found"}\n']
    (tmp_path / "x.jsonl").write_text("".join(rows))
    source = Files(paths=[str(tmp_path)])
    if lacking == 999:
        assert len(read(source).bad) == 999
        return
    with pytest.raises(InputError, match=r"keys that are there: 'content', 'meta', 'meta\.body'$") as caught:
        read(source)
    assert caught.value.reason == "no_text_column"


def test_broken_lines_alone_are_no_reason_to_doubt_the_key(tmp_path: Path):
    (tmp_path / "x.jsonl").write_text("nonsense\n" * 2000)
    assert len(read(Files(paths=[str(tmp_path)])).bad) == 2000


@pytest.mark.parametrize(
    "line",
    [
        b'{"text":[%s1]}' % (b"[]," * 2_200_000),
        b'{"text":[%s{}]}' % (b"{}," * 2_200_000),
        b'{"x":[%s1],"y":NaN,"text":"a"}' % (b"1," * 2_200_000),
        b'{"x":[%s""],"text":"a"}' % (b'"",' * 2_200_000),
    ],
    ids=["lists", "objects", "numbers beside NaN", "strings"],
)
def test_a_line_of_millions_of_values_is_not_decoded(tmp_path: Path, line: bytes):
    """Twenty million empty lists in 60 MB took 3 GB before the line was found to hold no text."""
    (tmp_path / "x.jsonl").write_bytes(line + b'\n{"text":"ok"}\n')
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.faults) == (["ok"], [("line 1", "too_many_values")])


def test_a_text_with_millions_of_commas_is_a_text(tmp_path: Path):
    text = '[1],{"a"}, ' * 400_000
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": text, "n": [1] * 1000}) + "\n")
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.bad) == ([text], [])


@given(st.lists(st.text("[{]}a;\x7b", max_size=9), max_size=9), st.booleans(), st.integers(1, 4), st.integers(1, 7))
def test_lines_with_many_brackets_are_found_wherever_a_block_is_cut(
    texts: list[str], ended: bool, most: int, cached: int
) -> None:
    """A line that nests too deep must not pass because its brackets were counted for its neighbour."""
    data = "\n".join(texts).encode() + (b"\n" if ended else b"")
    lines = data.split(b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jsonl, "_CACHED", cached)
        found = _jsonl._bracketed(data, lines, most)
    assert found == [number for number, line in enumerate(lines) if line.count(b"[") + line.count(b"{") > most]
