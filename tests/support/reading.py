"""Reading a whole source in a test."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from gristmill.sources.base import Chunk, Source


class Read:
    """Everything that a source yielded, in order."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks = list(chunks)
        for chunk in self.chunks:
            chunk.documents.validate(full=True)
        self.bad = [bad for chunk in self.chunks for bad in chunk.bad]

    def column(self, name: str) -> list[Any]:
        return [value for chunk in self.chunks for value in chunk.documents.column(name).to_pylist()]

    @property
    def texts(self) -> list[str]:
        return self.column("text")

    @property
    def ids(self) -> list[str]:
        return self.column("id")

    @property
    def faults(self) -> list[tuple[str, str]]:
        return [(bad.place, bad.reason) for bad in self.bad]

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_batches([chunk.documents for chunk in self.chunks])


def read(source: Source) -> Read:
    """All shards of a source."""
    return Read(chunk for shard in source.shards() for chunk in source.read(shard))
