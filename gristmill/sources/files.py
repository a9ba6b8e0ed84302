"""Text in files: JSON Lines, parquet, plain text and HTML, compressed or not, on disk or behind a URI."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar

from msgspec.structs import replace
from pydantic import Field, FieldSerializationInfo, field_serializer, field_validator

from gristmill.addresses import REFUSED_IN_FORMS, has_user, is_chained, public, with_user_of
from gristmill.errors import GristmillError, InputError, StorageError
from gristmill.settings import FULL_ADDRESSES, Location
from gristmill.sources import _listing, _text
from gristmill.sources._found import Found, Glob, Part, counted, wrong_kind
from gristmill.sources._jsonl import LineReader
from gristmill.sources._keyed import KeyedSource
from gristmill.sources._limits import MIB
from gristmill.sources._lines import blocks, ranged
from gristmill.sources._names import kind_of
from gristmill.sources._parquet import Table
from gristmill.sources._streams import PIECE, Raw, codec_of, text_of
from gristmill.sources._unfolded import as_lines, is_lines
from gristmill.sources.base import Chunk, Inputs
from gristmill.storage.s3_keys import KEYS_IN_ADDRESS
from gristmill.text import whitespace
from gristmill.types import ShardRef

SHARD_BYTES = 256 * MIB
"""About how much text a shard holds where a file can be read from the middle: plain JSON Lines and parquet."""

UNDIVIDED_BYTES = 32 * MIB
"""A parquet file up to this size is one shard without a look inside: thousands of small files plan in no time."""

_LOOKED_INTO = 8
"""Text files in whose first megabyte a separator is looked for before it is called missing."""


class Files(KeyedSource):
    """Files, folders (with their subfolders) and globs (``**`` for any number of folders).

    Shards are ordered by the bytes of the file's path, then by place in the file. Kinds go by suffix, in any case:
    ``.jsonl .ndjson .json`` objects, one a line, over several lines or in an array; ``.parquet .pq``;
    ``.txt .md .text`` one document a file or a piece; ``.html .htm`` one document a file, markup kept. Compression
    (gzip, zstd, bz2, xz) goes by the first bytes. In folders and globs, other suffixes, names that start with ``.`` or
    ``_``, empty files and what is no regular file are passed over; the run names how many. A link must lead to a file
    in one of the folders.
    """

    listing: ClassVar[frozenset[str]] = frozenset({"paths", "links"})

    def identity(self) -> dict[str, Any]:
        """As of every plugin; paths in another order name the same files in the same order."""
        return {**super().identity(), "paths": sorted(map(public, self.paths))}

    addresses: ClassVar[frozenset[str]] = frozenset({"paths"})

    paths: list[Location] = Field(
        min_length=1,
        repr=False,
        description="Files, folders, globs or URIs; order does not matter. What a URI has of user, password, query and "
        "fragment is used to read and is never kept.",
        json_schema_extra={"items": {"type": "string", "not": {"pattern": REFUSED_IN_FORMS}}},
    )
    separator: str | None = Field(
        None, min_length=1, description="Splits plain text files; default: one document each."
    )

    @field_validator("paths")
    @classmethod
    def _named(cls, paths: list[str]) -> list[str]:
        for path in paths:
            if not path or "\0" in path:
                raise ValueError(f"{path!r} is not a path")
            if is_chained(path):
                raise ValueError(f"{path}: a chained address; give that of the file itself")
            if has_user(path) and path.lower().startswith(("s3://", "s3a://")):
                raise ValueError(f"{path}: {KEYS_IN_ADDRESS}")
        return paths

    @field_serializer("paths")
    def _dumped(self, paths: list[str], info: FieldSerializationInfo) -> list[str]:
        return paths if info.context == FULL_ADDRESSES else [*map(public, paths)]

    def shards(self) -> list[ShardRef]:
        return self.listed().shards

    def reaches(self, folder: str) -> bool:
        return any(_listing.reaches(path, folder) for path in self.paths)

    def listed(self) -> Inputs:
        listed = _listing.files(self.paths, follow=self.links == "follow")
        found = [(file, part) for file in listed.found for part in self._parts(file)]
        shards = [
            ShardRef(
                index=index,
                source=self.label,
                uri=file.uri,
                size=file.size if part is None else part.size,
                identity=file.identity,
                part=None if part is None else {"start": part.start, "stop": part.stop},
                link=file.link,
            )
            for index, (file, part) in enumerate(found)
        ]
        return Inputs(shards=shards, passed_over=counted(listed.passed.values(), self.label))

    def read(self, shard: ShardRef) -> Iterator[Chunk]:
        """As of every source; also raises ``InputError`` when a file on disk is not what it was when it was listed."""
        with _listing.opened(self._address(shard.uri)) as raw:
            _listing.check_unchanged(shard)
            try:
                for chunk in self._chunks(raw, shard):
                    # Each time, for a reader may stop early: half of an old file and half of a new one are neither.
                    _listing.check_unchanged(shard)
                    yield chunk if chunk.share else replace(chunk, share=_share(raw, shard))
            except InputError:
                _listing.check_unchanged(shard)  # damage that comes from a change is told as one
                raise
            _listing.check_unchanged(shard)

    def remarks(self, shards: Sequence[ShardRef]) -> list[str]:
        """A separator that does not occur at the start of some text files, and what one of them has instead."""
        if self.separator is None:
            return []
        between, heads = whitespace.separator(self.separator), {}
        for shard in [shard for shard in shards if kind_of(shard.uri) == "text"][:_LOOKED_INTO]:
            with suppress(GristmillError), _listing.opened(self._address(shard.uri)) as raw:
                heads[shard.uri] = next(text_of(raw, self.limits).pieces, b"")
        if not heads or any(map(between.search, heads.values())):
            return []
        uri, head = next(iter(heads.items()))
        return [f"{uri}: {whitespace.unmet(self.separator)}; it has {_look(head, self.separator)}"]

    def _address(self, uri: str) -> str:
        """Where a file is opened: its public address with what the path that names it has of user and query."""
        for path in self.paths:
            if public(path) == uri:
                return path
        for path in filter(has_user, self.paths):
            if uri.startswith(Glob.parse(public(path)).base):
                return with_user_of(uri, path)
        return uri

    def _chunks(self, raw: Raw, shard: ShardRef) -> Iterator[Chunk]:
        match kind_of(shard.uri):
            case "parquet":
                yield from Table(raw).read(self.fields(), self.limits, shard.part)
            case "jsonl":
                yield from self._read_lines(raw, shard.part)
            case "text":
                yield from self._read_text(raw, self.separator)
            case "html":
                yield from self._read_text(raw, None)
            case None:
                raise wrong_kind(shard.uri)

    def _read_lines(self, raw: Raw, part: dict[str, int] | None) -> Iterator[Chunk]:
        if part is None:
            text, unit = as_lines(text_of(raw, self.limits), raw.uri)
        else:
            text, unit = ranged(raw, start=part["start"], stop=part["stop"]), "offset"
        reader = LineReader(fields=self.fields(), limits=self.limits, uri=raw.uri, unit=unit)
        yield from reader.chunks(blocks(text, line_bytes=self.limits.line_bytes))

    def _read_text(self, raw: Raw, separator: str | None) -> Iterator[Chunk]:
        text = text_of(raw, self.limits)
        yield from _text.read(text, fields=self.fields(), limits=self.limits, uri=raw.uri, separator=separator)

    def _parts(self, file: Found) -> list[Part] | list[None]:
        """How a file is shared between shards; ``[None]``: it is one."""
        try:
            match kind_of(file.uri):
                case "jsonl" if file.size > SHARD_BYTES:
                    return _line_ranges(file, self._address(file.uri))
                case "parquet" if file.size > UNDIVIDED_BYTES:
                    with _listing.opened(self._address(file.uri)) as raw:
                        runs = Table(raw).runs(SHARD_BYTES, file.size)
                    return runs if len(runs) > 1 else [None]
        except InputError:
            # The plan must not fail for one damaged file: reading the shard gives the same error, in its own task.
            return [None]
        return [None]


def _share(raw: Raw, shard: ShardRef) -> float:
    """How much of a shard that is read from its start on lies behind."""
    start = 0 if shard.part is None else shard.part["start"]
    return min(1.0, (raw.position - start) / max(1, shard.size))


def _look(head: bytes, separator: str) -> str:
    """What else may stand between the documents of a file, and how it begins."""
    marks = [whitespace.unescaped(separator), "\n\n\n", "\n\n", "\n", "\f", "---", "***", "<|endoftext|>"]
    counts = {mark: len(whitespace.separator(mark).findall(head)) for mark in marks if mark != separator}
    found = ", ".join(f"{json.dumps(mark)} {count} times" for mark, count in counts.items() if count)
    begins = json.dumps(head[:80].decode(errors="replace"), ensure_ascii=False)
    return f"{found or 'no line end'} in its first {len(head):,} bytes and begins {begins}"


def _line_ranges(file: Found, address: str) -> list[Part] | list[None]:
    with _listing.opened(address) as raw:
        if codec_of(raw.peek(16)) != "plain" or not raw.seekable() or not is_lines(raw.peek(PIECE)):
            return [None]
        try:
            raw.seek(file.size - 1)
            raw.read(1)
        except StorageError:
            return [None]  # a web server that gives no parts
    count = -(-file.size // SHARD_BYTES)
    edges = [file.size * n // count for n in range(count + 1)]
    return [Part(start=start, stop=stop, size=stop - start) for start, stop in pairwise(edges)]
