"""Parquet for ``files``: every way to store text, damage, and bounded memory."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data import HARD
from reading import read

from gristmill.errors import InputError
from gristmill.sources._limits import Limits
from gristmill.sources.files import Files

TEXTS = ["plain", "lait\u00e9 \u4e2d\u6587", "nul\0stays", "\U0001f600"]
STRUCT = pa.struct([("text", pa.string()), ("id", pa.int64())])


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def texts_as(kind: pa.DataType) -> pa.Array:
    return pa.array([text.encode() for text in TEXTS], pa.binary()).cast(kind)


@pytest.mark.parametrize(
    "column",
    [
        texts_as(pa.string()),
        texts_as(pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        texts_as(pa.binary()),
        texts_as(pa.large_binary()),
        pa.array([text.encode() for text in TEXTS], pa.binary_view()),
        texts_as(pa.string()).dictionary_encode(),
        texts_as(pa.large_string()).dictionary_encode(),
        texts_as(pa.binary()).dictionary_encode(),
        pa.array([[text] for text in TEXTS], pa.list_(pa.string())),
        pa.array([[text] for text in TEXTS], pa.large_list(pa.large_string())),
    ],
    ids=lambda column: str(column.type),
)
def test_text_is_read_however_it_is_stored(tmp_path: Path, column: pa.Array):
    write(tmp_path / "x.parquet", {"text": column, "other": list(range(4))})
    assert read(Files(paths=[str(tmp_path)], text_join="\n\n")).texts == TEXTS


def test_lists_become_paragraphs(tmp_path: Path):
    """Some corpora store a document as its paragraphs; an empty list is an empty document, not a missing one."""
    column = pa.array([["a", "b"], [], None, ["c"], ["d", None]], pa.list_(pa.string()))
    write(tmp_path / "x.parquet", {"text": column})
    found = read(Files(paths=[str(tmp_path)], text_join="\n\n"))
    assert (found.texts, found.ids) == (["a\n\nb", "c"], ["x.parquet:0", "x.parquet:3"])
    assert found.faults == [("row 1", "empty_text"), ("row 2", "null_text"), ("row 4", "null_text")]


def test_a_dotted_key_steps_into_structs(tmp_path: Path):
    rows = [{"text": "a", "id": 1}, None, {"text": None, "id": 3}, {"text": "d", "id": None}]
    write(tmp_path / "x.parquet", {"doc": pa.array(rows, STRUCT), "n": [1, 2, 3, 4]})
    found = read(Files(paths=[str(tmp_path)], text_key="doc.text", id_key="doc.id", columns=["doc.id", "n"]))
    assert (found.texts, found.ids) == (["a", "d"], ["1", "x.parquet:3"])
    assert (found.column("doc.id"), found.column("n")) == (["1", None], ["1", "4"])
    assert found.faults == [("row 1", "null_text"), ("row 2", "null_text")]


def test_a_column_with_a_dot_in_its_name_is_that_column(tmp_path: Path):
    write(tmp_path / "x.parquet", {"doc.text": ["flat"], "doc": pa.array([{"text": "nested", "id": 1}], STRUCT)})
    assert read(Files(paths=[str(tmp_path)], text_key="doc.text")).texts == ["flat"]


def test_side_columns_of_any_type_become_text(tmp_path: Path):
    columns = {
        "text": ["a", "b"],
        "n": [1.5, None],
        "tags": [["x", "\u00e9"], []],
        "raw": pa.array([b"ok", b"\xff"], pa.binary()),
        "kind": pa.array(["k", None]).dictionary_encode(),
        "when": pa.array([0, None], pa.timestamp("s")),
    }
    write(tmp_path / "x.parquet", columns)
    found = read(Files(paths=[str(tmp_path)], columns=["n", "tags", "raw", "kind", "when", "absent"]))
    assert found.column("n") == ["1.5", None]
    assert found.column("tags") == ['["x","\u00e9"]', "[]"]
    assert found.column("raw") == ["ok", "\\xff"]
    assert found.column("kind") == ["k", None]
    assert found.column("when") == ['"1970-01-01 00:00:00"', None]
    assert found.column("absent") == [None, None]


def test_each_bad_row_has_its_reason(tmp_path: Path):
    """Text columns promise UTF-8 and writers break the promise: a bad value must not reach the tokenizer."""
    raw = [b"good", None, b"", b"lait\xe9", b"x" * 11, "\u00e9".encode() * 10, b"\xed\xa0\x80"]
    stored = pa.array(raw, pa.binary())
    broken = pa.StringArray.from_buffers(len(raw), stored.buffers()[1], stored.buffers()[2], stored.buffers()[0])
    write(tmp_path / "x.parquet", {"text": broken})
    found = read(Files(paths=[str(tmp_path)], limits={"document_chars": 10}))
    assert found.texts == ["good", "\u00e9" * 10]
    assert found.faults == [
        ("row 1", "null_text"),
        ("row 2", "empty_text"),
        ("row 3", "invalid_utf8"),
        ("row 4", "document_too_long"),
        ("row 6", "invalid_utf8"),
    ]
    assert {bad.offset for bad in found.bad} == {-1}


def test_a_column_of_nulls_is_bad_rows(tmp_path: Path):
    write(tmp_path / "x.parquet", {"text": pa.nulls(3)})
    assert [reason for _, reason in read(Files(paths=[str(tmp_path)])).faults] == ["null_text"] * 3


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"content": ["a"], "url": ["b"]}, r"no column 'text' \(text_key\); there are: content, url"),
        ({"text": [1, 2]}, r"column 'text' \(text_key\) is int64; accepted: string, "),
        ({"text": pa.array([{"text": "a", "id": 1}], STRUCT)}, r"is struct<"),
        ({"text": [[1]]}, r"is list<"),
        ({"text": [["a"]]}, r"is list<.*or a list of strings with text_join set: "),
    ],
)
def test_a_file_without_a_text_column_is_refused(tmp_path: Path, columns: dict[str, Any], message: str):
    write(tmp_path / "x.parquet", columns)
    with pytest.raises(InputError, match=message) as caught:
        read(Files(paths=[str(tmp_path)]))
    assert caught.value.reason == "no_text_column"


def test_two_columns_of_one_name_are_refused(tmp_path: Path):
    """Which of them holds the text is anybody's guess."""
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet: two columns are named 'text'"):
        read(Files(paths=[str(tmp_path)]))


