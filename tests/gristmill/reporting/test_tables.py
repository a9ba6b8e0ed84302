"""Rows for people, with strings from data made harmless."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manifests import manifest, source_shard, token_file

from gristmill.reporting.tables import (
    escape,
    escaped,
    input_rows,
    markdown,
    published_rows,
    transfer_rows,
)
from gristmill.types import LabelMask, StageReport


@given(st.text())
def test_text_from_data_cannot_leave_its_cell(text: str) -> None:
    """The server's page renders Markdown with raw HTML: a document's name must not become a link or a script."""
    found = escape(text)
    bare = re.sub(r"&#\d+;", "", found)
    assert not set(bare) & set("<>|`[]*\\!\n\r")
    assert bare.isprintable() or bare == ""
    assert len(re.sub(r"&#\d+;", "x", found)) <= 200


def test_escaped_text_still_reads_as_itself() -> None:
    assert escape("a|b <i>\n") == "a&#124;b &#60;i&#62; "
    assert escape("caf\u00e9 \u4e2d\x00") == "caf\u00e9 \u4e2d?"


def test_a_row_for_every_published_file() -> None:
    rows = published_rows(manifest())
    assert [row["file"] for row in rows] == ["nanogpt/train.bin", "nanogpt/val.bin"]
    assert rows[0] | {"sha256": ""} == {
        "file": "nanogpt/train.bin", "split": "train", "documents": 1234, "tokens": 1_234_567, "EOS": 1234,
        "bytes": 2468, "sha256": "",
    }  # fmt: skip


def test_what_a_label_mask_hides_is_told() -> None:
    """Ids that are published and never learned would be counted as training data."""
    masked = token_file(mask=LabelMask(path="olmo/label_masks/train/part-00000.npy", hidden=70, blocks=[]))
    rows = published_rows(manifest(files=[masked, token_file(path="nanogpt/train.bin")]))
    assert [row["hidden"] for row in rows] == [70, 0]


def test_how_files_got_to_their_place_is_told_of_those_of_this_run() -> None:
    """Nothing is known of the files of earlier generations, and nothing is made up."""
    details = {"file": {"path": "nanogpt/val.bin"}, "transfer": {"seconds": 2.0, "bytes": 5_000_000, "retries": 3}}
    report = StageReport(stage="upload", shard=1, fingerprint="f00d", details=details)
    rows = transfer_rows(manifest(), [report])
    assert [(row["seconds"], row["MB/s"], row["retries"]) for row in rows] == [(None, None, None), (2.0, 2.5, 3)]


def test_a_row_for_every_input_shard_accounts_for_its_documents() -> None:
    """A shard whose losses are not shown would look as if it had lost nothing."""
    shards = [
        source_shard(dropped={"blank": 1, "too_short": 2000}),
        source_shard(index=1, uri="b|c.parquet", part={"start": 2, "stop": 5}, error="cut <here>", quarantined={}),
    ]
    first, second = input_rows(manifest(source_shards=shards))
    assert (first["shard"], first["input"], first["documents"], first["kept"]) == (0, "a.jsonl", 5, 3)
    assert (first["dropped"], first["quarantined"], first["error"]) == ("blank 1, too_short 2,000", "json_syntax 1", "")
    assert second["input"] == "b|c.parquet (2 to 5)"
    assert (second["quarantined"], second["error"]) == ("", "cut <here>")
    (shown,) = escaped([second])
    assert (shown["input"], shown["error"]) == ("b&#124;c.parquet (2 to 5)", "cut &#60;here&#62;")
    assert shown["documents"] == 5
    assert "| b&#124;c.parquet (2 to 5) |" in markdown([second])


@pytest.mark.parametrize("count", [1, 3])
def test_a_table_has_as_many_cells_in_every_line(count: int) -> None:
    lines = markdown([{"name": "a", "documents": 1_234_567}] * count).split("\n")
    assert len(lines) == count + 2
    assert {line.count("|") for line in lines} == {3}
    assert "| a | 1,234,567 |" in lines


def test_no_rows_are_said_to_be_none() -> None:
    assert markdown([]) == "None."
