"""Signatures of one piece, sorted band by band, so that a key range of every piece is one contiguous slice."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger
from gristmill.columns import hashes, strings
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup, Match, Screen, Signatures
from gristmill.processes import progress
from gristmill.stages.ingest._arrow import DocumentWriter, batches
from gristmill.storage import disk, stores
from gristmill.types import DOCUMENT_SCHEMA, Artifact, ShardRef, StageReport

NAMES = pa.schema([DOCUMENT_SCHEMA.field("id"), pa.field("excerpt", pa.string(), nullable=False)])
"""How a document is named to people."""

EXCERPT_CHARACTERS = 120
"""The beginning of each text: a third of what ``sign`` writes."""

BAND = np.dtype([("key", "<u8"), ("row", "<u4")])
"""One document in one band."""


PROGRAM = "code"
"""``source`` of a recalled document that was published from a source of programs."""


def inputs(shard: ShardRef, cleaned: str, config: PrepareConfig) -> dict[str, Any]:
    """The cleaned documents, whether they are programs, and the kinds of duplicates looked for."""
    programs = {"programs": True} if shard.source in config.programs else {}
    return {"clean": cleaned, "dedup": [kind.identity() for kind in config.dedup], **programs}


def sign(shard: ShardRef, cleaned: StageReport, config: PrepareConfig) -> StageReport:
    """Write the signatures of a piece.

    For each dedup kind: ``<n>.bands``, per band the ``BAND`` records of its valid documents sorted by (key, row), bands
    back to back (``details["valid"]`` is their number a band); ``<n>.check``, a row of ``check_dtype`` a document;
    ``<n>.sets`` and ``<n>.ends``, where sets are compared. For each screen ``<n>.matches``. For all ``characters``,
    int64 code points of each document; ``content``, uint64 hash of each text; ``ids``, ``NAMES`` in an Arrow file to be
    mapped.

    A document that a screen drops is valid for no kind: no other one is dropped as its copy, and no two copies are
    told apart because it stood between them. Recalled documents of earlier data are not screened.
    """

    def produce(folder: Path, key: str) -> StageReport:
        kinds = {number: _Kind(kind, folder / str(number)) for number, kind in config.dedup_of(Dedup).items()}
        asked = config.dedup_of(Screen) if cleaned.stage != "recall" else {}
        screens = {number: _Matches(kind) for number, kind in asked.items()}
        of_programs = strings([PROGRAM] if cleaned.stage == "recall" else config.programs)
        ids = DocumentWriter(folder / "ids", "plain")
        with disk.Writer(folder / "characters") as lengths, disk.Writer(folder / "content") as content:
            for batch in batches(cleaned.artifacts["documents"]):
                texts = batch.column("text")
                excerpts = pc.utf8_slice_codeunits(texts, 0, EXCERPT_CHARACTERS)
                ids.write(pa.RecordBatch.from_arrays([batch.column("id"), excerpts], schema=NAMES))
                lengths.write(pc.utf8_length(texts).to_numpy().astype("<i8").tobytes())
                content.write(hashes(texts).tobytes())
                stays = np.ones(len(batch), bool)
                for screen in screens.values():
                    stays[screen.add(batch)] = False
                programs = np.asarray(pc.is_in(batch.column("source"), of_programs), bool)
                for kind in kinds.values():
                    kind.add(kind.plugin.sign(batch, programs), stays)
                progress.advance(len(texts), texts.nbytes)
        artifacts = {
            "characters": lengths.artifact,
            "content": content.artifact,
            "ids": ids.close(NAMES),
        }
        for number, kind in kinds.items():
            artifacts |= {f"{number}.{ending}": artifact for ending, artifact in kind.close().items()}
        for number, screen in screens.items():
            artifacts[f"{number}.matches"] = screen.write(folder / f"{number}.matches")
        return StageReport(
            stage="sign",
            shard=shard.index,
            piece=cleaned.piece,
            fingerprint=key,
            docs_in=cleaned.docs_out,
            docs_out=cleaned.docs_out,
            chars_in=cleaned.chars_out,
            chars_out=cleaned.chars_out,
            artifacts=artifacts,
            details={
                "valid": [kinds[n].valid if n in kinds else 0 for n in range(len(config.dedup))],
                "recalled": cleaned.stage == "recall",
            },
        )

    return ledger.run(config.execution.work, "sign", shard.index, inputs(shard, cleaned.fingerprint, config), produce)


class _Matches:
    """What a screen objects to, with rows counted in the piece."""

    def __init__(self, plugin: Screen) -> None:
        self._plugin = plugin
        self._found: list[Match] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> list[int]:
        """The rows of the batch that are dropped."""
        found = self._plugin.matches(batch)
        self._found += [Match(row=match.row + self._rows, match=match.match) for match in found]
        self._rows += len(batch)
        return [match.row for match in found] if self._plugin.action == "drop" else []

    def write(self, path: Path) -> Artifact:
        return disk.write(path, msgspec.json.encode(self._found))


def matches(signed: StageReport, kind: int) -> list[Match]:
    """What the screen number ``kind`` found in a piece."""
    data = stores.here(signed.artifacts[f"{kind}.matches"]).read_bytes()
    return msgspec.json.decode(data, type=list[Match])


class _Kind:
    """The signatures of one kind so far: checks go to the disk at once, keys stay until they can be sorted."""

    def __init__(self, plugin: Dedup, path: Path) -> None:
        self.plugin = plugin
        self.valid = self._rows = 0
        self._path = path
        self._keys: list[np.ndarray] = [np.empty((0, plugin.band_count()), np.uint64)]
        self._places: list[np.ndarray] = [np.empty(0, np.uint32)]
        self._check = disk.Writer(path.with_suffix(".check"))
        self._sets = disk.Writer(path.with_suffix(".sets")) if plugin.compares_sets() else None
        self._ends = [0]

    def add(self, signatures: Signatures, stays: np.ndarray) -> None:
        """The signatures of a batch; of the documents that do not stay no key is kept."""
        self._check.write(signatures.check.astype(self.plugin.check_dtype().base, copy=False).tobytes())
        for members in signatures.sets:
            assert self._sets is not None
            self._sets.write(members.tobytes())
            self._ends.append(self._ends[-1] + len(members))
        places = np.flatnonzero(signatures.valid & stays)
        self._keys.append(signatures.bands[places])
        self._places.append((places + self._rows).astype(np.uint32))
        self._rows += len(signatures.valid)
        self.valid += len(places)

    def close(self) -> dict[str, Artifact]:
        """The files by the ending of their name."""
        self._check.close()
        keys, rows = np.concatenate(self._keys), np.concatenate(self._places)
        records = np.empty(len(rows), BAND)
        with disk.Writer(self._path.with_suffix(".bands")) as out:
            for band in range(keys.shape[1]):
                order = np.argsort(keys[:, band], kind="stable")  # rows ascend already
                records["key"], records["row"] = keys[order, band], rows[order]
                out.write(records.tobytes())
        files = {"bands": out.artifact, "check": self._check.artifact}
        if self._sets is not None:
            self._sets.close()
            ends = np.array(self._ends, "<i8").tobytes()
            files |= {"sets": self._sets.artifact, "ends": disk.write(self._path.with_suffix(".ends"), ends)}
        return files
