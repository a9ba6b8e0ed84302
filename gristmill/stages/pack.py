"""Gather the documents of one bucket from every tokenized shard, in order, with their EOT."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from pyarrow import ipc, memory_map

from gristmill import ledger, places, progress, storage
from gristmill.config import PrepareConfig
from gristmill.formats.base import Format
from gristmill.stages.vocabulary import tokenizer_record
from gristmill.types import DOCUMENT, Boundary, Piece, StageReport, token_dtype

WRITE_DOCUMENTS = 4096
"""Documents joined before they are written; at a few kB each about 10 MB."""

BOUNDARY_EVERY = 1000


class _Members:
    """Documents of a bucket in publishing order: which shard's ids, where, how many."""

    def __init__(self, shard: np.ndarray, offset: np.ndarray, length: np.ndarray) -> None:
        self.shard, self.offset, self.length = shard, offset, length


def pack(piece: Piece, tokenized: list[StageReport], tokenizer: StageReport, config: PrepareConfig) -> StageReport:
    """Write ``tokens``: ids ``piece.start .. piece.stop`` of the bucket's stream, EOT included; ``documents``, a
    ``DOCUMENT`` for each that starts in it. ``details`` holds some ``boundaries`` relative to it."""
    format = config.format(piece.format)
    determined = {
        "tokens": [[report.shard, report.fingerprint] for report in tokenized],
        "range": [piece.bucket, piece.start, piece.stop],
        "eot": format.eot,
        "packing": config.packing.identity(),
    }

    def produce(folder: Path, key: str) -> StageReport:
        record = tokenizer_record(tokenizer)
        dtype = token_dtype(record.vocab_size)
        members = _members(piece.bucket, tokenized)
        eot = b"" if format.eot == "none" else np.array([record.eot_id], dtype).tobytes()
        starts = _starts(members, len(eot) // dtype.itemsize)
        with storage.Writer(folder / "tokens") as out:
            for block in _stream(members, tokenized, format, dtype, eot, piece, starts):
                out.write(block)
                progress.advance(0, block.nbytes)
        inside = starts[(starts >= piece.start) & (starts < piece.stop)] - piece.start
        boundaries = [
            Boundary(document=number, token=int(inside[number])) for number in range(0, len(inside), BOUNDARY_EVERY)
        ]
        documents = _documents(members, slice(*np.searchsorted(starts, [piece.start, piece.stop])), tokenized)
        return StageReport(
            stage="pack",
            shard=piece.index,
            fingerprint=key,
            docs_in=len(inside),
            docs_out=len(inside),
            tokens=out.nbytes // dtype.itemsize,
            artifacts={
                "tokens": out.artifact,
                "documents": storage.write(folder / "documents", documents.tobytes()),
            },
            details={"boundaries": msgspec.to_builtins(boundaries)},
        )

    return ledger.run(config.execution.work, "pack", piece.index, determined, produce)


def _members(bucket: int, tokenized: list[StageReport]) -> _Members:
    """The bucket's documents of all shards, ordered by key, then shard, then place in the shard's order."""
    columns: list[list[np.ndarray]] = [[], [], [], [], []]
    for place, report in enumerate(tokenized):
        with memory_map(str(places.here(report.artifacts["index"]))) as file:
            reader = ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                start, stop = np.searchsorted(batch.column("bucket").to_numpy(), [bucket, bucket + 1])
                for place_of_column, name in enumerate(("key", "row", "offset", "length")):
                    columns[place_of_column].append(batch.column(name).to_numpy()[start:stop].copy())
                columns[4].append(np.full(stop - start, place, np.uint32))
    key, row, offset, length, shard = (np.concatenate(parts) for parts in columns)
    order = np.lexsort((offset, row, shard, key))
    return _Members(shard[order], offset[order].astype(np.int64), length[order].astype(np.int64))


def _documents(members: _Members, chosen: slice, tokenized: list[StageReport]) -> np.ndarray:
    shard_of = np.array([report.shard for report in tokenized], np.uint32)
    found = np.empty(len(members.shard[chosen]), DOCUMENT)
    found["shard"], found["length"] = shard_of[members.shard[chosen]], members.length[chosen]
    return found


def _starts(members: _Members, eot: int) -> np.ndarray:
    """Where each document starts in the bucket's stream, in ids, a prepended EOT included."""
    sizes = members.length + eot
    starts: np.ndarray = np.cumsum(sizes) - sizes
    return starts


def _stream(
    members: _Members,
    tokenized: list[StageReport],
    format: Format,
    dtype: np.dtype,
    eot: bytes,
    piece: Piece,
    starts: np.ndarray,
) -> Iterator[memoryview]:
    """The bytes of the piece, some thousand documents at a time."""
    data = [_ids(report) for report in tokenized]
    item = dtype.itemsize
    first = max(0, int(np.searchsorted(starts, piece.start, "right")) - 1)
    last = int(np.searchsorted(starts, piece.stop, "left"))
    before, after = (eot, b"") if format.eot == "prepend" else (b"", eot)
    for low in range(first, last, WRITE_DOCUMENTS):
        high = min(last, low + WRITE_DOCUMENTS)
        parts: list[bytes | memoryview] = []
        begins = members.offset[low:high] * item
        ends = begins + members.length[low:high] * item
        for shard, begin, end in zip(members.shard[low:high].tolist(), begins.tolist(), ends.tolist(), strict=True):
            parts += (before, data[shard][begin:end], after)
        block = memoryview(b"".join(parts))
        position = int(starts[low])
        skip, stop = max(0, piece.start - position), piece.stop - position
        yield block[skip * item : stop * item]


def _ids(report: StageReport) -> memoryview:
    artifact = report.artifacts["tokens"]
    path = places.here(artifact)
    with storage.translated(path):
        return np.memmap(path, np.uint8, "r").data if artifact.nbytes else memoryview(b"")
