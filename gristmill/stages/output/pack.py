"""Gather the documents of one bucket from every tokenized shard, in order, with their EOT."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
from pyarrow import ipc, memory_map

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.formats.base import Format
from gristmill.processes import progress
from gristmill.stages.tokens._choice import mixing_of, unmixed
from gristmill.stages.tokens.tokenize import WRITE_DOCUMENTS
from gristmill.stages.tokens.tokenizer import tokenizer_record
from gristmill.storage import disk, stores
from gristmill.types import DOCUMENT, Boundary, Piece, StageReport

WRITE_IDS = 1 << 20
"""Ids of ``WRITE_DOCUMENTS`` at the most: 4 MB, of whatever size they are."""

BOUNDARY_EVERY = 1000

DRAWN = ("key", "row", "offset", "length")
"""Columns of the index that say where a document goes and where its ids are."""


class Members:
    """Documents of a bucket in publishing order: which shard's ids, where, how many."""

    def __init__(self, shard: np.ndarray, offset: np.ndarray, length: np.ndarray) -> None:
        self.shard, self.offset, self.length = shard, offset, length


def pack(
    piece: Piece,
    tokenized: list[StageReport],
    tokenizer: StageReport,
    mixed: StageReport | None,
    config: PrepareConfig,
) -> StageReport:
    """Write ``tokens``: ids ``piece.start .. piece.stop`` of the bucket's stream, EOT included; ``documents``, a
    ``DOCUMENT`` for each that starts in it. ``details`` holds some ``boundaries`` relative to it, and how many EOTs it
    has: a document that is cut has its own on one side. ``tokenized``: for a format that holds text, the texts.
    ``mixed``: None where nothing is mixed."""
    format = config.format(piece.format)
    determined = {
        "tokens": [[report.shard, report.fingerprint] for report in tokenized],
        "range": [piece.bucket, piece.start, piece.stop],
        "eot": format.eot,
        "packing": config.packing.identity(),
        **({} if mixed is None else {"mix": mixed.fingerprint}),
    }

    def produce(folder: Path, key: str) -> StageReport:
        record = tokenizer_record(tokenizer)
        dtype = format.packed(record.vocab_size)
        found = members(piece.bucket, tokenized, mixed)
        eot = b"" if format.eot == "none" else np.array([record.eot_id], dtype).tobytes()
        starts = starts_of(found, len(eot) // dtype.itemsize)
        with disk.Writer(folder / "tokens") as out:
            for block in _stream(found, tokenized, format, dtype, eot, piece, starts):
                out.write(block)
                progress.advance(0, block.nbytes)
        inside = starts[(starts >= piece.start) & (starts < piece.stop)] - piece.start
        boundaries = [
            Boundary(document=number, token=int(inside[number])) for number in range(0, len(inside), BOUNDARY_EVERY)
        ]
        documents = _documents(found, slice(*np.searchsorted(starts, [piece.start, piece.stop])), tokenized)
        return StageReport(
            stage="pack",
            shard=piece.index,
            fingerprint=key,
            docs_in=len(inside),
            docs_out=len(inside),
            tokens=out.nbytes // dtype.itemsize,
            artifacts={
                "tokens": out.artifact,
                "documents": disk.write(folder / "documents", documents.tobytes()),
            },
            details={
                "boundaries": msgspec.to_builtins(boundaries),
                "eos": _eos(found, starts, piece, format) if eot else 0,
            },
        )

    return ledger.run(config.execution.work, "pack", piece.index, determined, produce)


def members(bucket: int, tokenized: list[StageReport], mixed: StageReport | None) -> Members:
    """The bucket's documents of all shards, ordered by key, then shard, then place in the shard's order; those that are
    mixed in, where something is mixed."""
    columns: list[list[np.ndarray]] = [[], [], [], [], []]
    mixing = mixing_of(mixed)
    for place, report in enumerate(tokenized):
        with memory_map(str(stores.here(report.artifacts["index"]))) as file:
            reader = ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for copy in [unmixed(bucket)] if mixing is None else mixing.copies(bucket, place):
                    start, stop = np.searchsorted(batch.column("bucket").to_numpy(), [copy.bucket, copy.bucket + 1])
                    key, row, *rest = (batch.column(name).to_numpy()[start:stop] for name in DRAWN)
                    chosen = copy.chosen(key, place, row)
                    for column, values in zip(columns, (copy.keys(key), row, *rest), strict=False):
                        column.append(values[chosen].copy())
                    columns[4].append(np.full(len(columns[0][-1]), place, np.uint32))
    key, row, offset, length, shard = (
        np.concatenate([np.empty(0, parts[0].dtype if parts else np.uint64), *parts]) for parts in columns
    )
    order = np.lexsort((offset, row, shard, key))
    return Members(shard[order], offset[order].astype(np.int64), length[order].astype(np.int64))


def _documents(members: Members, chosen: slice, tokenized: list[StageReport]) -> np.ndarray:
    shard_of = np.array([report.shard for report in tokenized], np.uint32)
    found = np.empty(len(members.shard[chosen]), DOCUMENT)
    found["shard"], found["length"] = shard_of[members.shard[chosen]], members.length[chosen]
    return found


def starts_of(members: Members, eot: int) -> np.ndarray:
    """Where each document starts in the bucket's stream, in ids, a prepended EOT included."""
    sizes = members.length + eot
    starts: np.ndarray = np.cumsum(sizes) - sizes
    return starts


def _eos(members: Members, starts: np.ndarray, piece: Piece, format: Format) -> int:
    """How many EOTs lie in the piece."""
    places = starts if format.eot == "prepend" else starts + members.length
    return int(np.count_nonzero((places >= piece.start) & (places < piece.stop)))


def _stream(
    members: Members,
    tokenized: list[StageReport],
    format: Format,
    dtype: np.dtype,
    eot: bytes,
    piece: Piece,
    starts: np.ndarray,
) -> Iterator[memoryview]:
    """The bytes of the piece, some thousand documents at a time, a long one in parts."""
    data = [_ids(report) for report in tokenized]
    item = dtype.itemsize
    first = max(0, int(np.searchsorted(starts, piece.start, "right")) - 1)
    last = int(np.searchsorted(starts, piece.stop, "left"))
    before, after = (eot, b"") if format.eot == "prepend" else (b"", eot)
    low = first
    while low < last:
        full = int(np.searchsorted(starts, starts[low] + WRITE_IDS, "right")) - 1
        high = min(last, low + WRITE_DOCUMENTS, max(low + 1, full))
        begins = members.offset[low:high] * item
        ends = begins + members.length[low:high] * item
        ranges = zip(members.shard[low:high].tolist(), begins.tolist(), ends.tolist(), strict=True)
        blocks: Iterator[bytes]
        if high - low == 1:
            shard, begin, end = next(ranges)
            blocks = chain([before], _read(tokenized[shard], begin, end), [after])
        else:
            blocks = iter([b"".join(chain(*((before, data[shard][begin:end], after) for shard, begin, end in ranges)))])
        position = int(starts[low])
        for block in blocks:
            skip, stop = max(0, piece.start - position), max(0, piece.stop - position)
            yield memoryview(block)[skip * item : stop * item]
            position += len(block) // item
        low = high


def _read(report: StageReport, begin: int, end: int) -> Iterator[bytes]:
    """The bytes of one document, which may be hundreds of MB: the pages of a map would count as memory."""
    path = stores.here(report.artifacts["tokens"])
    with disk.translated(path), path.open("rb") as file:
        file.seek(begin)
        for start in range(begin, end, WRITE_IDS):
            yield file.read(min(WRITE_IDS, end - start))


def _ids(report: StageReport) -> memoryview:
    artifact = report.artifacts["tokens"]
    path = stores.here(artifact)
    with disk.translated(path):
        return np.memmap(path, np.uint8, "r").data if artifact.nbytes else memoryview(b"")
