"""What is seen of the input before a run: wrong keys, types and separators, and a look at the documents."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill import config, pipeline
from gristmill.errors import InputError
from gristmill.manifest import read_manifest
from gristmill.reporting.health import warnings
from gristmill.reporting.tables import first_rows_lines
from gristmill.stages.ingest.plan import plan
from gristmill.types import FirstRows

ROWS = [{"id": n, "text": f"text {n}\n" + "x" * 200 * (n % 2), "url": None} for n in range(5)]


def write(folder: Path, kind: str, rows: list[dict[str, Any]] = ROWS, name: str = "a") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "json":
        path.write_text(json.dumps(rows, indent=1))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def request(tmp_path: Path, **source: Any) -> config.PrepareConfig:
    document = {
        "dataset": "first",
        "sources": [{"kind": "files", "name": "web", "paths": [str(tmp_path / "in")], **source}],
        "tokenizer": {"kind": "bytes"},
        "split": {"kind": "none"},
        "output": str(tmp_path / "out"),
        "execution": {"work": str(tmp_path / "work"), "workers": 1},
    }
    settings = {
        key: document["sources"][0].pop(key) for key in ("on_bad_file", "max_quarantined_share") if key in source
    }
    return config.parse(document | settings)


def looked(tmp_path: Path, **source: Any) -> list[FirstRows]:
    return plan(request(tmp_path, **source)).first_rows


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_a_wrong_text_key_is_refused_before_anything_runs(tmp_path: Path, kind: str):
    """A typing error in `text_key` failed after minutes of other files, or in every task of a cluster."""
    write(tmp_path / "in", "jsonl", name="0")
    path = write(tmp_path / "in", kind, [{"body": "a", "id": 1}], name="z")
    if kind != "parquet":
        (tmp_path / "in" / "0.jsonl").unlink()
    with pytest.raises(InputError, match=rf"z\.{kind}: no (column|row has the key) 'text'.*: '?body'?, '?id"):
        plan(request(tmp_path))
    with pytest.raises(InputError, match=r"'text' \(text_key\)"):
        pipeline.prepare(request(tmp_path))
    assert not (tmp_path / "work" / "fetch").exists()
    (found,) = [first for first in looked(tmp_path, on_bad_file="quarantine") if str(path) == first.uri]
    assert "no " in found.remarks[0]


@pytest.mark.parametrize(("column", "said"), [([1, 2], "is int64; accepted"), ([["a"], ["b"]], "is list<")])
def test_a_text_column_of_another_type_is_refused(tmp_path: Path, column: list[Any], said: str):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"text": column}), tmp_path / "in" / "a.parquet")
    with pytest.raises(InputError, match=said):
        plan(request(tmp_path))


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_a_key_that_no_row_has_is_remarked(tmp_path: Path, kind: str):
    """Ids fell back to file and line without a word where `id_key` was misspelt."""
    write(tmp_path / "in", kind)
    (found,) = looked(tmp_path, id_key="uid", source_key="site", columns=["url", "text_id"])
    said = [(remark.partition("has the key ")[2]) for remark in found.remarks]
    assert said == [
        "'uid' (id_key): their ids are file name and line or row",
        "'site' (source_key): their source is web",
        "'url' (columns): it is empty",
        "'text_id' (columns): it is empty",
    ]
    assert looked(tmp_path, id_key="id")[0].remarks == []


def test_three_documents_of_every_kind_of_file_and_source_are_shown(tmp_path: Path):
    for name, kind in (("a", "jsonl"), ("b", "jsonl"), ("c", "parquet"), ("d", "json")):
        write(tmp_path / "in", kind, name=name)
    (tmp_path / "in" / "e.txt").write_text("one")
    found = looked(tmp_path, id_key="id")
    assert [Path(first.uri).name for first in found] == ["a.jsonl", "c.parquet", "e.txt"]
    assert [[row.id for row in first.documents] for first in found] == [["0", "1", "2"]] * 2 + [["e.txt:1"]]
    lines = first_rows_lines(found[0])
    assert lines[1] == '  0: "text 0\\n"'
    assert lines[2] == f'  1: "text 1\\n{"x" * 153}" ... 207 characters'


def test_rows_that_cannot_be_used_are_remarked(tmp_path: Path):
    write(tmp_path / "in", "jsonl", [{"text": None}, {"text": 5}, {"text": "a"}])
    (found,) = looked(tmp_path)
    assert found.remarks[0].endswith("of the first 3 rows 2 cannot be used: null_text 1, non_string_text 1")
    assert not looked(tmp_path, max_quarantined_share=1)[0].remarks


def test_a_damaged_file_is_told_by_its_own_task(tmp_path: Path):
    """The plan of ten thousand files must not fail for one."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").write_bytes(b"PAR1 nonsense")
    assert "not a sound parquet file" in looked(tmp_path)[0].remarks[0]


@pytest.mark.parametrize(
    ("separator", "content", "said"),
    [
        (r"\n\n", "one\n\ntwo", 'separator: "\\n\\n"; it has "\\n\\n" 1 times, "\\n" 2 times'),
        ("---", "one\r\n***\r\ntwo", '"\\n" 2 times, "***" 1 times'),
        ("\n\n", "one\ntwo\n", '"\\n" 2 times in its first 8 bytes and begins "one\\ntwo\\n"'),
    ],
)
def test_a_separator_that_never_occurs_is_a_warning_with_a_look_at_the_file(
    tmp_path: Path, separator: str, content: str, said: str
):
    """In single quotes YAML keeps the backslash: a book of a thousand chapters was one document, with status 0."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(content.encode())
    (remark,) = looked(tmp_path, separator=separator)[0].remarks
    assert f"a.txt: the separator {separator!r} does not occur, so that each file is one document" in remark
    assert said in remark
    pipeline.prepare(request(tmp_path, separator=separator))
    (warning,) = [line for line in warnings(read_manifest(tmp_path / "out")) if "separator" in line]
    assert warning.startswith(f"web: the separator {separator!r} does not occur")
    report = tmp_path / "out" / "report"
    for page in (report / "summary.md", report / "index.html"):
        assert "does not occur, so that each file is one document" in page.read_text()


def test_a_separator_that_divides_one_of_many_files_is_no_warning(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one")
    (tmp_path / "in" / "b.txt").write_text("two\r\n\r\nthree")
    assert looked(tmp_path, separator="\n\n")[0].remarks == []
    pipeline.prepare(request(tmp_path, separator="\n\n"))
    assert not [line for line in warnings(read_manifest(tmp_path / "out")) if "separator" in line]
