"""Encode the kept documents of one shard and group them by where they will go."""

from collections import Counter
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.processes import progress
from gristmill.stages.dedup._kept import Kept, kept
from gristmill.stages.tokens import order as ordering
from gristmill.stages.tokens._compare import Check, Mismatch, located, sample
from gristmill.stages.tokens._special import SpecialIds
from gristmill.stages.tokens.tokenizer import encoder, tokenizer_record
from gristmill.storage import disk
from gristmill.tokenizers.base import Encoded, Encoder
from gristmill.types import StageReport, token_dtype

INDEX = pa.schema(
    [
        pa.field("bucket", pa.uint32(), nullable=False),
        pa.field("key", pa.uint64(), nullable=False),
        pa.field("row", pa.uint32(), nullable=False),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("length", pa.uint32(), nullable=False),
    ]
)
"""One row a document, sorted by (bucket, key, row) within a record batch: where its ids stand in ``tokens``, in ids."""

ALONE = 1 << 22
"""A document of more bytes is a batch and a run of its own."""

WRITE_DOCUMENTS = 256
"""Joined before they are written: some hundred kB, which the processor's cache holds while they are hashed."""

NONE = np.empty(0, np.uint32)

RUN_TOKENS = 1 << 25
"""Ids sorted by bucket at a time: 64 MB as uint16, and as much again while they are reordered."""


def tokenize(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    tokenizer: StageReport,
    arranged: StageReport,
    config: PrepareConfig,
    encode_by: Literal["fast", "reference"] = "fast",
) -> StageReport:
    """Write ``tokens`` (raw little-endian ids without EOT) and ``index`` (Arrow IPC, ``INDEX``) for the piece
    number ``place``. ``encode_by="reference"`` leaves the fast library out. Validation has the first half of the
    bucket numbers, train the second. ``details`` says how many documents were ``compared`` with the reference, how many
    were ``different``, and how many ids are ``unknown``.

    Raises ``InputError`` when the fast library and the reference differ on a sampled document (unless the tokenizer's
    ``on_mismatch`` is ``fallback``: then the reference encodes the whole piece) or an id is outside the vocabulary.
    """
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "vocabulary": tokenizer.fingerprint,
        "order": arranged.fingerprint,
        "place": place,
        "encode_by": encode_by,
    }

    def attempt(folder: Path, key: str, by: str, different: int) -> StageReport:
        found, dtype = encoder(tokenizer, config), token_dtype(tokenizer_record(tokenizer).vocab_size)
        documents = decided.details["documents"][place]
        run = Run(place, cleaned, documents, found, dtype, arranged, config, folder, by)
        try:
            for batch in kept(place, cleaned, decided, alone=ALONE):
                if batch.rows.size:
                    run.add(batch)
        except InputError as error:
            run.discard()
            raise error if isinstance(error, Mismatch) else located(error, cleaned.name, batch, found) from None
        return run.report(cleaned, different, key)

    def produce(folder: Path, key: str) -> StageReport:
        try:
            return attempt(folder, key, encode_by, 0)
        except Mismatch as error:
            if config.tokenizer.on_mismatch == "fail":
                raise InputError(f"{cleaned.name}: {error}", error.reason) from None
            return attempt(folder, key, "reference", error.documents)

    return ledger.run(config.execution.work, "tokenize", cleaned.shard, determined, produce)


