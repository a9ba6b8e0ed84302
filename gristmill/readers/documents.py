"""Documents one by one: no sample holds ids of two."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gristmill.errors import ConfigError, InputError, alternatives
from gristmill.readers._published import Published, data_set, file_here
from gristmill.readers._samples import Read
from gristmill.types import DOCUMENT, PublishedFile

BLOCK_DOCUMENTS = 512
KEPT_BLOCKS = 256
"""Whose pieces stay in memory, at about 16 kB each."""


@dataclass(frozen=True, kw_only=True)
class _Stretch:
    """Some documents that lie together in a file."""

    file: PublishedFile
    listed: np.ndarray
    """``DOCUMENT`` records."""
    start: int
    """The id at which the first one starts."""
    begun: int
    """The input shard of the document whose end the file begins with; -1 where it begins with a document."""


class Documents:
    """Each document with its end of text, or its pieces of ``length`` ids and their targets where it is longer: a piece
    begins with the last target of the one before. Shorter samples are filled up with 0 under the mask.

    path, split, format, generations, dtype, tokenizer: as for ``Windows``.
    sources: only documents of these sources of the configuration; default all.

    Ids that a label mask of the data set hides are not to be learned. Documents of input that is gone are passed over.
    Takes some 200 bytes of memory for 512 documents, whose list is mapped and read once. Raises ``ConfigError`` where
    the data set is of other ids or has no such source, ``InputError`` when no document is left.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        length: int,
        split: str = "train",
        sources: Collection[str] | None = None,
        format: str | None = None,
        generations: int | None = None,
        dtype: str | None = None,
        tokenizer: str | None = None,
    ) -> None:
        self.length = length
        self._from = data_set(
            path, split=split, format=format, generations=generations, dtype=dtype, tokenizer=tokenizer
        )
        self._wanted = _wanted(self._from, sources)
        every = _stretches(self._from)
        counts = np.array([len(self._pieces(stretch)[0]) for stretch in every], np.int64)
        if not counts.any():
            raise InputError(f"{path}: no document of split {split!r} and these sources has two ids or more")
        self._stretches = [stretch for stretch, count in zip(every, counts.tolist(), strict=True) if count]
        self.blocks = counts[counts > 0]
        self._first = np.concatenate([[0], np.cumsum(self.blocks)])
        self._block = lru_cache(maxsize=KEPT_BLOCKS)(lambda place: self._pieces(self._stretches[place]))

    @property
    def content(self) -> list[str]:
        return [f"documents in pieces of {self.length} of {self._wanted.tolist()}", *self._from.content]

    def read(self, numbers: np.ndarray) -> Read:
        ids = np.zeros((len(numbers), self.length + 1), np.int64)
        mask = np.zeros(ids.shape, bool)
        for row, (file, start, stop) in enumerate(self._places(numbers)):
            ids[row, : stop - start] = self._from.read(file, start, stop)
            mask[row, : stop - start] = self._from.learned(file, start, stop)
        return Read(ids=ids, mask=mask)

    def expect(self, numbers: np.ndarray) -> None:
        for file, start, stop in self._places(numbers):
            self._from.expect(file, start, stop)

    def _places(self, numbers: np.ndarray) -> list[tuple[PublishedFile, int, int]]:
        stretches = np.searchsorted(self._first, numbers, "right") - 1
        found = []
        for place, number in zip(stretches.tolist(), (numbers - self._first[stretches]).tolist(), strict=True):
            starts, stops = self._block(place)
            found.append((self._stretches[place].file, int(starts[number]), int(stops[number])))
        return found

    def _pieces(self, stretch: _Stretch) -> tuple[np.ndarray, np.ndarray]:
        """int64: where the samples of some documents start and stop in their file."""
        sizes = stretch.listed["length"].astype(np.int64) + self._from.eot
        starts = stretch.start + np.cumsum(sizes) - sizes
        shards = stretch.listed["shard"].astype(np.int64)
        if stretch.begun >= 0:
            sizes = np.insert(sizes, 0, stretch.start)
            starts, shards = np.insert(starts, 0, 0), np.insert(shards, 0, stretch.begun)
        stops = np.minimum(starts + sizes, stretch.file.tokens)  # the last one may go on in the next file
        counts = np.where(np.isin(shards, self._wanted), -(-(stops - starts - 1) // self.length), 0)
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        begins = np.repeat(starts, counts) + number * self.length
        return begins, np.minimum(begins + self.length + 1, np.repeat(stops, counts))


def _wanted(published: Published, sources: Collection[str] | None) -> np.ndarray:
    """The input shards whose documents are to be read, sorted."""
    there = set(published.sources.values())
    unknown = sorted(set(sources or ()) - there)
    if unknown:
        raise ConfigError(f"{published.uri}: no source {unknown[0]!r}; {alternatives(unknown[0], sorted(there))}")
    return np.array(
        sorted(
            shard
            for shard, source in published.sources.items()
            if shard not in published.removed and (sources is None or source in sources)
        ),
        np.int64,
    )


def _stretches(published: Published) -> list[_Stretch]:
    found = []
    last = -1
    for file in published.files:
        path = file_here(published.uri, f"documents/{file.path}")
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; the data set has no list of its documents")
        listed = np.memmap(path, DOCUMENT, "r") if path.stat().st_size else np.empty(0, DOCUMENT)
        first = file.boundaries[0].token if file.boundaries else file.tokens
        start, begun = first, last if first else -1
        for low in range(0, max(1, len(listed)), BLOCK_DOCUMENTS):
            some = listed[low : low + BLOCK_DOCUMENTS]
            found.append(_Stretch(file=file, listed=some, start=start, begun=begun))
            start += int(some["length"].sum(dtype=np.int64)) + published.eot * len(some)
            begun = -1
        last = int(listed[-1]["shard"]) if len(listed) else last
    return found
