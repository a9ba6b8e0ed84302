"""Files that were renamed and changed since they were published, without a kind of dedup to find their copies."""

from pathlib import Path
from typing import Any

import pytest
from corpora import write_documents
from first_day import TEXTS, check_never_twice, first_day, published

from gristmill import pipeline


def renamed_and_appended(folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    write_documents(folder / "log-1.jsonl", [*TEXTS, "one more"])


def compressed(folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    write_documents(folder / "log.jsonl.gz", TEXTS)


@pytest.mark.parametrize("change", [renamed_and_appended, compressed])
def test_without_dedup_documents_are_never_published_twice(tmp_path: Path, change: Any) -> None:
    """A log under another name published the whole of it once more, with a word on removed shards alone."""
    check_never_twice(tmp_path, change)


def test_an_unlike_file_in_the_place_of_one_that_is_gone_is_new(tmp_path: Path) -> None:
    """A refusal of every file that comes when another goes would stop a log that rotates."""
    config = first_day(tmp_path)
    (tmp_path / "in" / "log.jsonl").unlink()
    write_documents(tmp_path / "in" / "next.jsonl", [TEXTS[0], "a new day", "another"])
    pipeline.prepare(config)
    assert published(config) == [*TEXTS, TEXTS[0], "a new day", "another"]
