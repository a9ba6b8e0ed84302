"""Data sets of the Hugging Face hub, or in a folder laid out like one."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pydantic import AliasChoices, Field

from gristmill.settings import Location
from gristmill.sources import _hub, _listing
from gristmill.sources._found import counted
from gristmill.sources._hub import MAIN, Choice
from gristmill.sources._keyed import KeyedSource
from gristmill.sources._parquet import check_text, steps_to
from gristmill.sources._rows import MISSING, bad, dig, fault_of
from gristmill.sources.base import BadDocument, Chunk, Inputs
from gristmill.sources.files import Files
from gristmill.types import ShardRef

MOST_DIVIDED_FILES = 64
"""Of a split with more files each is one shard without a look inside: there is enough to share, and a look costs a
request or two per file."""

STREAMED = "datasets:"
"""Starts the URI of a shard that the ``datasets`` library reads."""


class HuggingFace(KeyedSource):
    """A split of a data set, read from its own parquet or JSON Lines files, over the network where they are there.

    Configurations, splits and the order of files are what the ``datasets`` library makes of the data set. A revision
    is resolved to a commit when the run is planned, and the commit is part of every shard's URI. Other formats (CSV,
    text by line, JSON arrays, Arrow, archives) are read by the library, one shard for each of its own; code that a
    data set brings along is never run. ``HF_ENDPOINT`` names another hub, ``HF_TOKEN`` opens private data sets.
    """

    listing: ClassVar[frozenset[str]] = frozenset(
        {"path", "config_name", "split", "revision", "first_shards", "data_files", "links"}
    )

    path: Location = Field(
        min_length=1, description="A folder, or org/name on the hub; a folder that exists comes first."
    )
    config_name: str | None = Field(None, description="Which of the data set's configurations; default: its own.")
    split: str = Field("train", min_length=1, description="Which split.")
    revision: str = Field(MAIN, min_length=1, description="Branch, tag or commit on the hub.")
    first_shards: int | None = Field(
        None,
        gt=0,
        validation_alias=AliasChoices("first_shards", "shards"),
        description="Use the first so many files and the last one, for split: last_shard; also written shards.",
    )
    data_files: list[str] | None = Field(
        None, min_length=1, description="Globs below the data set that make up split train, instead of its own splits."
    )

    def shards(self) -> list[ShardRef]:
        return self.listed().shards

    def reaches(self, folder: str) -> bool:
        return Path(self.path).is_dir() and _listing.reaches(self.path, folder)

    def listed(self) -> Inputs:
        choice = self._choice(_hub.pinned(self.path, self.revision))
        found = _hub.listed(choice)
        links = _hub.links(choice.root, follow=self.links == "follow")
        leading = {file: links.outside(file) for file in found.files if not _listing.is_remote(file)}
        refs = self._of_files(found.files) if found.readable else self._of_streams(choice, found.files)
        shards = [
            ShardRef(index=index, source=self.label, link=leading.get(ref["uri"], ""), **ref)
            for index, ref in enumerate(refs)
        ]
        return Inputs(shards=shards, passed_over=counted(found.unused.values(), self.label))

    def read(self, shard: ShardRef) -> Iterator[Chunk]:
        if shard.uri.startswith(STREAMED) and shard.part is not None:
            yield from self._read_stream(self._choice(shard.uri.removeprefix(STREAMED)), shard)
        else:
            yield from self._files(shard.uri).read(shard)

    def _choice(self, root: str) -> Choice:
        return Choice(root=root, config_name=self.config_name, split=self.split, data_files=self.data_files)

    def _files(self, uri: str) -> Files:
        """One file of the data set as a source that reads rows in the same way."""
        return Files(
            paths=[uri],
            name=self.label,
            text_key=self.text_key,
            text_join=self.text_join,
            id_key=self.id_key,
            source_key=self.source_key,
            limits=self.limits,
        ).model_copy(update={"columns": self.columns})

    def _of_files(self, files: list[str]) -> Iterator[dict[str, Any]]:
        chosen = [files[index] for index in self._wanted(len(files))]
        for uri in chosen:
            if len(chosen) > MOST_DIVIDED_FILES:
                file = _listing.measured(uri)
                yield {"uri": uri, "size": file.size, "identity": file.identity}
            else:
                for ref in self._files(uri).shards():
                    yield {"uri": uri, "size": ref.size, "identity": ref.identity, "part": ref.part}

    def _of_streams(self, choice: Choice, files: list[str]) -> Iterator[dict[str, Any]]:
        count = _hub.stream_count(choice)
        found = [_listing.measured(file) for file in files]
        seen = [choice.config_name, choice.split, choice.data_files, [[file.uri, file.identity] for file in found]]
        identity = hashlib.sha256(json.dumps([*seen, count]).encode()).hexdigest()[:32]
        size = sum(file.size for file in found) // count
        for index in self._wanted(count):
            part = {"start": index, "stop": index + 1}
            yield {"uri": STREAMED + choice.root, "size": size, "identity": identity, "part": part}

    def _wanted(self, count: int) -> list[int]:
        """Which of the data set's shards: all, or the first ones and the last."""
        if self.first_shards is None or self.first_shards >= count:
            return list(range(count))
        return [*range(self.first_shards), count - 1]

    def _read_stream(self, choice: Choice, shard: ShardRef) -> Iterator[Chunk]:
        index, row = (shard.part or {})["start"], 0
        for table in _hub.stream(choice, index):
            path = steps_to(pa.struct(list(table.schema)), self.text_key)
            check_text(table.schema, path, self.fields(), shard.uri)
            yield self._chunk(table.to_pylist(), f"{choice.split}/{index}", row)
            row += len(table)

    def _chunk(self, rows: list[dict[str, Any]], name: str, first: int) -> Chunk:
        texts: list[str] = []
        ids: list[str] = []
        faults: list[BadDocument] = []
        fields = self.fields()
        sides: dict[str, list[Any]] = {key: [] for key in fields.side_keys}
        for number, row in enumerate(rows, first):
            text = fields.joined(dig(row, self.text_key, MISSING))
            if reason := fault_of(text, self.limits.document_chars):
                raw = None if text is MISSING or text is None else str(text).encode("utf-8", "surrogatepass")
                faults.append(bad(reason, f"row {number}", -1, raw))
                continue
            texts.append(text)
            ids.append(f"{name}:{number}")
            for key, values in sides.items():
                values.append(dig(row, key))
        return Chunk(documents=fields.batch(texts, sides, ids), bad=faults)
