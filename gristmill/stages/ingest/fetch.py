"""Read one input shard into Arrow; set aside what cannot be used."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from gristmill import ledger
from gristmill.columns import utf8
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.processes import progress
from gristmill.sources.base import BadDocument, Chunk
from gristmill.stages.ingest._arrow import DocumentWriter, characters
from gristmill.stages.ingest._contents import sha256_of
from gristmill.storage import disk
from gristmill.types import DOCUMENT_SCHEMA, Artifact, ShardRef, StageReport

PIECE_CHARACTERS = 1 << 26
PIECE_DOCUMENTS = 1 << 18
"""A shard is cut into pieces of about this size while it is read: other workers clean and sign those of one big file
while the rest of it is read, and no later stage meets much more at a time."""


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

    Each piece but the last is an output of its own, announced when it stands, while the rest is read; the report at the
    end lists all and proves that they add up to the file. Raises ``InputError`` that names the file when it is damaged,
    or at the first bad document with ``on_bad_document: fail``.
    """

    def produce(folder: Path, key: str) -> StageReport:
        tally = _Tally(shard, config, folder, key)
        try:
            for chunk in config.source(shard.source).documents(shard):
                tally.add(chunk)
            return tally.report(_stored_sha256(shard))
        except BaseException:
            tally.discard()
            raise

    report = ledger.run(config.execution.work, "fetch", shard.index, inputs(shard, config), produce)
    if report.reused:
        for piece in range(report.details["pieces"] - 1):
            progress.announce(msgspec.structs.replace(report, piece=piece))
    return report


def _stored_sha256(shard: ShardRef) -> str:
    """Of the whole file, by its first shard; it has just been read, or will be by others."""
    first = shard.part is None or shard.part["start"] == 0
    return sha256_of(shard.uri) if first and not shard.remote else ""


class _Tally:
    def __init__(self, shard: ShardRef, config: PrepareConfig, folder: Path, key: str) -> None:
        self._shard = shard
        self._work, self._key = config.execution.work, key
        self._kept = config.execution.kept()
        self._stop_at_bad = config.on_bad_document == "fail"
        self._folder = folder
        self._pieces: list[StageReport] = []
        self._begin()
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

    def _begin(self) -> None:
        """Open the next piece."""
        self._documents = DocumentWriter(self._folder / f"{piece_name(len(self._pieces))}.arrow", self._kept)
        self._piece_documents = self._piece_characters = 0

    def _cut(self) -> None:
        """File the current piece where it can be used at once, and open the next one.

        A piece that stands since an earlier try is kept. Raises ``InputError`` when that try read other documents.
        """
        written = self._documents.close(self._schema)

        def produce(folder: Path, _: str) -> StageReport:
            path = folder / Path(written.uri).name
            with disk.translated(path):
                Path(written.uri).rename(path)
            return self._piece(msgspec.structs.replace(written, uri=str(path)))

        place = {"fetch": self._key, "piece": len(self._pieces)}
        piece = ledger.run(self._work, "piece", self._shard.index, place, produce)
        Path(written.uri).unlink(missing_ok=True)
        if piece.details != self._read_so_far():
            raise InputError(
                f"{self._shard.uri}: its first documents are not those that an interrupted run read, though its size "
                "and time of change are the same; touch it, or give another --work"
            )
        self._pieces.append(piece)
        progress.announce(piece)
        self._begin()

    def _piece(self, documents: Artifact) -> StageReport:
        """Bears the fingerprint of the fetch, so that what is made of it is the same as of the report at the end."""
        return StageReport(
            stage="piece",
            shard=self._shard.index,
            piece=len(self._pieces),
            fingerprint=self._key,
            docs_in=self._piece_documents,
            docs_out=self._piece_documents,
            chars_in=self._piece_characters,
            chars_out=self._piece_characters,
            artifacts={piece_name(len(self._pieces)): documents},
            details=self._read_so_far(),
        )

    def _read_so_far(self) -> dict[str, str]:
        """Of the text of all documents up to here."""
        return {"content_sha256": self._content.hexdigest()}

    def discard(self) -> None:
        """Let go of the open files; Arrow complains on stderr about one that it has to close itself."""
        self._documents.discard()
        self._quarantine.discard()

    def _hash(self, texts: pa.StringArray) -> int:
        _, data = utf8(texts)
        self._content.update(data)
        return data.nbytes

    def report(self, stored_sha256: str) -> StageReport:
        pieces = [*self._pieces, self._piece(self._documents.close(self._schema))]
        assert sum(piece.docs_out for piece in pieces) == self._count
        assert sum(piece.chars_out for piece in pieces) == self._characters
        artifacts = {name: artifact for piece in pieces for name, artifact in piece.artifacts.items()}
        artifacts |= self._quarantine.close()
        bad = self._quarantine.reasons
        return StageReport(
            stage="fetch",
            shard=self._shard.index,
            fingerprint=self._key,
            docs_in=self._count + self._skipped + sum(bad.values()),
            docs_out=self._count,
            chars_in=self._characters,
            chars_out=self._characters,
            dropped={"not_sampled": self._skipped} if self._skipped else {},
            quarantined=sum(bad.values()),
            quarantine_reasons=dict(sorted(bad.items())),
            artifacts=artifacts,
            details={**self._read_so_far(), "pieces": len(pieces), "stored_sha256": stored_sha256},
        )


class _Quarantine:
    """Bad documents of one shard as zstd-compressed JSON lines; no file where there are none."""

    def __init__(self, path: Path, shard: ShardRef) -> None:
        self._path = path
        self._shard = shard
        self._out: disk.Writer | None = None
        self._stream: pa.CompressedOutputStream | None = None
        self.reasons: Counter[str] = Counter()

    def add(self, bad: BadDocument) -> None:
        if self._stream is None:
            self._out = disk.Writer(self._path)
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


def check_left(generation: int, settled: StageReport, reports: Iterable[StageReport]) -> None:
    """Raises ``InputError`` when the first generation of a data set would hold no document, with what became of those
    that were read: ``reports`` are of reading, cleaning and dedup."""
    if settled.docs_out or generation > 1:
        return
    reasons: Counter[str] = Counter()
    for report in reports:
        reasons.update(report.quarantine_reasons)
        reasons.update(report.dropped)
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()) or "the input holds none"
    raise InputError(f"no document is left to publish: {listed}", "bad_document")
