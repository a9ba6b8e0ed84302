"""``.json`` files that are not JSON Lines: arrays, indented objects, objects side by side."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading import Read, read

from gristmill.errors import InputError
from gristmill.sources._jsonl import LineReader
from gristmill.sources._limits import Limits
from gristmill.sources._lines import blocks
from gristmill.sources._rows import Fields
from gristmill.sources._streams import Raw, Text, text_of
from gristmill.sources._unfolded import _Unfolder, as_lines, is_lines
from gristmill.sources.files import Files

ROWS = [{"text": 'one "quoted" [bracket'}, {"text": "two,\n\\", "n": [{"a": [1, 2]}, {}]}, {"text": "drei \u00e4 }{"}]
MARK = "\ufeff"


def beside(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) for row in rows)


FORMS: dict[str, Callable[[list[Any]], str]] = {
    "array": json.dumps,
    "indented array": lambda rows: json.dumps(rows, indent=2, ensure_ascii=False) + "\n",
    "array, an object a line": lambda rows: "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n",
    "indented objects": lambda rows: "\n".join(json.dumps(row, indent=1) for row in rows),
    "objects beside each other": beside,
    "indented objects beside each other": lambda rows: "".join(json.dumps(row, indent="\t") for row in rows),
    "lines that end in commas": lambda rows: "".join(json.dumps(row) + " ,\n" for row in rows),
    "lines that end in carriage returns": lambda rows: "".join(json.dumps(row) + "\r" for row in rows),
    "arrays after arrays": lambda rows: "".join(json.dumps([row], indent=1) + "\r\n" for row in rows),
    "files with a mark": lambda rows: "".join(f"{MARK}{json.dumps(row, indent=1)}\r\n" for row in rows),
    "arrays with a mark": lambda rows: "".join(f"{MARK}{json.dumps([row])}\n" for row in rows),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_objects_are_documents_however_they_are_laid_out(
    tmp_path: Path, form: Callable[[list[Any]], str], compress: Callable[[bytes], bytes], suffix: str
):
    """Every physical line of an indented file was a bad document, and an array of a thousand objects one."""
    (tmp_path / f"x.{suffix}").write_bytes(compress(form(ROWS).encode()))
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.bad) == ([row["text"] for row in ROWS], [])
    assert found.ids == [f"x.{suffix}:{number}" for number in (1, 2, 3)]


def test_one_indented_object_is_one_document(tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps({"text": "only", "meta": {"id": 7}}, indent=4))
    found = read(Files(paths=[str(tmp_path)], id_key="meta.id"))
    assert (found.texts, found.ids) == (["only"], ["7"])


def test_a_big_array_is_one_shard_and_lines_are_still_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An array cannot be entered in the middle: ranges of it would be lines that are none."""
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 1000)
    rows = [{"text": f"row {n} " + "x" * 90} for n in range(60)]
    (tmp_path / "a.json").write_text(MARK + json.dumps(rows, indent=1))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = Files(paths=[str(tmp_path)])
    assert [shard.uri[-6:] for shard in source.shards()].count("a.json") == 1
    assert len(source.shards()) > 5
    assert read(source).texts == [row["text"] for row in rows] * 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('\\"[]{},:\n a\u00e9', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('\\"[{,', max_size=2), inner, max_size=3),
    max_leaves=8,
)
ROW = st.builds(
    lambda text, rest: {"text": text, **rest},
    st.text('\\"[]{},\n b', min_size=1, max_size=9),
    st.fixed_dictionaries({}, optional={"m": JSON}),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=6), st.sampled_from(sorted(FORMS)), st.integers(1, 40), st.integers(1, 60))
@example([{"text": "\\"}, {"text": '\\"'}], "array", 1, 1)
def test_pieces_change_nothing(rows: list[Any], form: str, piece: int, size: int):
    """A bracket, a quote or an escape that a piece of the stream cuts must not move the border of a document."""
    data = FORMS[form](rows).encode()
    text = Text(start=0, pieces=(data[n : n + piece] for n in range(0, len(data), piece)))
    text = Text(start=0, pieces=_Unfolder("x.json", 0).lines(text.pieces))
    fields = Fields(text_key="text", columns=[], label="x")
    reader = LineReader(fields=fields, limits=Limits(), uri="x.json", unit="value")
    assert Read(reader.chunks(blocks(text, line_bytes=9999, size=size))).texts == [row["text"] for row in rows]


