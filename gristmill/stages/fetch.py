"""Read one input shard into Arrow; set aside what cannot be used."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gristmill import ledger, progress, storage
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.sources.base import BadDocument, Chunk
from gristmill.stages._arrow import DocumentWriter, characters
from gristmill.types import DOCUMENT_SCHEMA, Artifact, ShardRef, StageReport

PIECE_CHARACTERS = 1 << 26
PIECE_DOCUMENTS = 1 << 18
"""A shard is cut into pieces of about this size while it is read: one big file then keeps every worker busy in all
later stages, and no later stage meets much more at a time."""


def piece_name(piece: int) -> str:
    """Name of the artifact that holds a piece."""
    return f"documents-{piece:05d}"


def inputs(shard: ShardRef, config: PrepareConfig) -> dict[str, Any]:
    """What determines the documents: the stored bytes and how they are read. The shard's number is left out: a file
    that is added before it must not redo it."""
    return {
        "uri": shard.uri if shard.remote else str(Path(shard.uri).absolute()),  # "data/a" is another file elsewhere
        "part": shard.part,
        "identity": shard.identity,
        "take": shard.take,
        "source": config.source(shard.source).reading(),
        "on_bad_document": config.on_bad_document,
    }


def fetch(shard: ShardRef, config: PrepareConfig) -> StageReport:
    """Write ``documents-00000.arrow`` and so on, cut between documents, and ``quarantine.jsonl.zst`` where needed.

    Raises ``InputError`` that names the file when it is damaged, or at the first bad document with
    ``on_bad_document: fail``.
    """

    def produce(folder: Path, key: str) -> StageReport:
        tally = _Tally(shard, config, folder)
        try:
            for chunk in config.source(shard.source).documents(shard):
                tally.add(chunk)
            return tally.report(key)
        except BaseException:
            tally.discard()
            raise

    return ledger.run(config.execution.work, "fetch", shard.index, inputs(shard, config), produce)


class _Tally:
    def __init__(self, shard: ShardRef, config: PrepareConfig, folder: Path) -> None:
        self._shard = shard
        self._stop_at_bad = config.on_bad_document == "fail"
        self._folder = folder
        self._pieces: list[Artifact] = []
        self._documents = DocumentWriter(folder / "documents-00000.arrow")
        self._piece_documents = self._piece_characters = 0
        self._quarantine = _Quarantine(folder / "quarantine.jsonl.zst", shard)
        self._schema = DOCUMENT_SCHEMA
        self._content = hashlib.sha256()
        self._count = self._characters = self._skipped = 0

    def add(self, chunk: Chunk) -> None:
        if self._piece_characters >= PIECE_CHARACTERS or self._piece_documents >= PIECE_DOCUMENTS:
            self._cut()
        texts = chunk.documents.column("text")
        self._schema = chunk.documents.schema
        self._documents.write(chunk.documents)
        nbytes = self._hash(texts)
        self._count += len(texts)
        self._skipped += chunk.skipped
        size = characters(texts)
        self._characters += size
        self._piece_documents += len(texts)
        self._piece_characters += size
        for bad in chunk.bad:
            if self._stop_at_bad:
                raise InputError(
                    f"{self._shard.uri}: {bad.place}: {bad.reason}: {bad.excerpt:.60}; "
                    "mend it, or set on_bad_document: quarantine",
                    "bad_document",
                )
            self._quarantine.add(bad)
        progress.advance(len(texts), nbytes)

    def _cut(self) -> None:
        """End the current piece and open the next one."""
        self._pieces.append(self._documents.close(self._schema))
        self._documents = DocumentWriter(self._folder / f"documents-{len(self._pieces):05d}.arrow")
        self._piece_documents = self._piece_characters = 0

    def discard(self) -> None:
        """Let go of the open files; Arrow complains on stderr about one that it has to close itself."""
        self._documents.discard()
        self._quarantine.discard()

    def _hash(self, texts: pa.StringArray) -> int:
        if not len(texts):
            return 0
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
        data = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]]
        self._content.update(data)
        return data.nbytes

    def report(self, key: str) -> StageReport:
        self._pieces.append(self._documents.close(self._schema))
        artifacts = {piece_name(number): artifact for number, artifact in enumerate(self._pieces)}
        artifacts |= self._quarantine.close()
        bad = self._quarantine.reasons
        return StageReport(
            stage="fetch",
            shard=self._shard.index,
            fingerprint=key,
            docs_in=self._count + self._skipped + sum(bad.values()),
            docs_out=self._count,
            chars_in=self._characters,
            chars_out=self._characters,
            dropped={"not_sampled": self._skipped} if self._skipped else {},
            quarantined=sum(bad.values()),
            quarantine_reasons=dict(sorted(bad.items())),
            artifacts=artifacts,
            details={"content_sha256": self._content.hexdigest(), "pieces": len(self._pieces)},
        )


class _Quarantine:
    """Bad documents of one shard as zstd-compressed JSON lines; no file where there are none."""

    def __init__(self, path: Path, shard: ShardRef) -> None:
        self._path = path
        self._shard = shard
        self._out: storage.Writer | None = None
        self._stream: pa.CompressedOutputStream | None = None
        self.reasons: Counter[str] = Counter()

    def add(self, bad: BadDocument) -> None:
        if self._stream is None:
            self._out = storage.Writer(self._path)
            self._stream = pa.CompressedOutputStream(pa.PythonFile(self._out, "w"), "zstd")
        self.reasons[bad.reason] += 1
        # Not the shard's number: it changes when a file is added before it, and this output is reused.
        line = {"uri": self._shard.uri, **msgspec.to_builtins(bad)}
        self._stream.write(msgspec.json.encode(line) + b"\n")

    def discard(self) -> None:
        if self._stream is not None and self._out is not None and not self._out.closed:
            self._stream.close()
            self._out.discard()

    def close(self) -> dict[str, Artifact]:
        if self._stream is None or self._out is None:
            return {}
        self._stream.close()
        self._out.close()
        return {"quarantine": self._out.artifact}


def check_usable(shards: int, failed: dict[int, str]) -> None:
    """Raises ``InputError`` when none of the shards can be read; ``failed`` maps a shard's index to the reason."""
    if len(failed) == shards:
        raise InputError(f"none of the {shards} input shards can be read; the first: {failed[min(failed)]}")


def check_quarantined(fetched: list[StageReport], config: PrepareConfig) -> None:
    """Raises ``InputError`` with the reasons when too many documents could not be used."""
    seen = sum(report.docs_in for report in fetched)
    reasons: Counter[str] = Counter()
    for report in fetched:
        reasons.update(report.quarantine_reasons)
    share = sum(reasons.values()) / max(1, seen)
    if share > config.max_quarantined_share:
        listed = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        places = [report.artifacts["quarantine"].uri for report in fetched if "quarantine" in report.artifacts]
        raise InputError(
            f"{sum(reasons.values())} of {seen} documents ({share:.1%}) cannot be used ({listed}); see {places[0]}; "
            f"mend them or raise max_quarantined_share (now {config.max_quarantined_share})",
            "bad_document",
        )
