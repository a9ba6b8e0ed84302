"""Published documents as text, by their number, by a place in the stream of ids, or by what they say."""

from collections.abc import Iterator

import numpy as np

from gristmill.errors import ConfigError, alternatives
from gristmill.formats.base import format_of
from gristmill.inspection.origins import Origins
from gristmill.manifest import read_manifest
from gristmill.stages.dedup.recall import published_encoder
from gristmill.storage import stores
from gristmill.types import DOCUMENT, Value

KEPT_TABLES = 4
"""Files whose table of documents stays in memory, 20 bytes a document."""


class Part(Value, frozen=True, kw_only=True):
    """Some ids of one document that lie next to each other in one file, decoded."""

    document: int
    """Its number in the split, from 0."""
    file: str
    start: int
    """Place of the first id in the file."""
    ids: int
    """How many, end-of-text not counted."""
    length: int
    """Of the whole document."""
    source: str
    input: str
    """The input shard that it comes from."""
    shard: int
    """The number of that."""
    text: str


class _Table:
    """The documents that start in a file: where, in ids from its start, how long without end-of-text, from where."""

    def __init__(self, records: np.ndarray, first: int, eot: int) -> None:
        self.lengths = records["length"].astype(np.int64)
        self.shards = records["shard"]
        sizes = self.lengths + eot
        self.starts = first + np.cumsum(sizes) - sizes