def test_an_array_is_read_in_bounded_memory():
    """A quarter of a gigabyte in one array, on one line, must cost some megabytes."""
    row = b'{"text": "' + b"words of it " * 80 + b'"},'

    def pieces() -> Iterator[bytes]:
        yield b"["
        for _ in range(250):
            yield row * 1000
        yield b'{"text": "last"}]'

    text, unit = as_lines(Text(start=0, pieces=pieces()), "x.json")
    reader = LineReader(fields=Fields(text_key="text", columns=[], label="x"), limits=Limits(), uri="x.json", unit=unit)
    count, last = 0, ""
    tracemalloc.start()
    for chunk in reader.chunks(blocks(text, line_bytes=1 << 26)):
        count += len(chunk.documents)
        last = chunk.documents.column("text")[-1].as_py() if len(chunk.documents) else last
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (unit, count, last) == ("value", 250_001, "last")
    assert peak < 64 << 20


def test_a_bad_value_is_one_bad_document(tmp_path: Path):
    """Its neighbours stay, and its place in the file is told."""
    data = b'[{"text": "a"},\n {"text": nope}, {"text": 5},\n 7, {"text": "b"}]'
    (tmp_path / "x.json").write_bytes(data)
    found = read(Files(paths=[str(tmp_path)]))
    assert found.texts == ["a", "b"]
    assert found.faults == [("value 2", "json_syntax"), ("value 3", "non_string_text"), ("value 4", "not_an_object")]
    assert all(data[bad.offset - 1 :].lstrip(b", \n").startswith(bad.excerpt.strip().encode()) for bad in found.bad)


@pytest.mark.parametrize(
    ("content", "message", "reason"),
    [
        (
            '["one", "two"]',
            r"strings where objects with the key 'text'.*jq -c '\.\[\] \| \{text: \.\}'",
            "no_text_column",
        ),
        ('[\n "one",\n "two"\n]\n', r"strings where objects", "no_text_column"),
        ("[1, 2,\n3]", r"numbers where objects", "no_text_column"),
        ('"one"\n"two"\n', r"strings where objects.*jq -c '\{text: \.\}'", "no_text_column"),
        ('["one", 1]\n["two", 2]\n', r"strings where objects", "no_text_column"),
        (
            '{"data": [{"text": "a"}]}',
            r"keys that are there: 'data'; if 'data' holds .*'\.\[\"data\"\]\[\]'",
            "no_text_column",
        ),
        ('{\n "data": [\n  {"text": "a"}]}', r"no row has the key 'text'", "no_text_column"),
        ('[{"text": "a"}, {"text": "b"', r"x\.json: not JSON Lines .* it ends in the middle", "bad_json"),
        ('[\n{"text": "a"}\n]]', r"byte 17: a bracket closes that was not opened", "bad_json"),
        ('{\n"text": "a\nb"}', r"byte 12: a string goes over the end of a line", "bad_json"),
        ("{\n// a comment\n}", r"none of its values is sound; the first: json_syntax", "bad_json"),
    ],
)
def test_a_value_that_holds_no_documents_is_one_error_of_the_file(
    tmp_path: Path, content: str, message: str, reason: str
):
    """'4 of 4 documents cannot be used (json_syntax 4)' was said of one sound value over four lines."""
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read(Files(paths=[str(tmp_path)]))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "content",
    [
        b'{"text": "a"}\n',
        b'{"text": "cut off\n{"text": "a"}\n',
        b'{"text": "cut",\n{"text": "a"}\n',
        b'["tags", "first"]\n{"text": "a"}\n',
        b"nonsense\n[\n",
        b'{"text": "a"} garbage\n{"text": "b"}\n',
        b'{"text": "' + b"long " * 1000,
        b"",
        b"[" * 100_000 + b"\n{}\n",
    ],
)
def test_json_lines_with_a_bad_first_line_are_still_json_lines(content: bytes):
    """One bad line must cost itself, never turn a file into one value that is cut."""
    assert is_lines(content)


@pytest.mark.parametrize("content", ["[]", "[ ]\n", "[\n]\n[]"])
def test_an_empty_array_holds_no_documents(tmp_path: Path, content: str):
    (tmp_path / "x.json").write_text(content)
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.bad) == ([], [])


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "members"])
def test_a_mark_at_the_start_of_a_line_is_skipped(tmp_path: Path, compress: Callable[[bytes], bytes]):
    """Files with a byte order mark, put together by ``cat``: the first row of each but the first was lost."""
    parts = [f'{MARK}{{"text": "{name}"}}\n{{"text": "{name}{name}"}}\n{end}' for name, end in (("a", ""), ("b", MARK))]
    (tmp_path / "x.jsonl").write_bytes(b"".join(compress(part.encode()) for part in parts))
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.bad) == (["a", "aa", "b", "bb"], [])


def test_the_stream_of_lines_is_untouched():
    stream, unit = as_lines(text_of(Raw(BytesIO(b'\xef\xbb\xbf{"text": "a"}\n'), "x.jsonl"), Limits()), "x.jsonl")
    assert (stream.start, b"".join(stream.pieces), unit) == (3, b'{"text": "a"}\n', "line")
