"""What every input source offers: an ordered list of shards, and the documents of one shard."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import pyarrow as pa
from pydantic import Field

from gristmill.cleaning.base import Cleaner
from gristmill.plugins import Plugin, Room
from gristmill.types import ShardRef, Value


class BadDocument(Value, frozen=True, kw_only=True):
    """A document that cannot be used; it goes to the quarantine file instead of the corpus.

    ``reason`` is one of ``json_syntax``, ``not_an_object``, ``missing_text``, ``null_text``, ``non_string_text``,
    ``empty_text``, ``invalid_utf8``, ``lone_surrogate``, ``line_too_long``, ``too_deep``, ``document_too_long``.
    """

    reason: str
    place: str
    """``line 17`` or ``row 3`` (1-based line, 0-based row), as the file's own tools count."""
    offset: int
    """Byte offset in the decompressed stream; -1 where the format has none."""
    excerpt: str
    """At most 200 characters, escaped to printable ASCII."""


class Chunk(Value, frozen=True, kw_only=True):
    """A bounded piece of a shard, in order: usable documents of ``DOCUMENT_SCHEMA`` and the ones set aside."""

    documents: pa.RecordBatch
    bad: list[BadDocument]


class Source(Plugin):
    """Base of all kinds of input. A source yields each document once, in the same order every time."""

    name: str = Field("", description="Name of the source in reports, mixing and per-source rules; default: the kind.")
    genre: str = Field("web", description="Kind of text: web, book, code, forum or wiki.")
    priority: int = Field(0, description="Of equal documents the one from the source with the highest priority stays.")
    cleaning: list[Annotated[Cleaner, Room("cleaning")]] | None = Field(
        None, description="Rules for this source alone, instead of the common ones."
    )

    listing: ClassVar[frozenset[str]] = frozenset()
    """Fields that decide which shards there are, not how one is read: a change redoes no shard."""

    @property
    def label(self) -> str:
        """The name in reports."""
        return self.name or self.kind()

    def reading(self) -> dict[str, Any]:
        """What determines the documents of a shard besides the shard itself, for fingerprints."""
        ignored = {"cleaning", "genre", "priority", *self.listing}
        return {key: value for key, value in self.identity().items() if key not in ignored} | {"name": self.label}

    def shards(self) -> list[ShardRef]:
        """Every unit of input, in document order, numbered from 0; the plan renumbers across sources.

        Raises ``InputError`` when there is nothing to read, naming what was looked for.
        """
        raise NotImplementedError

    def read(self, shard: ShardRef) -> Iterator[Chunk]:
        """The documents of one shard, a bounded number (about 4 MB of text) at a time.

        Raises ``InputError`` that names the file when the file as a whole is damaged, ``StorageError`` when it could
        not be read this time.
        """
        raise NotImplementedError
