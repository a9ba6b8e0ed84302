"""Name, for every document dropped as a copy, the one that stayed."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from gristmill import ledger, progress, storage
from gristmill.columns import strings
from gristmill.config import PrepareConfig
from gristmill.stages.dedup import verdict
from gristmill.types import StageReport

DUPLICATES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("kept_id", pa.string(), nullable=False),
        pa.field("shard", pa.uint32(), nullable=False),
        pa.field("kept_shard", pa.uint32(), nullable=False),
    ]
)
"""One row a dropped document; shards are input shards."""

ROWS = 1 << 16


def name(place: int, decided: StageReport, signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``duplicates.parquet`` (``DUPLICATES``, in document order) for the piece number ``place``."""
    shards = [report.shard for report in signed]
    own = signed[place]
    determined = {"verdict": decided.fingerprint, "place": place, "shards": shards}

    def produce(folder: Path, key: str) -> StageReport:
        found = verdict(place, decided)
        reasons = np.array([f"duplicate_{kind.kind()}" for kind in config.dedup])
        with (
            storage.Writer(folder / "duplicates.parquet") as out,
            pq.ParquetWriter(out, DUPLICATES, compression="zstd", write_statistics=False) as table,
        ):
            for start in range(0, len(found), ROWS):
                rows = found[start : start + ROWS]
                table.write_table(_table(rows, own, signed, reasons))
                progress.advance(len(rows), 0)
        return StageReport(
            stage="name",
            shard=own.shard,
            piece=own.piece,
            fingerprint=key,
            docs_in=len(found),
            docs_out=len(found),
            artifacts={"duplicates": out.artifact},
        )

    return ledger.run(config.execution.work, "name", own.shard, determined, produce)


def _table(rows: np.ndarray, own: StageReport, signed: list[StageReport], reasons: np.ndarray) -> pa.Table:
    shard_of = np.array([report.shard for report in signed], np.uint32)
    kept = np.empty(len(rows), object)
    for place in np.unique(rows["kept_place"]).tolist():
        here = np.flatnonzero(rows["kept_place"] == place)
        kept[here] = _ids(signed[place], rows["kept_row"][here])
    columns = [
        strings(_ids(own, rows["row"])),
        strings(reasons[rows["kind"]].tolist()),
        strings(kept.tolist()),
        pa.array(np.full(len(rows), own.shard, np.uint32)),
        pa.array(shard_of[rows["kept_place"]]),
    ]
    return pa.Table.from_arrays(columns, schema=DUPLICATES)


def _ids(signed: StageReport, rows: np.ndarray) -> list[str]:
    """The ids of some rows of a piece; the file is mapped, so only these are read."""
    with pa.memory_map(signed.artifacts["ids"].uri) as file:
        column = ipc.open_file(file).read_all().column("id")
        found: list[str] = column.take(pa.array(rows.astype(np.int64))).to_pylist()
    return found