class Browser:
    """The documents of one split of a data set in published order, numbered from 0 over all its files.

    split: by default the first one of the manifest.
    format: a kind in the manifest; by default the first one.

    Raises ``ConfigError`` when the data set has no such split or format, naming those that it has.
    """

    def __init__(self, output: str, *, split: str | None = None, format: str | None = None) -> None:
        self._place = stores.at(output)
        self._output = output
        self.manifest = read_manifest(output)
        self.format = _chosen(output, "format", format, [file.format for file in self.manifest.files])
        files = [file for file in self.manifest.files if file.format == self.format]
        self.split = _chosen(output, "split", split, [file.split for file in files])
        self._files = [file for file in files if file.split == self.split]
        self._layout = format_of(self.manifest, self.format)
        self._dtype = self._layout.dtype(self.manifest.tokenizer.vocab_size)
        self._encoder = published_encoder(output, self.manifest)
        self._inputs = {shard.index: shard for shard in self.manifest.source_shards}
        self._counts = np.cumsum([0, *(file.documents for file in self._files)])
        self._begins = np.cumsum([0, *(file.tokens for file in self._files)])
        # A stream ends with its generation, perhaps within a document: a format may leave out what fills no sample.
        last = {file.generation: place for place, file in enumerate(self._files)}
        self._ends = [int(self._begins[last[file.generation] + 1]) for file in self._files]
        self._tables: dict[int, _Table] = {}
        self._mapped: dict[int, np.ndarray] = {}

    @property
    def documents(self) -> int:
        """How many the split has."""
        return int(self._counts[-1])

    @property
    def ids(self) -> int:
        """How many the split has, end-of-text included."""
        return int(self._begins[-1])

    def document(self, number: int) -> Part:
        """A whole document. Raises ``ConfigError`` when there is none of this number."""
        if not 0 <= number < self.documents:
            raise ConfigError(f"document {number}: {self._called} has the documents 0 to {self.documents - 1}")
        return self._part(number, 0, self.ids)

    def window(self, number: int, length: int) -> list[Part]:
        """The parts of documents in the ids ``number * length`` to ``(number + 1) * length - 1`` of all files.

        Raises ``ConfigError`` when there is no such window.
        """
        if length < 1:
            raise ConfigError(f"length {length}: a window has at least one id")
        windows = -(-self.ids // length)
        if not 0 <= number < windows:
            raise ConfigError(f"window {number}: {self._called} has the windows 0 to {windows - 1} of {length} ids")
        low, high = number * length, min((number + 1) * length, self.ids)
        first = self._at(low)
        last = self._at(high - 1)
        parts = (self._part(document, low, high) for document in range(first, last + 1))
        return [part for part in parts if part.ids]

    def search(self, text: str) -> Iterator[Part]:
        """Whole documents that contain the text, in order; upper and lower case differ. Decodes one after another."""
        for number in range(self.documents):
            found = self._part(number, 0, self.ids)
            if text in found.text:
                yield found

    def names(self, parts: list[Part], *, remote: bool) -> list[str]:
        """The ids of the documents of some parts, as ``Origins`` finds them."""
        origins = Origins(self.manifest, self._encoder, remote=remote)
        found: dict[int, str] = {}
        for shard in {part.shard for part in parts}:
            numbers = [part.document for part in parts if part.shard == shard]
            ids = origins.ids(shard, [self.document(number).text for number in numbers])
            found |= dict(zip(numbers, ids, strict=True))
        return [found[part.document] for part in parts]

    @property
    def _called(self) -> str:
        return f"split {self.split!r} of format {self.format!r}"

    def _part(self, number: int, low: int, high: int) -> Part:
        """What of a document lies between two places of the stream of all files."""
        place = int(np.searchsorted(self._counts, number, "right")) - 1
        table, row = self._table(place), number - int(self._counts[place])
        length = int(table.lengths[row])
        begin = int(self._begins[place] + table.starts[row]) + (self._layout.eot == "prepend")
        start = min(max(begin, low), high)
        stop = max(start, min(begin + length, high, self._ends[place]))
        where = min(int(np.searchsorted(self._begins, start, "right")) - 1, len(self._files) - 1)
        shard = self._inputs[int(table.shards[row])]
        return Part(
            document=number,
            file=self._files[where].path,
            start=start - int(self._begins[where]),
            ids=stop - start,
            length=length,
            source=shard.source,
            input=shard.uri,
            shard=shard.index,
            text=self._decoded(self._read(start, stop)) if stop > start else "",
        )

    def _decoded(self, ids: np.ndarray) -> str:
        if self._layout.holds == "text":
            return ids.tobytes().decode("utf-8", "replace")
        return self._encoder.decode(ids)

    def _at(self, position: int) -> int:
        """The number of the document to which an id of the stream belongs."""
        place = int(np.searchsorted(self._begins, position, "right")) - 1
        before = int(np.searchsorted(self._table(place).starts, position - self._begins[place], "right"))
        return max(0, int(self._counts[place]) + before - 1)

    def _read(self, start: int, stop: int) -> np.ndarray:
        """Ids of the stream of all files."""
        first = int(np.searchsorted(self._begins, start, "right")) - 1
        last = int(np.searchsorted(self._begins, stop, "left"))
        found = []
        for place in range(first, last):
            begin = int(self._begins[place])
            found.append(np.array(self._ids(place)[max(0, start - begin) : stop - begin]))
        return np.concatenate(found)

    def _ids(self, place: int) -> np.ndarray:
        """All ids of a file: mapped where they stand one after the other up to its end, else read."""
        if place not in self._mapped:
            file = self._files[place]
            path = self._place.path(file.path)
            blocks = self._layout.blocks(path, self._dtype)
            first = next(blocks)
            header = file.bytes - file.tokens * self._dtype.itemsize
            if header >= 0:
                ids = np.memmap(path, self._dtype, "r", offset=header)
                if np.array_equal(ids[: len(first)], first):
                    self._mapped[place] = ids
                    return ids
            self._mapped = {place: np.concatenate([first, *blocks])}
        return self._mapped[place]

    def _table(self, place: int) -> _Table:
        if place not in self._tables:
            if len(self._tables) == KEPT_TABLES:
                self._tables.clear()
            file = self._files[place]
            records = np.fromfile(self._place.path(f"documents/{file.path}"), DOCUMENT)
            first = file.boundaries[0].token if file.boundaries else file.tokens
            self._tables[place] = _Table(records, first, int(self._layout.eot != "none"))
        return self._tables[place]


def _chosen(output: str, what: str, wanted: str | None, there: list[str]) -> str:
    """The wanted one, or the first; raises ``ConfigError`` that lists them all."""
    names = list(dict.fromkeys(there))
    if not names:
        raise ConfigError(f"{output}: no published file; nothing can be shown")
    if wanted is None:
        return names[0]
    if wanted not in names:
        raise ConfigError(f"{output}: no {what} {wanted!r}; {alternatives(wanted, names)}")
    return wanted
