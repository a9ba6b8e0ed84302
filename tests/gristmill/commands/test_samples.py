"""Example windows of a published file."""

from pathlib import Path

import pytest
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.commands.samples import WINDOW_IDS, windows
from gristmill.manifest import read_manifest


@pytest.mark.parametrize("text", ["x", "one text " * 100])
def test_windows_are_pieces_of_the_published_text(tmp_path: Path, text: str) -> None:
    """What is shown must be what a trainer reads: decoded from the file, also one shorter than a window."""
    write_documents(tmp_path / "in" / "a.jsonl", [text])
    config = request(tmp_path)
    pipeline.prepare(config)
    output = Path(config.destination)
    found = windows(output, read_manifest(output))
    whole = f"{text}<|endoftext|>"
    assert len(found) == 3
    assert all(piece in whole for piece in found)
    assert found == windows(output, read_manifest(output))
    if len(text) > WINDOW_IDS:
        assert {len(piece) for piece in found} == {WINDOW_IDS}
        assert len(set(found)) > 1


def test_windows_of_packed_rows(tmp_path: Path) -> None:
    """The last thing that the command shows must not fail on files that are no raw ids."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one text " * 100])
    packing = {"kind": "no_truncation", "length": 99}
    config = request(tmp_path, packing=packing, formats=[{"kind": "parquet_rows"}])
    pipeline.prepare(config)
    output = Path(config.destination)
    assert all(piece in "<|endoftext|>" + "one text " * 100 for piece in windows(output, read_manifest(output)))
