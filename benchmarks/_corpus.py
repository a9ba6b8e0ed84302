"""The corpus of a comparison: what is in it, a part of it, and the same uncompressed."""

import gzip
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from isal import igzip


class Document(msgspec.Struct):
    """What is read of a line."""

    text: str


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of jsonl.gz files, counted."""

    folder: str
    files: int
    documents: int
    text_bytes: int
    """UTF-8, as all rates are given."""
    file_bytes: int


def files(folder: Path) -> list[Path]:
    """The files of a corpus. Raises ``SystemExit`` where there are none."""
    found = sorted(folder.glob("*.jsonl.gz"))
    if not found:
        raise SystemExit(f"{folder}: no files *.jsonl.gz")
    return found


def counted(folder: Path) -> Corpus:
    """The corpus in ``folder``; reading it also brings it into memory for whoever is measured first."""
    documents = nbytes = 0
    decoder = msgspec.json.Decoder(Document)
    for lines in map(_lines, files(folder)):
        for line in lines:
            documents += 1
            nbytes += len(decoder.decode(line).text.encode())
    held = sum(path.stat().st_size for path in files(folder))
    return Corpus(folder=folder.name, files=len(files(folder)), documents=documents, text_bytes=nbytes, file_bytes=held)


def _lines(path: Path) -> Iterator[bytes]:
    with igzip.open(path) as lines:
        yield from lines


def part(folder: Path, share: float, target: Path, *, least: int) -> Path:
    """The first ``share`` of the files copied to ``target``, at least ``least`` of them; the folder itself if all."""
    found = files(folder)
    count = max(math.ceil(share * len(found)), least)
    if count >= len(found):
        return folder
    target.mkdir(parents=True)
    for path in found[:count]:
        shutil.copy(path, target)
    return target


def plain(folder: Path, target: Path) -> Path:
    """The files of a corpus uncompressed, for programs that read no other."""
    target.mkdir(parents=True)
    for path in files(folder):
        with gzip.open(path) as source, (target / path.stem).open("wb") as copy:
            shutil.copyfileobj(source, copy)
    return target