class Run:
    """Documents encoded so far, and the files they go to: ``tokens`` of the type ``dtype``, and ``index``."""

    def __init__(
        self,
        place: int,
        cleaned: StageReport,
        documents: int,
        encoder: Encoder,
        dtype: np.dtype,
        arranged: StageReport,
        config: PrepareConfig,
        folder: Path,
        encode_by: str,
    ) -> None:
        self._place = place
        self._documents = documents
        self._last_shard = cleaned.shard == arranged.details["last_shard"]
        self._config = config
        self._arranged = arranged.details
        self._encode = encoder.encode if encode_by == "fast" else encoder.encode_reference
        self._pieces = encoder.pieces if encode_by == "fast" else encoder.reference_pieces
        self._special = SpecialIds(encoder)
        compared = sample(documents, config.tokenizer.compare_share, cleaned.fingerprint)
        self._check = Check(encoder, compared if encode_by == "fast" else np.zeros_like(compared))
        self._dtype = dtype
        self._first = arranged.details["first"][place]
        self._key_space = config.ordering.key_space(arranged.details["documents"])
        self._bounds = ordering.bucket_bounds(arranged.details["buckets"], self._key_space)
        self._folder = folder
        self._tokens = disk.Writer(folder / "tokens")
        self._index = disk.Writer(folder / "index")
        self._index_writer = ipc.new_file(self._index, INDEX)
        self._pending: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending_tokens = self._written = self._characters = 0
        self._buckets: dict[int, list[int]] = {}
        self._sources: dict[str, list[int]] = {}
        self._dropped: Counter[str] = Counter()

    def discard(self) -> None:
        """Give up what was written."""
        self._tokens.discard()
        self._index.discard()

    def add(self, batch: Kept, left_out: np.ndarray = NONE) -> None:
        """Encode a batch of kept documents, without those in the rows ``left_out``, which keep their places in the
        order."""
        column = batch.documents.column("text")
        texts = column.to_pylist()
        keys, held_out, texts, rows, sources = self._placed(texts, batch)
        alone = len(batch.rows) == 1 and column.nbytes > ALONE
        if alone and left_out.size:
            return
        encoded = self._written_through(texts) if alone else self._encode(texts)
        self._check.add(texts, encoded)
        if (out := np.union1d(left_out, self._special.quarantine(batch, rows, encoded))).size:
            if alone:
                return
            stays = ~np.isin(rows, out)
            encoded, keys, held_out, rows = encoded.only(stays), keys[stays], held_out[stays], rows[stays]
            texts, sources = list(compress(texts, stays)), list(compress(sources, stays))
        lengths = np.diff(encoded.offsets)
        records = np.empty(
            len(texts), [("bucket", "u4"), ("key", "u8"), ("row", "u4"), ("offset", "u8"), ("length", "u4")]
        )
        buckets = np.searchsorted(self._bounds, keys, "right") - 1
        records["bucket"] = np.where(held_out, buckets, buckets + len(self._bounds))
        records["key"], records["row"], records["length"] = keys, rows, lengths
        records["offset"] = encoded.offsets[:-1]
        self._count(records, sources, texts)
        progress.advance(len(texts), column.nbytes)
        if alone:
            self._write_index(records[lengths > 0])
            return
        self._pending.append((encoded.ids.astype(self._dtype), records[lengths > 0]))
        self._pending_tokens += len(encoded.ids)
        if self._pending_tokens >= RUN_TOKENS:
            self._flush()

    def _written_through(self, texts: list[str]) -> Encoded:
        """Write the ids of ``texts`` after those that are pending, piece by piece: those of one document may be 200
        MB. What is given back has their places among all that is written, and no ids; or the first special id of
        them alone, and nothing is written."""
        self._flush()
        self._tokens.mark()
        offsets = [self._written]
        for text in texts:
            offsets.append(offsets[-1])
            for ids in self._pieces(text):
                self._check.ids(ids)
                if (special := self._special.places(ids)).size:
                    self._tokens.rewind()
                    return Encoded(ids=ids[special[:1]], offsets=np.zeros(len(texts) + 1, np.int64))
                self._tokens.write(ids.astype(self._dtype).data.cast("B"))
                offsets[-1] += len(ids)
        self._written = offsets[-1]
        return Encoded(ids=np.empty(0, np.uint32), offsets=np.array(offsets))

    def _placed(self, texts: list[str], batch: Kept) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray, list[str]]:
        """Order keys and the split of each document; the document at a character cut becomes two."""
        sources = batch.documents.column("source").to_pylist()
        rows, cut = batch.rows, self._arranged["cut"]
        documents, first = self._arranged["documents"], self._first
        self._first += len(texts)
        if cut is None:
            keys = self._config.ordering.order_keys(batch.documents.column("text"), first=first, documents=documents)
            held_out = self._config.split.held_out(
                keys, last_shard=self._last_shard, shards=self._arranged["shards"], key_space=self._key_space
            )
            return keys, held_out, texts, rows, sources
        keys = np.arange(first, first + len(texts), dtype=np.uint64)
        after = np.full(len(rows), self._place > cut["place"])
        here = np.empty(0, np.int64)
        if self._place == cut["place"]:
            after = rows >= cut["row"]
            here = np.flatnonzero(rows == cut["row"])
        if here.size and cut["character"]:
            at = int(here[0])
            texts = [*texts[:at], texts[at][: cut["character"]], texts[at][cut["character"] :], *texts[at + 1 :]]
            sources = [*sources[: at + 1], *sources[at:]]
            keys, rows, after = (np.insert(values, at, values[at]) for values in (keys, rows, after))
            after[at] = False
        return keys, after, texts, rows, sources

    def _count(self, records: np.ndarray, sources: list[str], texts: list[str]) -> None:
        lengths = records["length"].astype(np.int64)
        filled = np.flatnonzero(lengths)
        _, firsts = np.unique(records["row"][filled], return_index=True)
        documents = np.zeros(len(lengths), np.int64)
        documents[filled[firsts]] = 1  # the two pieces of a cut document are one
        self._dropped["no_tokens"] += np.unique(records["row"]).size - len(firsts)
        self._characters += sum(map(len, texts))
        for bucket in np.unique(records["bucket"]):
            chosen = (records["bucket"] == bucket) & (lengths > 0)
            _add(self._buckets, int(bucket), int(chosen.sum()), int(lengths[chosen].sum()))
        if len(set(sources)) == 1:
            _add(self._sources, sources[0], len(firsts), int(lengths.sum()))
        else:
            for source, count, length in zip(sources, documents.tolist(), lengths.tolist(), strict=True):
                _add(self._sources, source, count, length)

    def _flush(self) -> None:
        """Write what is pending, sorted by bucket, as one run."""
        if not self._pending:
            return
        starts = np.cumsum([0, *(len(ids) for ids, _ in self._pending)])
        for start, (_, records) in zip(starts, self._pending, strict=False):
            records["offset"] += np.uint64(start)
        ids = np.concatenate([ids for ids, _ in self._pending])
        records = np.concatenate([records for _, records in self._pending])
        records = records[np.lexsort((records["row"], records["key"], records["bucket"]))]
        data, item = ids.data.cast("B"), self._dtype.itemsize
        begins, ends = records["offset"] * item, (records["offset"] + records["length"]) * item
        ordered = [data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        for start in range(0, len(ordered), WRITE_DOCUMENTS):
            self._tokens.write(b"".join(ordered[start : start + WRITE_DOCUMENTS]))
        sizes = records["length"].astype(np.uint64)
        records["offset"] = self._written + np.cumsum(sizes) - sizes
        self._written += int(sizes.sum())
        self._write_index(records)
        self._pending, self._pending_tokens = [], 0

    def _write_index(self, records: np.ndarray) -> None:
        """Where the documents of a run are, in their order."""
        records = records[np.lexsort((records["row"], records["key"], records["bucket"]))]
        self._index_writer.write_batch(
            pa.record_batch([np.ascontiguousarray(records[name]) for name in INDEX.names], schema=INDEX)
        )

    def report(self, cleaned: StageReport, different: int, key: str) -> StageReport:
        self._flush()
        self._index_writer.close()
        self._index.close()
        self._tokens.close()
        dropped = {reason: count for reason, count in self._dropped.items() if count}
        aside = self._special.written(self._folder)
        return StageReport(
            stage="tokenize",
            shard=cleaned.shard,
            piece=cleaned.piece,
            fingerprint=key,
            docs_in=self._documents,
            docs_out=self._documents - sum(dropped.values()) - self._special.count,
            chars_in=self._characters,
            chars_out=self._characters,
            tokens=self._written,
            dropped=dropped,
            quarantined=self._special.count,
            quarantine_reasons=self._special.reasons(),
            artifacts={"tokens": self._tokens.artifact, "index": self._index.artifact, **aside},
            details={
                "buckets": {str(bucket): counts for bucket, counts in sorted(self._buckets.items())},
                "sources": self._sources,
                "compared": self._check.compared,
                "different": different,
                "unknown": self._check.unknown,
            },
        )


def _add(table: dict[Any, list[int]], name: Any, documents: int, tokens: int) -> None:
    row = table.setdefault(name, [0, 0])
    row[0] += documents
    row[1] += tokens
