"""All counts are known: decide every published file and the pieces it is joined from."""

from collections import Counter

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.formats.base import Format, OutputFile
from gristmill.types import Layout, Piece, PlannedFile, StageReport, file_name


def layout(generation: int, tokenized: list[StageReport], arranged: StageReport, config: PrepareConfig) -> Layout:
    """The files of a generation of every format, train before val, and their pieces in stream order. A later generation
    has none where nothing of what arrived is new.

    Raises ``InputError`` when the first one has none.
    """
    documents: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    for report in tokenized:
        for bucket, (count, size) in report.details["buckets"].items():
            documents[int(bucket)] += count
            tokens[int(bucket)] += size
    buckets = arranged.details["buckets"]
    streams = {"train": range(buckets, 2 * buckets), "val": range(buckets)}
    files: list[PlannedFile] = []
    pieces: list[Piece] = []
    for format in config.formats:
        eot = int(format.eot != "none")
        sizes = {bucket: tokens[bucket] + eot * documents[bucket] for bucket in range(2 * buckets)}
        lengths = {split: sum(sizes[bucket] for bucket in stream) for split, stream in streams.items()}
        for file in format.files({split: length for split, length in lengths.items() if length}):
            found = _pieces(format, file, streams[file.split], sizes, len(pieces))
            files.append(
                PlannedFile(
                    index=len(files),
                    format=format.kind(),
                    path=file_name(file.path, generation),
                    split=file.split,
                    pieces=[piece.index for piece in found],
                    tokens=file.stop - file.start,
                )
            )
            pieces.extend(found)
    if not files and generation == 1:
        raise InputError("no document is left to publish: the tokenizer gives none of them any id", "bad_ids")
    return Layout(files=files, pieces=pieces)


def _pieces(format: Format, file: OutputFile, stream: range, sizes: dict[int, int], first: int) -> list[Piece]:
    """The part of each bucket that lies in the file."""
    found: list[Piece] = []
    position = 0
    for bucket in stream:
        start, stop = max(file.start - position, 0), min(file.stop - position, sizes[bucket])
        position += sizes[bucket]
        if start < stop:
            found.append(
                Piece(
                    index=first + len(found),
                    format=format.kind(),
                    path=file.path,
                    split=file.split,
                    bucket=bucket,
                    start=start,
                    stop=stop,
                )
            )
    return found
