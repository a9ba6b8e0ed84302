"""A data set of one file, and files that change after it was published."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpora import documents_of, request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.manifest import read_manifest

TEXTS = [f"document {number} of the first day" for number in range(10)]


def first_day(folder: Path, **settings: Any) -> PrepareConfig:
    """The configuration of a data set that is published."""
    config = request(folder, **settings)
    write_documents(folder / "in" / "log.jsonl", TEXTS)
    pipeline.prepare(config)
    return config


def published(config: PrepareConfig) -> list[str]:
    """The texts of the files of all generations."""
    files = read_manifest(config.destination).files
    return [text for file in files for text in documents_of(Path(config.destination) / file.path)]


def check_never_twice(folder: Path, change: Callable[[Path], None]) -> None:
    """Without dedup a change of the file is refused; what is new goes into a file beside it."""
    config = first_day(folder)
    change(folder / "in")
    with pytest.raises(ConfigError, match=r"published.*no kind in dedup compares documents.*file of its own"):
        pipeline.prepare(config)
    assert published(config) == TEXTS
    for path in (folder / "in").iterdir():
        path.unlink()
    write_documents(folder / "in" / "log.jsonl", TEXTS)
    write_documents(folder / "in" / "new.jsonl", ["one more"])
    pipeline.prepare(config)
    assert published(config) == [*TEXTS, "one more"]
