"""What every output format offers: its dtype rule, its files, what stands beside them, its own bytes read back."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeVar

import numpy as np
from pydantic import Field

from gristmill.plugins import Plugin, load
from gristmill.storage import disk
from gristmill.storage.rows import RowGroup
from gristmill.types import DOCUMENT, LabelMask, Manifest, PublishedFile, TokenizerRecord, Value, token_dtype

Choice = TypeVar("Choice")

EotSide = Literal["append", "prepend", "none"]

BLOCK_BYTES = 4 << 20
"""Read at a time."""

BLOCK_DOCUMENTS = 1 << 16
"""Lengths read at a time."""


class OutputFile(Value, frozen=True, kw_only=True):
    """One file to publish: the half-open range of ids of a split's stream (EOT included) that it holds."""

    path: str
    """Relative to ``OUTPUT/<format>/``."""
    split: str
    start: int
    stop: int


class Stream(Protocol):
    """The documents of a split in a generation, back to back, EOT included."""

    length: int
    """In ids, above 0."""
    documents: int

    def start_before(self, position: int) -> int:
        """The last place at or before ``position`` where a document starts; the end counts as one."""

    def start_after(self, position: int) -> int:
        """The first place at or after ``position`` where a document starts; the end counts as one."""


class Packed(Value, frozen=True, kw_only=True):
    """What one file is to hold."""

    path: str
    split: str
    tokens: int
    """Ids, EOT included."""
    documents: int
    """That start in it."""
    dtype: np.dtype
    """Of the ids in ``ids``."""
    eot: int
    """Ids of EOT a document, 0 or 1."""
    tokenizer: TokenizerRecord
    ids: list[Path]
    """Files of raw ids, to be joined."""
    lists: list[Path]
    """Files of ``DOCUMENT`` records, to be joined."""

    def blocks(self) -> Iterator[np.ndarray]:
        """The ids in order, some MB at a time."""
        for path in self.ids:
            yield from raw_blocks(path, self.dtype)

    def lengths(self) -> Iterator[np.ndarray]:
        """int64: how many ids each document has, EOT included, some thousand at a time."""
        return (records["length"].astype(np.int64) + self.eot for records in self._records())

    def shards(self) -> Iterator[np.ndarray]:
        """uint32: the input shard of each document, as many at a time as ``lengths``."""
        return (records["shard"] for records in self._records())

    def _records(self) -> Iterator[np.ndarray]:
        for path in self.lists:
            with path.open("rb") as file:
                while data := file.read(BLOCK_DOCUMENTS * DOCUMENT.itemsize):
                    yield np.frombuffer(data, DOCUMENT)


class DataSet(Value, frozen=True, kw_only=True):
    """What is published of a format, for the settings that its trainer wants."""

    name: str
    folder: str
    """Absolute URI of ``OUTPUT/<format>``."""
    generation: int
    files: list[PublishedFile]
    """Of this format, of all generations up to this one; paths begin with ``<format>/``."""
    tokenizer: TokenizerRecord
    archive: Path
    """Folder on this machine with the tokenizer's files."""

    def paths(self, split: str) -> list[str]:
        """Absolute URIs of a split's files."""
        return [self.where(file) for file in self.files if file.split == split]

    def masks(self, split: str) -> list[str]:
        """Absolute URIs of the label masks of a split's files that have one."""
        return [self.where(file.mask) for file in self.files if file.split == split and file.mask is not None]

    def where(self, file: PublishedFile | LabelMask) -> str:
        """The absolute URI of a file."""
        return f"{self.folder}/{file.path.partition('/')[2]}"


