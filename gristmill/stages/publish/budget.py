"""What the input will take on disk, estimated from a sample of each source: read, cleaned, signed and encoded."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup, SpanDedup
from gristmill.errors import GristmillError, NoSpaceError
from gristmill.reporting.tables import gigabytes
from gristmill.sources.base import Source
from gristmill.stages.dedup import sign
from gristmill.stages.dedup.sign import BAND
from gristmill.stages.ingest import clean, fetch
from gristmill.stages.ingest._arrow import LZ4
from gristmill.stages.ingest.clean import cleaned
from gristmill.stages.tokens.tokenize import INDEX
from gristmill.stages.tokens.tokenizer import copied
from gristmill.storage import stores
from gristmill.tokenizers.base import Encoder
from gristmill.types import DOCUMENT, DOCUMENT_SCHEMA, Budget, Estimate, ShardRef, token_dtype

SHARDS = 4
"""Of a source that are looked into, spread over it; of each the first 4 MB of text are read."""

SAMPLE_BYTES = 1 << 18
"""Of text of a shard that are cleaned, signed and encoded: 0.1 s with the rules of web text."""

EXPANSION = {".gz": 4, ".zst": 5, ".bz2": 5, ".xz": 6, ".parquet": 3}
"""Bytes of text per stored byte where nothing could be read; web text compresses 3 to 6 times. Else 1."""

BLOCK = 4096
"""Of a file system: each file and folder takes whole ones."""

FILE_BYTES = 1200
"""What a report has, or an Arrow file besides its values."""

RULE_BYTES = 1000
"""In the report of cleaning, for each rule: counts, samples, a histogram."""

REPORT_BYTES = 100_000
SHARD_BYTES = 1500
"""Of what is published besides ids: the page and the data card, and what is said of each input shard."""

IDS_A_BYTE = 0.3
"""Of text, where the tokenizer is trained on the corpus: 3.3 bytes an id."""

CERTAIN, UNCERTAIN = 0.7, 0.3
"""The least share of an estimate that is needed all the same: of what is stored of all input, and of what dedup may
lessen, of which a sample tells nothing."""


def text_of(shards: list[ShardRef], config: PrepareConfig) -> int:
    """Bytes of text that will be read from the shards."""
    return sum(_Sampled(source, shards).text for source in config.sources)


def budget(shards: list[ShardRef], config: PrepareConfig) -> Budget:
    """The estimates by source, what they add up to in the work area, whole blocks on disk, and in the output, and what
    is free there and done already.

    Reads a few MB of each source. Where that fails, sizes and names of its files are all that counts: what is wrong
    is told when the shard is read.
    """
    archive = _archive(config) if shards else _Archive(encoder=None, nbytes=0)
    found = [_Sampled(source, shards) for source in config.sources]
    parts = [sampled.estimate(config, archive.encoder) for sampled in found if sampled.shards]
    item = token_dtype(archive.encoder.vocab_size if archive.encoder else 1 << 15).itemsize
    copies, rest = (sum(kind) for kind in zip((0, 0), *(_work(part, item, config) for part in parts), strict=True))
    output = sum(_output(part, item, config) for part in parts)
    fixed = REPORT_BYTES + archive.nbytes
    return Budget(
        sources=parts,
        work_bytes=copies + rest + archive.nbytes,
        work_least=int(CERTAIN * copies + UNCERTAIN * rest),
        output_bytes=output + fixed,
        output_least=int((UNCERTAIN if config.dedup else CERTAIN) * output),
        work_free=stores.at(config.execution.work).free_bytes(),
        output_free=stores.at(config.destination).free_bytes(),
        done=done(shards, config),
    )


def done(shards: list[ShardRef], config: PrepareConfig) -> dict[str, int]:
    """How many shards each per-shard stage has finished in the work area, all their pieces included."""
    work = stores.at(config.execution.work)
    counts = {"fetch": 0, "clean": 0, "sign": 0}
    for shard in shards:
        key = ledger.fingerprint("fetch", fetch.inputs(shard, config))
        fetched = ledger.present(work.where(f"fetch/{key}"))
        if fetched is None:
            continue
        pieces = range(fetched.details["pieces"])
        cleaned = [ledger.fingerprint("clean", clean.inputs(shard, key, piece, config)) for piece in pieces]
        counts["fetch"] += 1
        signed = [ledger.fingerprint("sign", sign.inputs(shard, name, config)) for name in cleaned]
        for stage, names in (("clean", cleaned), ("sign", signed)):
            counts[stage] += all(ledger.present(work.where(f"{stage}/{name}")) is not None for name in names)
    return counts


def check_space(found: Budget, config: PrepareConfig) -> list[str]:
    """A warning for each of work area and output in which the run may not fit; what is done already is not counted
    again. Raises ``NoSpaceError`` where it cannot fit."""
    smaller = " or set execution.work_files: lz4" if config.execution.kept() == "plain" else ""
    left = 1 - found.done["clean"] / max(1, sum(part.shards for part in found.sources))
    warnings = []
    needs = [
        ("work area", config.execution.work, found.work_bytes, found.work_least, found.work_free, f"--work{smaller}"),
        ("output", config.destination, found.output_bytes, found.output_least, found.output_free, "--output"),
    ]
    for what, place, need, least, free, option in needs:
        if free is None or need * left <= free:
            continue
        short = (
            f"{what} {place}: about {gigabytes(need * left)} needed, {gigabytes(least * left)} at least, "
            f"{gigabytes(free)} free; free some, or choose another place with {option}"
        )
        if least * left > free:
            raise NoSpaceError(short)
        warnings.append(short)
    return warnings


@dataclass(frozen=True)
class _Archive:
    encoder: Encoder | None
    """What counts ids; ``None`` where it is made from the corpus, or cannot be had: that is told when it is checked."""
    nbytes: int
    """Of the tokenizer's files."""