def test_row_groups_are_shared_between_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each row once, in order, numbered through the file."""
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 3000)
    texts = [f"{n} " + "x" * (n % 90) for n in range(500)]
    path = write(tmp_path / "x.parquet", {"text": texts}, row_group_size=20, use_dictionary=False)
    source = Files(paths=[str(path)])
    shards = source.shards()
    assert 5 < len(shards) < 20
    assert [shard.part["start"] for shard in shards[1:]] == [shard.part["stop"] for shard in shards[:-1]]
    assert (shards[0].part["start"], shards[-1].part["stop"]) == (0, 25)
    assert 0 < sum(shard.size for shard in shards) < path.stat().st_size
    found = read(source)
    assert found.texts == texts
    assert found.ids == [f"x.parquet:{n}" for n in range(500)]


def test_long_and_short_rows_come_in_bounded_batches(tmp_path: Path):
    """A batch of a fixed number of rows would be gigabytes where documents are books."""
    write(tmp_path / "long.parquet", {"text": ["b" * (1 << 20)] * 24}, use_dictionary=False)
    write(tmp_path / "short.parquet", {"text": ["s"] * 100_000})
    found = read(Files(paths=[str(tmp_path)]))
    assert len(found.texts) == 100_024
    assert max(chunk.documents.nbytes for chunk in found.chunks) < 6 << 20
    assert max(len(chunk.documents) for chunk in found.chunks) <= 1 << 15


def test_no_rows_and_no_row_groups_are_an_empty_shard(tmp_path: Path):
    write(tmp_path / "a.parquet", {"text": pa.array([], pa.string())})
    pq.ParquetWriter(tmp_path / "b.parquet", pa.schema([("text", pa.string())])).close()
    found = read(Files(paths=[str(tmp_path)]))
    assert (found.texts, found.bad) == ([], [])


def test_damage_is_an_error_or_harmless(tmp_path: Path):
    """Any one byte changed: the pages' checksums, the compression or the footer tell. With checksums written, no
    other text may come out."""
    texts = [f"document {n} " * 20 for n in range(200)]
    whole = write(tmp_path / "w.parquet", {"text": texts}, write_page_checksum=True, compression="snappy").read_bytes()
    refused = 0
    for position in random.Random(0).sample(range(len(whole)), 250):
        damaged = whole[:position] + bytes([whole[position] ^ 0x11]) + whole[position + 1 :]
        (tmp_path / "w.parquet").write_bytes(damaged)
        try:
            found = read(Files(paths=[str(tmp_path)]))
        except InputError as error:
            refused += error.reason in ("bad_parquet", "no_text_column")
        else:
            assert found.texts == texts or found.bad
    assert refused > 100


@pytest.mark.parametrize("size", [0, 3, 4, 12, 1000, -1])
def test_a_cut_file_is_refused(tmp_path: Path, size: int):
    whole = (HARD / "parquet" / "good.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(whole[:size])
    with pytest.raises(InputError, match=r"x\.parquet: not a sound parquet file") as caught:
        read(Files(paths=[str(tmp_path)]))
    assert caught.value.reason == "bad_parquet"


def encoded(path: Path, columns: dict[str, Any], **options: Any) -> Files:
    """A file in which a value that comes often stands once, however long it is."""
    table = pa.table(columns)
    with pq.ParquetWriter(path, table.schema, dictionary_pagesize_limit=1 << 30, **options) as writer:
        writer.write_table(table)
    return Files(paths=[str(path)], id_key="id", text_join="\n\n")


LONG = "word " * 4000
BOMBS = {
    "text": {"text": pa.DictionaryArray.from_arrays(pa.array([0] * 8000, pa.int32()), pa.array([LONG]))},
    "late": {"text": ["a"] * 20_000 + [LONG] * 6000},
    "id": {"text": [f"t{n}" for n in range(8000)], "id": [LONG] * 8000},
    "list": {"text": [["a" * 1000] * 10_000] * 15},
    "list id": {"text": ["a"] * 15, "id": [["a" * 1000] * 10_000] * 15},
}


@pytest.mark.parametrize("columns", BOMBS.values(), ids=BOMBS.keys())
def test_a_small_file_that_becomes_gigabytes_is_refused_before_it_does(tmp_path: Path, columns: dict[str, Any]):
    """A footer gives the sizes of encoded pages: 5 KB of file took 5 GB of memory, and no limit was asked."""
    source = encoded(tmp_path / "x.parquet", columns)
    with pytest.raises(InputError, match=r"over 1000 to 1 \(limits\.ratio\)") as caught:
        read(source)
    assert caught.value.reason == "limit"


def test_rows_grow_a_thousandfold_without_a_gigabyte_at_once(tmp_path: Path):
    """Rows that follow a long run of short ones: the size of a read must not rest on those before alone."""
    source = encoded(tmp_path / "x.parquet", {"text": ["a"] * 20_000 + [LONG] * 3000})
    chunks = list(source.read(source.shards()[0]))
    assert sum(len(chunk.documents) for chunk in chunks) == 23_000
    # The longest read is one of 4,096 short rows that turn into long ones: 80 MB here, never above 256.
    assert max(chunk.documents.nbytes for chunk in chunks) < 84 << 20


def test_a_list_longer_than_a_document_is_one_bad_row(tmp_path: Path):
    """It would be joined into gigabytes before its length is looked at."""
    rows = [["ok"], ["a" * 1000] * 200_000, ["after"]]
    source = encoded(tmp_path / "x.parquet", {"text": rows}).model_copy(
        update={"limits": Limits(document_chars=10_000, ratio=10**6)}
    )
    found = read(source)
    assert (found.texts, found.faults) == (["ok", "after"], [("row 1", "document_too_long")])


def test_file_bytes_counts_what_comes_out(tmp_path: Path):
    write(tmp_path / "x.parquet", {"text": ["abcdefgh"] * 1000})
    with pytest.raises(InputError, match=r"x\.parquet: more than 5000 bytes \(limits\.file_bytes\)"):
        read(Files(paths=[str(tmp_path)], limits={"file_bytes": 5000}))


FAR = 2**62


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array([FAR, 1], pa.timestamp("us")), [str(FAR), '"1970-01-01 00:00:00.000001"']),
        (pa.array([1, 2], pa.timestamp("us", "Mars/Base")), ["1", "2"]),
        (pa.array([2**30, 1], pa.int32()).cast(pa.date32()), [str(2**30), '"1970-01-02"']),
        (pa.array([2**60, 1], pa.duration("s")), [str(2**60), '"0:00:01"']),
        (pa.array([1, 2], pa.time64("ns")), ["00:00:00.000000001", "00:00:00.000000002"]),
        (pa.array([1000, 2000], pa.time64("ns")), ['"00:00:00.000001"', '"00:00:00.000002"']),
        (pa.array([{"x": [FAR]}, None], pa.struct([("x", pa.list_(pa.timestamp("us")))])), [f'{{"x":[{FAR}]}}', None]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_a_moment_that_python_cannot_tell_is_kept_as_its_number(tmp_path: Path, column: pa.Array, wanted: list[Any]):
    """One date in the year 300,000 ended the run with a traceback; times cut to microseconds gave two rows one id."""
    write(tmp_path / "x.parquet", {"text": ["a", "b"], "when": column})
    assert read(Files(paths=[str(tmp_path)], columns=["when"])).column("when") == wanted


def broken(values: list[bytes]) -> pa.Array:
    """A column of strings that are not all UTF-8."""
    stored = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(values), stored.buffers()[1], stored.buffers()[2])


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), broken([b"\xff", b"good"])),
        pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), broken([b"\xff", b"good"])),
        pa.array([[b"\xff"], [b"good"]], pa.list_(pa.binary())),
    ],
    ids=lambda column: str(column.type),
)
def test_one_value_that_is_not_utf8_is_one_bad_row(tmp_path: Path, column: pa.Array):
    """It refused the whole file."""
    write(tmp_path / "x.parquet", {"text": column})
    found = read(Files(paths=[str(tmp_path)], text_join=" "))
    assert (found.texts, found.faults) == (["good"], [("row 0", "invalid_utf8")])


def test_bytes_in_a_struct_show_as_escapes(tmp_path: Path):
    column = pa.StructArray.from_arrays([broken([b"\xff", b"good"])], ["x"])
    write(tmp_path / "x.parquet", {"text": ["a", "b"], "id": column})
    assert read(Files(paths=[str(tmp_path)], id_key="id")).ids == ['{"x":"\\\\xff"}', '{"x":"good"}']
