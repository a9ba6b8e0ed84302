"""Files that were renamed and changed since they were published, without a kind of dedup to find their copies."""

from pathlib import Path
from typing import Any

import pytest
from corpora import documents_of, request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.manifest import read_manifest

TEXTS = [f"document {number} of the first day" for number in range(10)]


def first_day(folder: Path) -> PrepareConfig:
    config = request(folder)
    write_documents(folder / "in" / "log.jsonl", TEXTS)
    pipeline.prepare(config)
    return config


def published(config: PrepareConfig) -> list[str]:
    files = read_manifest(config.destination).files
    return [text for file in files for text in documents_of(Path(config.destination) / file.path)]


def renamed_and_appended(folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    write_documents(folder / "log-1.jsonl", [*TEXTS, "one more"])


def compressed(folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    write_documents(folder / "log.jsonl.gz", TEXTS)


@pytest.mark.parametrize("change", [renamed_and_appended, compressed])
def test_without_dedup_documents_are_never_published_twice(tmp_path: Path, change: Any) -> None:
    """A log under another name published the whole of it once more, with a word on removed shards alone."""
    config = first_day(tmp_path)
    change(tmp_path / "in")
    with pytest.raises(ConfigError, match=r"published.*no kind in dedup compares documents.*file of its own"):
        pipeline.prepare(config)
    assert published(config) == TEXTS
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    write_documents(tmp_path / "in" / "log.jsonl", TEXTS)
    write_documents(tmp_path / "in" / "new.jsonl", ["one more"])
    pipeline.prepare(config)
    assert published(config) == [*TEXTS, "one more"]


def test_an_unlike_file_in_the_place_of_one_that_is_gone_is_new(tmp_path: Path) -> None:
    """A refusal of every file that comes when another goes would stop a log that rotates."""
    config = first_day(tmp_path)
    (tmp_path / "in" / "log.jsonl").unlink()
    write_documents(tmp_path / "in" / "next.jsonl", [TEXTS[0], "a new day", "another"])
    pipeline.prepare(config)
    assert published(config) == [*TEXTS, TEXTS[0], "a new day", "another"]