def _archive(config: PrepareConfig) -> _Archive:
    if config.tokenizer.needs_documents:
        return _Archive(encoder=None, nbytes=0)
    with tempfile.TemporaryDirectory(prefix="gristmill-tokenizer-") as name:
        try:
            encoder = copied(config.tokenizer, Path(name))
        except GristmillError:
            return _Archive(encoder=None, nbytes=0)
        return _Archive(encoder=encoder, nbytes=sum(path.stat().st_size for path in Path(name).iterdir()))


class _Sampled:
    """Some shards of a source and what was read of them."""

    def __init__(self, source: Source, shards: list[ShardRef]) -> None:
        self.source = source
        self.shards = [shard for shard in shards if shard.source == source.label]
        self._batches: list[pa.RecordBatch] = []
        stored = text = rows = 0.0
        for shard in self._chosen():
            for batch, share in _first(source, shard):
                self._batches.append(batch)
                stored += shard.size * share
                text += _text(batch)
                rows += batch.nbytes
        self.looked_into = len(self._batches)
        self._rate = source.sample_rate or 1
        self._ratio = text / stored if text and stored else None  # a server may not tell sizes
        self._row_share = rows / text if text else 1.1

    @property
    def text(self) -> int:
        """Bytes of text of all its shards."""
        return sum(map(self._text_of, self.shards))

    def _text_of(self, shard: ShardRef) -> int:
        named = next((factor for suffix, factor in EXPANSION.items() if shard.uri.lower().endswith(suffix)), 1)
        text = int(shard.size * (self._ratio or named) * self._rate)
        return min(text, (shard.take or {}).get("bytes", text))

    def _chosen(self) -> list[ShardRef]:
        count = min(SHARDS, len(self.shards))
        return [self.shards[(2 * place + 1) * len(self.shards) // (2 * count)] for place in range(count)]

    def estimate(self, config: PrepareConfig, encoder: Encoder | None) -> Estimate:
        """What follows for all shards from what was read."""
        batches = [_some(batch) for batch in self._batches]
        taken = [cleaned(batch, config.rules(self.source.label)) for batch in batches]
        before, after = sum(map(_text, batches)), sum(_text(batch) for batch, _ in taken)
        documents = sum(len(batch) for batch, _ in taken)
        texts = [text for batch, _ in taken for text in batch.column("text").to_pylist()]
        ids = len(encoder.encode(texts).ids) / after if encoder and after else IDS_A_BYTE
        text = self.text
        kept = int(text * (after / before if before else 1))
        return Estimate(
            source=self.source.label,
            shards=len(self.shards),
            stored=sum(shard.size for shard in self.shards),
            looked_into=self.looked_into,
            text=text,
            kept=kept,
            documents=round(kept * documents / after) if after else 0,
            ids=round(kept * ids),
            rows=int(text * self._row_share),
            rewritten=any(changed for _, changed in taken),
            packed=_packed(texts),
            signatures=round(kept * sum(_signatures(batch, config) for batch, _ in taken) / after) if after else 0,
        )


def _first(source: Source, shard: ShardRef) -> Iterator[tuple[pa.RecordBatch, float]]:
    """The first documents of a shard, and the share of it that they are, where both can be had."""
    try:
        for chunk in islice(source.read(shard), 1):
            if len(chunk.documents) and chunk.share:
                yield chunk.documents, chunk.share
    except GristmillError:
        return


def _some(batch: pa.RecordBatch) -> pa.RecordBatch:
    """About ``SAMPLE_BYTES`` of its documents, spread over it, of a long one the beginning."""
    step = max(1, round(_text(batch) / SAMPLE_BYTES))
    taken = batch.take(pa.array(np.arange(0, len(batch), step)))
    texts = pc.utf8_slice_codeunits(taken.column("text"), 0, SAMPLE_BYTES)
    return taken.set_column(taken.schema.get_field_index("text"), DOCUMENT_SCHEMA.field("text"), texts)


def _text(batch: pa.RecordBatch) -> int:
    return int(pc.sum(pc.binary_length(batch.column("text"))).as_py() or 0)


def _packed(texts: list[str]) -> float:
    """The share of text that is left of it as lz4."""
    data = "".join(texts).encode()
    return len(LZ4.compress(data)) / len(data) if data else 1.0


def _signatures(batch: pa.RecordBatch, config: PrepareConfig) -> int:
    """What ``sign`` writes of some documents: their lengths, hashes and ids, and what each kind compares."""
    total = len(batch) * 16 + int(batch.column("id").nbytes)
    for kind in config.dedup_of(Dedup).values():
        found = kind.sign(batch)
        total += found.bands.size * BAND.itemsize + found.check.nbytes + sum(one.nbytes + 8 for one in found.sets)
    return total + sum(20 * len(kind.spans(batch.column("text")).keys) for kind in config.dedup_of(SpanDedup).values())


def _work(part: Estimate, item: int, config: PrepareConfig) -> tuple[int, int]:
    """Bytes in the work area: for the copies of the text that all input has, and for the rest, which dedup lessens."""
    copied = part.packed if config.execution.kept() == "lz4" else 1.0
    kept_rows = copied * part.rows * part.kept / max(1, part.text)
    cleaned_rows = [kept_rows] if part.rewritten else []
    trimmed = [kept_rows, part.signatures] if config.dedup_of(SpanDedup) else []
    row = sum(field.type.bit_width for field in INDEX) // 8
    signed = [part.signatures / 8] * (3 + 2 * len(config.dedup))
    tokens = [part.ids * item, part.documents * row]
    texts = [part.kept, part.documents * row, part.kept] if config.holds_text else []
    sides = {format.eot for format in config.formats if format.holds != "text"}
    packed = len(sides) * (part.ids * item + part.documents * (item + DOCUMENT.itemsize))
    block = 1 if stores.is_remote(config.execution.work) else BLOCK
    reports = [0.0] * (5 if config.holds_text else 4) + [part.shards * RULE_BYTES * len(config.rules(part.source))]
    one = part.shards
    copies = [_blocks(size, one, block) for size in (copied * part.rows, *cleaned_rows)]
    rest = [_blocks(size, one, block) for size in (*signed, *trimmed, *tokens, *texts, *reports)]
    return sum(copies), sum(rest) + int(packed) + 4 * one * (block - 1)


def _blocks(size: float, files: int, block: int) -> int:
    """Bytes that ``files`` of together ``size`` take, half a block more each than their last one fills."""
    each = size / files + FILE_BYTES
    return int(files * (-(-each // block) * block if each < 4 * block else each + block / 2))


def _output(part: Estimate, item: int, config: PrepareConfig) -> int:
    """Bytes of published files; text is compressed about as lz4 does it."""
    total = float(part.shards * SHARD_BYTES)
    for format in config.formats:
        if format.holds == "text":
            total += part.kept * part.packed
        else:
            width = format.dtype(1 << 15).itemsize / 2 * item + len(format.masks("", iter(())))
            total += part.ids * width + part.documents * (width + DOCUMENT.itemsize)
    return int(total)
