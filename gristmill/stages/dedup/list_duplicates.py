"""Name, for every document dropped as a copy, the one that stayed; for a contaminated one, what it contains."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from gristmill import ledger
from gristmill.columns import numbers, strings
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup, Screen
from gristmill.processes import progress
from gristmill.stages.dedup._comparison import Comparison
from gristmill.stages.dedup.decide import NO_PLACE, VERDICT, verdict
from gristmill.stages.dedup.records import by_piece
from gristmill.stages.dedup.sign import matches
from gristmill.storage import disk, stores
from gristmill.types import StageReport

DUPLICATES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("kept_id", pa.string(), nullable=False),
        pa.field("shard", pa.uint32(), nullable=False),
        pa.field("kept_shard", pa.uint32(), nullable=True),
        pa.field("similarity", pa.float32(), nullable=True),
        pa.field("excerpt", pa.string(), nullable=True),
        pa.field("kept_excerpt", pa.string(), nullable=True),
    ]
)
"""One row a document; shards are input shards. There is no ``kept_shard`` where the match is no document of this input:
``kept_id`` is then the document of an earlier data set or, for a contaminated one, the evaluation text. The reasons
``contamination_reported`` and ``parts_removed`` are of documents that stay. Near copies have a ``similarity``, from 0
to 1, and the beginnings of both texts."""

REPORTED = "contamination_reported"
LITTLE_LEFT = "little_left"
TRIMMED = "parts_removed"
"""Documents that lost repeated parts: too little is left of one that is dropped, the other one stays without them. They
have no ``kept_id``: each part may stand in another document."""

ROWS = 1 << 16


def name_copies(place: int, decided: StageReport, signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``duplicates.parquet`` (``DUPLICATES``) for the piece number ``place``."""
    shards = [report.shard for report in signed]
    own = signed[place]
    determined = {"verdict": decided.fingerprint, "place": place, "shards": shards}

    def produce(folder: Path, key: str) -> StageReport:
        names = _Names(place, signed, config)
        found = verdict(place, decided)
        with (
            disk.Writer(folder / "duplicates.parquet") as out,
            pq.ParquetWriter(out, DUPLICATES, compression="zstd", write_statistics=False) as table,
        ):
            for start in range(0, len(found), ROWS):
                table.write_table(names.table(found[start : start + ROWS], names.reasons))
                progress.advance(len(found[start : start + ROWS]), 0)
            reported = names.reported()
            if len(reported):
                table.write_table(names.table(reported, [REPORTED] * len(names.reasons)))
        rows = len(found) + len(reported)
        return StageReport(
            stage="name",
            shard=own.shard,
            piece=own.piece,
            fingerprint=key,
            docs_in=rows,
            docs_out=rows,
            artifacts={"duplicates": out.artifact},
        )

    return ledger.run(config.execution.work, "name", own.shard, determined, produce)


def name(
    places: list[int], decided: StageReport, signed: list[StageReport], config: PrepareConfig
) -> list[StageReport]:
    """``name_copies`` for some pieces: the reports of all pieces, 1.6 kB each, reach a worker once for these."""
    return [name_copies(place, decided, signed, config) for place in places]


class _Names:
    """Rows of the ledger of copies of one piece."""

    def __init__(self, place: int, signed: list[StageReport], config: PrepareConfig) -> None:
        self._own = signed[place]
        self._place = place
        self._signed = signed
        memory = int(config.execution.memory)
        self._near = {
            number: Comparison(number, kind, list(range(len(signed))), signed, memory)
            for number, kind in config.dedup_of(Dedup).items()
            if not kind.transitive
        }
        self.reasons = [kind.reason for kind in config.dedup]
        self._screens = config.dedup_of(Screen)
        self._matches = {
            number: {match.row: match.match for match in matches(self._own, number)} for number in self._screens
        }

    def reported(self) -> np.ndarray:
        """``VERDICT`` records of the documents that were matched and stay."""
        rows = [
            (row, NO_PLACE, 0, number)
            for number, kind in self._screens.items()
            if kind.action == "report"
            for row in self._matches[number]
        ]
        return np.array(rows, VERDICT)

    def table(self, rows: np.ndarray, reasons: list[str]) -> pa.Table:
        """``DUPLICATES`` rows for ``VERDICT`` records."""
        own = np.full(len(rows), self._own.shard, np.uint32)
        shard_of = np.array([report.shard for report in self._signed], np.uint32)
        recalled = np.array([*(report.details["recalled"] for report in self._signed), True])
        none = recalled[np.minimum(rows["kept_place"], len(self._signed))]
        kept_shards = numbers(shard_of[np.where(none, 0, rows["kept_place"])], none)
        found = _read(self._own, rows["row"])
        kept, excerpts, likeness = self._kept(rows)
        near = ~np.isnan(likeness)
        columns = [
            strings(found["id"].to_pylist()),
            strings([reasons[kind] for kind in rows["kind"].tolist()]),
            strings(kept),
            numbers(own),
            kept_shards,
            pa.array(likeness, mask=~near),
            pc.if_else(near, found["excerpt"].combine_chunks(), None),
            pc.if_else(near, strings(excerpts), None),
        ]
        return pa.Table.from_arrays(columns, schema=DUPLICATES)

    def _kept(self, rows: np.ndarray) -> tuple[list[str], list[str], np.ndarray]:
        """Names and beginnings of what the documents repeat, and how alike they are; NaN where that has no degrees."""
        kept, excerpts = np.full(len(rows), "", object), np.full(len(rows), "", object)
        nodes = rows["kept_place"].astype(np.uint64) << np.uint64(32) | rows["kept_row"]
        for place, here in by_piece(nodes):
            if place == NO_PLACE:
                pairs = zip(rows["kind"][here].tolist(), rows["row"][here].tolist(), strict=True)
                kept[here] = [self._matches[kind][row] for kind, row in pairs]
            else:
                found = _read(self._signed[place], rows["kept_row"][here])
                kept[here], excerpts[here] = found["id"].to_pylist(), found["excerpt"].to_pylist()
        likeness = np.full(len(rows), np.nan, np.float32)
        own = np.uint64(self._place << 32) | rows["row"].astype(np.uint64)
        for number, comparison in self._near.items():
            of_kind = (rows["kind"] == number) & (rows["kept_place"] != NO_PLACE)
            likeness[of_kind] = comparison.similarity(nodes[of_kind], own[of_kind])
        return kept.tolist(), excerpts.tolist(), likeness


def _read(signed: StageReport, rows: np.ndarray) -> pa.Table:
    """``NAMES`` of some rows of a piece; the file is mapped, so only these are read."""
    with pa.memory_map(str(stores.here(signed.artifacts["ids"]))) as file:
        return ipc.open_file(file).read_all().take(numbers(rows.astype(np.int64))).combine_chunks()
