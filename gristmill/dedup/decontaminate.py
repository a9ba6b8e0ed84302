"""Documents that contain pieces of evaluation texts."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pydantic import Field

from gristmill.columns import strings
from gristmill.dedup._shingles import shingles
from gristmill.dedup.base import Match, Screen
from gristmill.errors import ConfigError, InputError
from gristmill.settings import Location
from gristmill.storage import disk


class Decontaminate(Screen):
    """Drops (or reports) documents that share a run of ``ngram`` words with a text of ``paths``.

    13 words as in GPT-3 (Brown et al. 2020, appendix C) and marin; datatrove takes 12. Words and their folding are
    those of ``minhash``. An evaluation file is jsonl, of which every string longer than ``ngram`` words counts wherever
    it stands, or plain text, a line each.
    """

    paths: list[Location] = Field(min_length=1, description="Files of evaluation texts: .jsonl or plain text.")
    ngram: int = Field(13, ge=1, le=1000, description="Words of a run that is too much to share.")

    def check(self) -> None:
        for path in self.paths:
            if not Path(path).is_file():
                raise ConfigError(f"decontaminate: {path}: no such file; paths are .jsonl or plain text files")

    def identity(self) -> dict[str, Any]:
        """With the sums of the files that are there: other evaluation texts are another rule."""
        sums = [disk.digest(Path(path)) if Path(path).is_file() else "" for path in self.paths]
        return {**super().identity(), "sha256": sums}

    def matches(self, documents: pa.RecordBatch) -> list[Match]:
        hashes, owners, names = _evaluation(tuple(self.paths), _stamps(self.paths), self.ngram)
        found, offsets = shingles(documents.column("text"), self.ngram, "words")
        places = np.minimum(np.searchsorted(hashes, found), max(len(hashes) - 1, 0))
        hits = np.flatnonzero(hashes[places] == found) if len(hashes) else np.empty(0, np.int64)
        rows, first = np.unique(np.searchsorted(offsets, hits, "right") - 1, return_index=True)
        return [
            Match(row=row, match=names[owners[places[hit]]])
            for row, hit in zip(rows.tolist(), hits[first].tolist(), strict=True)
        ]


def _stamps(paths: list[str]) -> tuple[tuple[int, int], ...]:
    """Size and time of change of each file: one that is edited between two runs of a process is read again."""
    found = []
    for path in paths:
        with disk.translated(Path(path)):
            status = Path(path).stat()
        found.append((status.st_size, status.st_mtime_ns))
    return tuple(found)


@lru_cache(maxsize=2)
def _evaluation(
    paths: tuple[str, ...],
    stamps: tuple[tuple[int, int], ...],  # noqa: ARG001  part of the key of the cache
    ngram: int,
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Sorted hashes of all runs, the number of the text that each is from, and the texts' names."""
    names, texts = [], []
    for path in paths:
        for number, text in _texts(Path(path)):
            names.append(f"{path}:{number}")
            texts.append(text)
    hashes, offsets = shingles(strings(texts), ngram, "words")
    if not len(hashes):
        raise InputError(f"decontaminate: {', '.join(paths)}: no text of {ngram} words or more", "no_text_column")
    distinct, first = np.unique(hashes, return_index=True)
    return distinct, np.searchsorted(offsets, first, "right") - 1, names


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of every string of a file."""
    with disk.translated(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if path.suffix not in (".jsonl", ".json"):
                yield number, line.decode("utf-8", "replace")
                continue
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise InputError(f"{path}: line {number}: {error}", "bad_document") from None
            yield from ((number, text) for text in _strings(row))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _strings(entry)