class Format(Plugin):
    """Settings and byte layout of one trainer's files."""

    dtypes: ClassVar[tuple[str, ...]] = ("<u2", "<u4")
    """Of ``token_dtype``: what the reader of this format can be given, narrowest first."""

    holds: ClassVar[Literal["tokens", "rows", "text"]] = "tokens"
    """One stream of ids, packed rows of them, or the bytes of the cleaned text in UTF-8, which then stand wherever ids
    are spoken of."""

    read_as: ClassVar[Literal["ids", "rows"] | None] = None
    """What ``gristmill.readers`` open in its files: ids of the type that ``packed`` gives, back to back after a header
    or none; rows as ``storage.rows`` writes them. None for anything else."""

    cut_by: ClassVar[str] = ""
    """The key that says how many ids a file has at most, its default what is usual; empty where a split is one file."""

    eot: EotSide = "append"

    def most_ids(self) -> int:
        """Of a file of a format that has ``cut_by``."""
        found: int = getattr(self, self.cut_by)
        return found

    def made_of(self, ids: Choice, text: Choice) -> Choice:
        """The one of two for ids, or the one for text, as its files are made of these."""
        return text if self.holds == "text" else ids

    def packed(self, vocab_size: int) -> np.dtype:
        """Type of the ids that it is made from."""
        return self.made_of(token_dtype(vocab_size), np.dtype("u1"))

    def dtype(self, vocab_size: int) -> np.dtype:
        """Type of the ids in its files."""
        return self.packed(vocab_size)

    def ids(self, vocab_size: int) -> int:
        """Every id in its files is below this."""
        return self.made_of(vocab_size, 256)

    def eot_id(self, tokenizer: TokenizerRecord) -> int | None:
        """The id that parts documents in its files; None where nothing does."""
        return None if self.eot == "none" else tokenizer.eot_id

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        """The files of a generation that hold the stream of each split; no stream is empty.

        Raises ``InputError`` when the reader of the format could not use them.
        """
        raise NotImplementedError

    def header(self, packed: Packed) -> bytes:
        """Bytes before the first token."""
        return b""

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        """Files that, joined after the header, are the published one: the packed ids as they are, or one written into
        ``folder`` where the format stores them otherwise."""
        return packed.ids

    def companions(self, packed: Packed) -> dict[str, Iterator[bytes]]:
        """Files that stand beside a token file, made from its documents, by path relative to ``OUTPUT/<format>/``."""
        return {}

    def masks(self, path: str, blocks: Iterator[np.ndarray]) -> dict[str, Iterator[np.ndarray]]:
        """At most one file of bool by its path, one an id in ``blocks``: those of the token file ``path``, to which
        both paths are relative as companions' are. It is made from the ids alone, so that it can be made again from
        the published file."""
        return {}

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """Further small files by path: settings for the trainer, an index over a generation. One that differs between
        generations has a name that does."""
        return {}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        """The ids of a published file in order, a few MB at a time; ``dtype`` is that of the file.

        Raises ``VerificationError`` when the layout is broken (a cut item, a wrong header).
        """
        raise NotImplementedError


class RowFormat(Format):
    """Base of the formats that hold packed rows. A kind of packing makes them, ``write`` puts them into a file."""

    holds: ClassVar[Literal["tokens", "rows", "text"]] = "rows"

    group: int = Field(256, ge=1, le=1 << 20, description="Rows in a row group, the least that is read at once.")

    def write(self, out: disk.Writer, groups: Iterator[RowGroup], dtype: np.dtype) -> None:
        """Write a file with ids of type ``dtype``. Each group has ``group`` rows, the last one the rest."""
        raise NotImplementedError


def format_of(manifest: Manifest, kind: str) -> Format:
    """The format plugin that wrote files of this kind."""
    settings = next(entry for entry in manifest.config["formats"] if entry["kind"] == kind)
    loaded = load("formats", settings)
    assert isinstance(loaded, Format)
    return loaded


def raw_blocks(path: Path, dtype: np.dtype, offset: int = 0) -> Iterator[np.ndarray]:
    """The ids of a raw file from byte ``offset`` on, a few MB at a time."""
    with path.open("rb") as file:
        file.seek(offset)
        while data := file.read(BLOCK_BYTES // dtype.itemsize * dtype.itemsize):
            yield np.frombuffer(data, dtype)
