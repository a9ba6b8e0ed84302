"""What every input source offers: an ordered list of shards, and the documents of one shard."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import pyarrow as pa
from msgspec import field
from msgspec.structs import replace
from pydantic import Field

from gristmill.cleaning.base import Cleaner
from gristmill.plugins import Plugin, Room
from gristmill.sources._sampling import Allowance, sampled, shared_out
from gristmill.types import PassedOver, ShardRef, Value

Genre = Literal["web", "book", "code", "forum", "wiki"]
"""Kinds of text; each cleaner says in ``genres`` which of its values a genre changes."""


class BadDocument(Value, frozen=True, kw_only=True):
    """A document that cannot be used; it goes to the quarantine file instead of the corpus.

    ``reason`` is one of ``json_syntax``, ``not_an_object``, ``missing_text``, ``null_text``, ``non_string_text``,
    ``empty_text``, ``invalid_utf8``, ``lone_surrogate``, ``line_too_long``, ``too_many_values``, ``too_deep``,
    ``document_too_long``.
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
    skipped: int = 0
    """Usable documents that were read and left out: not sampled, or past a limit."""
    share: float = 0.0
    """About how much of the shard was read when this one was made, up to 1; 0 where that is not known."""


class Inputs(Value, frozen=True, kw_only=True):
    """What a source gives, in document order, and the files that it passes over."""

    shards: list[ShardRef]
    passed_over: list[PassedOver] = field(default_factory=list)


class Source(Plugin):
    """Base of all kinds of input. A source yields each document once, in the same order every time.

    A kind implements ``shards`` and ``read``; stages call ``inputs`` and ``documents``, which add what is common to
    all: a sample by hash, and limits for a rehearsal.
    """

    name: str = Field("", description="Name of the source in reports, mixing and per-source rules; default: the kind.")
    genre: Genre = Field("web", description="Kind of text: the values of rules that are not set go by it.")
    priority: int = Field(0, description="Of equal documents the one from the source with the highest priority stays.")
    cleaning: list[Annotated[Cleaner, Room("cleaning")]] | None = Field(
        None, description="Rules for this source alone, instead of the common ones."
    )
    sample_rate: float | None = Field(
        None, gt=0, le=1, description="Share of the documents to use, chosen by a hash of id and text; default: all."
    )
    sample_seed: int = Field(0, ge=0, lt=1 << 32, description="Another seed chooses other documents.")
    limit_documents: int | None = Field(
        None, gt=0, description="For a rehearsal: at most so many documents, spread evenly over the shards."
    )
    limit_bytes: int | None = Field(
        None, gt=0, description="For a rehearsal: at most so many bytes of text, spread evenly over the shards."
    )

    listing: ClassVar[frozenset[str]] = frozenset()
    """Fields that decide which shards there are, not how one is read: a change redoes no shard."""

    @property
    def label(self) -> str:
        """The name in reports."""
        return self.name or self.kind()

    def resolved(self, common: list[Cleaner]) -> Self:
        """The same with a list of its own that spells out the rules in force, wherever the genre changes them.

        A source without a list that the genre leaves as ``common`` stays without: who edits the common rules of a
        configuration that was stored and shown in a form must still edit those of its sources.
        """
        asked = common if self.cleaning is None else self.cleaning
        rules = [cleaner.for_genre(self.genre) for cleaner in asked]
        return self if rules == asked else self.model_copy(update={"cleaning": rules})

    def thinned(self, share: float) -> Self:
        """The same with ``share`` of its documents, 0 to 1, chosen by hash among those that it uses now; its limits
        shrink alike, so that as much is read. All of it is the source as it is."""
        if share == 1:
            return self
        limits = {"limit_documents": self.limit_documents, "limit_bytes": self.limit_bytes}
        less = {name: None if limit is None else max(1, round(limit * share)) for name, limit in limits.items()}
        return self.model_copy(update={"sample_rate": (self.sample_rate or 1) * share, **less})

    def identity(self) -> dict[str, Any]:
        """As of every plugin, but without genre and rules: the configuration tells those in force for each source."""
        return {key: value for key, value in super().identity().items() if key not in ("genre", "cleaning")}

    def reading(self) -> dict[str, Any]:
        """What determines the documents of a shard besides the shard itself, for fingerprints."""
        # Limits reach a shard as its ``take``: another limit redoes only the shards whose share it changes.
        ignored = {"cleaning", "priority", "limit_documents", "limit_bytes", *self.listing}
        return {key: value for key, value in self.identity().items() if key not in ignored} | {"name": self.label}

    def planned(self) -> list[ShardRef]:
        """The shards to read, numbered from 0; where a limit is set, only those that it needs, each with its share."""
        return self.inputs().shards

    def inputs(self) -> Inputs:
        """``planned``, and the files that are passed over."""
        found = self.listed()
        needed = shared_out(found.shards, documents=self.limit_documents, nbytes=self.limit_bytes)
        return replace(found, shards=needed)

    def listed(self) -> Inputs:
        """All shards; a source that lists folders also says which files it passes over."""
        return Inputs(shards=self.shards())

    def remarks(self, shards: Sequence[ShardRef]) -> list[str]:
        """What a user should know of some of these shards before they are read; reads a few MB at most."""
        return []

    def reaches(self, folder: str) -> bool:
        """Whether files that appear in this folder can become input."""
        return False

    def documents(self, shard: ShardRef) -> Iterator[Chunk]:
        """What ``read`` yields, without the documents that are not sampled or do not fit into the shard's share.

        ``skipped`` counts them. Reading ends where the share is used up: what lies behind is neither read nor counted.
        """
        allowance = Allowance(shard.take)
        for chunk in self.read(shard):
            taken = allowance.cut(sampled(chunk.documents, self.sample_rate, self.sample_seed))
            yield replace(chunk, documents=taken, skipped=len(chunk.documents) - len(taken))
            if allowance.spent:
                return

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
