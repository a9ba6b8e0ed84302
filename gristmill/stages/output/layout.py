"""All counts are known: decide every published file and the pieces it is joined from."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.formats.base import Format, OutputFile
from gristmill.stages.output.pack import members, starts_of
from gristmill.stages.tokens.mix import counts_of
from gristmill.types import Layout, Piece, PlannedFile, StageReport


def layout(
    generation: int,
    tokenized: list[StageReport],
    texts: list[StageReport],
    arranged: StageReport,
    mixed: StageReport | None,
    config: PrepareConfig,
) -> Layout:
    """The files of a generation of every format, train before val, and their pieces in stream order. A later generation
    has none where nothing of what arrived is new. ``mixed``: None where nothing is mixed.

    Raises ``InputError`` when the first one has none.
    """
    buckets = arranged.details["buckets"]
    splits = {"train": range(buckets, 2 * buckets), "val": range(buckets)}
    files: list[PlannedFile] = []
    pieces: list[Piece] = []
    rest: dict[str, int] = {}
    for format in config.formats:
        reports = format.made_of(tokenized, texts)
        found = {split: _Stream(reports, own, format, mixed) for split, own in splits.items()}
        streams = {split: stream for split, stream in found.items() if stream.length}
        planned = format.files(dict(streams), generation) if streams else []
        for file in planned:
            made = streams[file.split].pieces(format, file, len(pieces))
            files.append(
                PlannedFile(
                    index=len(files),
                    format=format.kind(),
                    path=file.path,
                    split=file.split,
                    pieces=[piece.index for piece in made],
                    tokens=file.stop - file.start,
                )
            )
            pieces.extend(made)
        whole = sum(stream.length for stream in streams.values())
        rest[format.kind()] = whole - sum(file.stop - file.start for file in planned)
    if not files and generation == 1:
        raise InputError("no document is left to publish: the tokenizer gives none of them any id", "bad_ids")
    return Layout(files=files, pieces=pieces, rest=rest)


class _Stream:
    """The buckets of a split, one after the other; documents are looked up in the bucket in which a file ends."""

    def __init__(self, reports: list[StageReport], buckets: range, format: Format, mixed: StageReport | None) -> None:
        self._buckets = buckets
        eot = int(format.eot != "none")
        every = counts_of(format, reports, mixed)
        counts = [every.get(bucket, (0, 0)) for bucket in buckets]
        self._edges = np.cumsum([0, *(size + eot * count for count, size in counts)])
        self.length = int(self._edges[-1])
        self.documents = sum(count for count, _ in counts)
        self._starts: Callable[[int], np.ndarray] = lru_cache(maxsize=1)(
            lambda place: starts_of(members(buckets[place], reports, mixed), eot) + self._edges[place]
        )

    def start_before(self, position: int) -> int:
        """The last place at or before ``position`` where a document starts; the end counts as one."""
        if position >= self.length:
            return self.length
        starts = self._starts(self._place(position))
        return int(starts[np.searchsorted(starts, position, "right") - 1])

    def start_after(self, position: int) -> int:
        """The first place at or after ``position`` where a document starts; the end counts as one."""
        if position >= self.length:
            return self.length
        place = self._place(position)
        starts = self._starts(place)
        at = int(np.searchsorted(starts, position))
        return int(starts[at] if at < len(starts) else self._edges[place + 1])

    def _place(self, position: int) -> int:
        """Which bucket holds an id."""
        return int(np.searchsorted(self._edges, position, "right")) - 1

    def pieces(self, format: Format, file: OutputFile, first: int) -> list[Piece]:
        """The part of each bucket that lies in the file."""
        found: list[Piece] = []
        for bucket, low, high in zip(self._buckets, self._edges[:-1].tolist(), self._edges[1:].tolist(), strict=True):
            start, stop = max(file.start, low) - low, min(file.stop, high) - low
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
