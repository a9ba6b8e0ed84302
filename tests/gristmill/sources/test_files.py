"""The ``files`` source as a whole: kinds, ids, columns, shards."""

import gzip
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import SHARED, needs_shared
from reading import Read, read

from gristmill.errors import ConfigError, InputError
from gristmill.plugins import load
from gristmill.sources.files import Files
from gristmill.types import DOCUMENT_SCHEMA


def write_lines(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@needs_shared
def test_the_real_corpus_is_read_whole():
    """The figure of documents and bytes that the corpus states: none lost, none doubled."""
    found = read(Files(paths=[str(SHARED / "corpus" / "small")], id_key="id"))
    assert len(found.texts) == 5_486
    assert sum(len(text.encode()) for text in found.texts) == 20_001_973
    assert not found.bad
    assert max(chunk.documents.nbytes for chunk in found.chunks) < 9 << 20


def test_settings_survive_json_and_pickle():
    """A worker gets the plugin by pickle, a server by JSON: a lost limit would change what is quarantined."""
    source = Files(paths=["a*.jsonl"], columns=["url"], limits={"json_depth": 7})
    assert load("sources", json.loads(json.dumps(source.settings()))) == source
    assert pickle.loads(pickle.dumps(source)) == source
    assert "paths" not in source.reading()


def test_memory_for_one_new_file_leaves_a_published_data_set_as_it_is():
    """A night that brings a file with a long window would need another data set."""
    more = Files(paths=["a"], limits={"window_bytes": 1 << 31})
    assert more.reading() == Files(paths=["a"]).reading()
    assert more.reading() != Files(paths=["a"], limits={"ratio": 9}).reading()


@pytest.mark.parametrize(
    "settings",
    [
        {"paths": []},
        {"paths": [""]},
        {"paths": ["a\0b"]},
        {"paths": ["a"], "text_key": "a..b"},
        {"paths": ["a"], "id_key": 'quo"te'},
        {"paths": ["a"], "columns": ["text"]},
        {"paths": ["a"], "columns": ["url", "url"]},
        {"paths": ["a"], "separator": ""},
        {"paths": ["a"], "limits": {"json_depth": 0}},
        {"paths": ["a"], "limits": {"depth": 3}},
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_read(settings: dict[str, Any]):
    with pytest.raises(ConfigError, match="files: "):
        load("sources", {"kind": "files", **settings})


def test_ids_fall_back_to_file_and_line(tmp_path: Path):
    """Two rows without an id must not share one, and a number is not the same id as nothing."""
    rows = [{"id": "a", "text": "1"}, {"id": 7, "text": "2"}, {"id": None, "text": "3"}, {"text": "4"}]
    rows += [{"id": {"k": [1, 2.5]}, "text": "5"}, {"id": "a", "text": "6"}, {"id": "", "text": "7"}]
    path = write_lines(tmp_path / "x.jsonl", rows)
    assert read(Files(paths=[path], id_key="id")).ids == ["a", "7", "x.jsonl:3", "x.jsonl:4", '{"k":[1,2.5]}', "a", ""]
    assert read(Files(paths=[path])).ids == [f"x.jsonl:{n}" for n in range(1, 8)]


def test_columns_are_carried_as_nullable_text(tmp_path: Path):
    rows = [
        {"text": "a", "url": "u", "meta": {"lang": "de", "n": 1}, "from": "wiki"},
        {"text": "b", "url": None, "meta": 3},
        {"text": "c", "meta": {"lang": ["x", "\u00e9"]}, "from": 5},
    ]
    path = write_lines(tmp_path / "x.jsonl", rows)
    found = read(Files(name="web", paths=[path], source_key="from", columns=["url", "meta.lang", "meta"]))
    assert found.column("source") == ["wiki", "web", "5"]
    assert found.column("url") == ["u", None, None]
    assert found.column("meta.lang") == ["de", None, '["x","\u00e9"]']
    assert found.column("meta") == ['{"lang":"de","n":1}', "3", '{"lang":["x","\u00e9"]}']
    assert found.table.schema.names == ["id", "text", "source", "url", "meta.lang", "meta"]
    assert found.table.schema.field("url").nullable


def test_half_a_surrogate_pair_in_a_side_field_costs_nothing(tmp_path: Path):
    """It cannot stand in a UTF-8 column, but the text is sound: the id shows it as an escape."""
    (tmp_path / "x.jsonl").write_bytes(b'{"text": "fine", "id": "a\\ud83d", "url": ["\\ude00"]}\n')
    found = read(Files(paths=[str(tmp_path)], id_key="id", columns=["url"]))
    assert (found.texts, found.ids, found.column("url")) == (["fine"], ["a\\ud83d"], ['["\\ude00"]'])


def test_without_columns_the_schema_is_the_plain_one(tmp_path: Path):
    """Batches of different kinds of files are concatenated downstream."""
    write_lines(tmp_path / "a.jsonl", [{"text": "a"}])
    pq.write_table(pa.table({"text": ["b"]}), tmp_path / "b.parquet")
    (tmp_path / "c.txt").write_text("c")
    (tmp_path / "d.html").write_text("<p>d</p>")
    (tmp_path / "e.jsonl").write_text("")
    found = read(Files(paths=[str(tmp_path)]))
    assert found.table.schema == DOCUMENT_SCHEMA
    assert found.texts == ["a", "b", "c", "<p>d</p>"]
    assert found.ids == ["a.jsonl:1", "b.parquet:0", "c.txt:1", "d.html:1"]


def test_a_dotted_text_key_steps_into_objects(tmp_path: Path):
    rows = [{"doc": {"text": "a", "id": 1}}, {"doc": {"id": 2}}, {"doc": "flat"}, {"doc": None}]
    found = read(Files(paths=[write_lines(tmp_path / "x.jsonl", rows)], text_key="doc.text", id_key="doc.id"))
    assert (found.texts, found.ids) == (["a"], ["1"])
    assert found.faults == [(f"line {n}", "missing_text") for n in (2, 3, 4)]


def test_a_key_with_a_dot_in_its_name_comes_before_a_step_in_every_format(tmp_path: Path):
    """Parquet read the column ``doc.text`` and JSON Lines said that no row has it, listing it."""
    rows = [
        {"doc.text": "exact", "doc": {"text": "inner"}, "a.id": None, "a": {"id": "inner"}},
        {"doc.text": None, "doc": {"text": "inner"}, "a.id": "2", "a": None},
    ]
    write_lines(tmp_path / "x.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "y.parquet")
    settings = {"text_key": "doc.text", "id_key": "a.id"}
    for name in ("x.jsonl", "y.parquet"):
        found = read(Files(paths=[str(tmp_path / name)], **settings))
        assert (found.texts, [bad.reason for bad in found.bad]) == (["exact"], ["null_text"])
        assert found.ids == [f"{name}:{1 if name == 'x.jsonl' else 0}"]
    deep = [{"a": {"b.c": "1"}}, {"a.b": {"c": "2"}}, {"a": {"b": {"c": "3"}}}, {"a.b": 5, "a": {"b": {"c": "4"}}}]
    path = write_lines(tmp_path / "deep.jsonl", deep)
    assert read(Files(paths=[path], text_key="a.b.c")).texts == ["1", "2", "3", "4"]
    for number, row in enumerate(deep):
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"deep{number}.parquet")
    found = read(Files(paths=[str(tmp_path / "deep*.parquet")], text_key="a.b.c"))
    assert found.texts == ["1", "2", "3", "4"]


def test_a_text_that_is_a_list_is_one_rule_in_every_format(tmp_path: Path):
    """Parquet made a paragraph of every word of a list of words; JSON Lines set the same rows aside."""
    rows = [{"text": ["a", "b"]}, {"text": []}, {"text": ["c", None]}]
    write_lines(tmp_path / "x.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "y.parquet")
    for name in ("x.jsonl", "y.parquet"):
        with pytest.raises(InputError, match=r"text_join set: .* for paragraphs, \" \" for words") as caught:
            read(Files(paths=[str(tmp_path / name)]))
        assert caught.value.reason == "no_text_column"
        found = read(Files(paths=[str(tmp_path / name)], text_join=" "))
        assert (found.texts, [bad.reason for bad in found.bad]) == (["a b"], ["empty_text", "null_text"])


@pytest.mark.parametrize(
    ("separator", "texts", "ids"),
    [
        (None, ["one\n\ntwo\n\n\n\nthree\n"], ["t.txt:1"]),
        ("\n\n", ["one", "two", "three\n"], ["t.txt:1", "t.txt:3", "t.txt:7"]),
        ("\n", ["one", "two", "three"], ["t.txt:1", "t.txt:3", "t.txt:7"]),
        ("absent", ["one\n\ntwo\n\n\n\nthree\n"], ["t.txt:1"]),
    ],
)
def test_plain_text_is_split_where_asked(tmp_path: Path, separator: str | None, texts: list[str], ids: list[str]):
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfone\n\ntwo\n\n\n\nthree\n")
    found = read(Files(paths=[str(tmp_path)], separator=separator, id_key="id", columns=["url"]))
    assert (found.texts, found.ids, found.column("url")) == (texts, ids, [None] * len(texts))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 20])
def test_a_separator_meets_every_kind_of_line_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, piece: int
):
    """A file from Windows was one document: no empty line of it is two line feeds. One CRLF is never two line ends,
    wherever a piece of the stream cuts it, and ids count lines of all kinds."""
    monkeypatch.setattr("gristmill.sources._streams.PIECE", piece)
    (tmp_path / "t.txt").write_bytes(b"one\nstill one\n\ntwo\n\n\n\nthree\n".replace(b"\n", end))
    found = read(Files(paths=[str(tmp_path)], separator="\n\n"))
    line = end.decode()
    assert found.texts == [f"one{line}still one", "two", f"three{line}"]
    assert found.ids == ["t.txt:1", "t.txt:4", "t.txt:8"]
    assert read(Files(paths=[str(tmp_path)], separator="\n")).texts == ["one", "still one", "two", "three"]
    found = read(Files(paths=[str(tmp_path)], separator="\n\n", limits={"document_chars": 4}))
    assert [bad.place for bad in found.bad] == ["line 1", "line 8"]


def test_a_mark_after_a_separator_is_skipped(tmp_path: Path):
    """Files with a byte order mark, put together by ``cat``."""
    (tmp_path / "t.txt").write_bytes("\ufeffone\n\n\ufefftwo\n\n\n\ufeffthree\n\n\ufeff".encode())
    found = read(Files(paths=[str(tmp_path)], separator="\n\n"))
    assert found.texts == ["one", "two", "\nthree"]
    (tmp_path / "h.html").write_bytes("\ufeff\ufeff<p>".encode())
    assert read(Files(paths=[str(tmp_path / "h.html")])).texts == ["<p>"]


def test_plain_text_faults_are_per_document(tmp_path: Path):
    """One Latin-1 letter or one endless paragraph costs its document, not the file."""
    (tmp_path / "t.txt").write_bytes(b"good\n\nlait\xe9\n\n" + b"x" * 50 + b"\n\nlast")
    (tmp_path / "void.txt").write_bytes(b"")
    found = read(Files(paths=[str(tmp_path)], separator="\n\n", limits={"document_chars": 10}))
    assert found.texts == ["good", "last"]
    assert found.faults == [("line 3", "invalid_utf8"), ("line 5", "document_too_long")]
    assert [bad.offset for bad in found.bad] == [6, 13]
    assert found.bad[0].excerpt == "lait\\udce9"
    assert read(Files(paths=[str(tmp_path / "void.txt")])).faults == [("line 1", "empty_text")]


def test_a_big_plain_file_is_shared_between_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every line once, whatever the edges cut; a compressed file cannot be entered in the middle."""
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 1000)
    rows = [{"text": f"{n} \u00e9" + "x" * (n * 37 % 400)} for n in range(100)]
    path = write_lines(tmp_path / "x.jsonl", rows)
    (tmp_path / "y.jsonl").write_bytes(gzip.compress(Path(path).read_bytes(), 0))
    source = Files(paths=[path])
    shards = source.shards()
    assert len(shards) == -(-Path(path).stat().st_size // 1000) > 10
    assert [shard.index for shard in shards] == list(range(len(shards)))
    assert sum(shard.size for shard in shards) == Path(path).stat().st_size
    found = read(source)
    assert found.texts == [row["text"] for row in rows]
    offsets = [int(name.removeprefix("x.jsonl:")) for name in found.ids]
    lines = Path(path).read_bytes()
    assert all(lines[offset:].startswith(b'{"text": ') for offset in offsets)
    assert len(Files(paths=[str(tmp_path / "y.jsonl")]).shards()) == 1


def test_a_damaged_file_fails_its_own_shard_and_not_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 10)
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"not parquet" * 10)
    pq.write_table(pa.table({"text": ["sound"]}), tmp_path / "b.parquet")
    source = Files(paths=[str(tmp_path)])
    broken, sound = source.shards()
    with pytest.raises(InputError, match=r"a\.parquet") as caught:
        list(source.read(broken))
    assert caught.value.reason == "bad_parquet"
    assert Read(source.read(sound)).texts == ["sound"]


def test_gzip_behind_a_plain_name_is_read_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "x.jsonl").write_bytes(gzip.compress(b'{"text": "a"}\n'))
    with caplog.at_level(logging.WARNING):
        assert read(Files(paths=[str(tmp_path)])).texts == ["a"]
    assert "x.jsonl holds gzip data" in caplog.text


def test_two_reads_are_equal(tmp_path: Path):
    """A retried task must give the same documents in the same order."""
    write_lines(tmp_path / "b.jsonl", [{"text": str(n)} for n in range(100)])
    write_lines(tmp_path / "a.jsonl", [{"text": ""}, {"text": "x"}])
    source = Files(paths=[str(tmp_path)])
    first, second = read(source), read(source)
    assert first.table.equals(second.table)
    assert first.bad == second.bad
    assert len(first.texts) == 101


@pytest.mark.parametrize("suffix", ["jsonl", "txt", "parquet"])
def test_a_file_that_changed_since_it_was_listed_is_refused(tmp_path: Path, suffix: str):
    """Half of an old file and half of a new one went into a corpus without a word."""
    path = tmp_path / f"x.{suffix}"
    pq.write_table(pa.table({"text": ["a"]}), path) if suffix == "parquet" else write_lines(path, [{"text": "a"}])
    source = Files(paths=[str(tmp_path)])
    shard = source.shards()[0]
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(InputError, match=rf"x\.{suffix}: changed since it was listed; run again") as caught:
        list(source.documents(shard))
    assert caught.value.reason == "unreadable"


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path):
    """Also where the reader would stop before the end of the file."""
    path = tmp_path / "x.jsonl"
    write_lines(path, [{"text": "a" * 1_000_000}] * 10)
    source = Files(paths=[str(path)], limit_documents=6)
    chunks = source.documents(source.planned()[0])
    next(chunks)
    write_lines(path, [{"text": "b" * 1_000_000}] * 11)
    with pytest.raises(InputError, match="changed since it was listed"):
        next(chunks)
