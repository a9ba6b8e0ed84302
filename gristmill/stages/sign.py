"""One signature a document, sorted, so that a hash range of every shard is one contiguous slice."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from gristmill import ledger, progress, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import SIGNATURE
from gristmill.stages._arrow import batches
from gristmill.types import Artifact, ShardRef, StageReport


def inputs(cleaned: str, config: PrepareConfig) -> dict[str, Any]:
    """The cleaned documents and the kinds of duplicates looked for."""
    return {"clean": cleaned, "dedup": [kind.identity() for kind in config.dedup]}


def sign(shard: ShardRef, cleaned: StageReport, config: PrepareConfig) -> StageReport:
    """Write ``<kind>.signatures`` for each dedup kind, ``SIGNATURE`` records sorted by (high, low, row), and
    ``characters``, int64 code points of each document in row order."""

    def produce(folder: Path, key: str) -> StageReport:
        found: list[list[np.ndarray]] = [[] for _ in config.dedup]
        lengths: list[np.ndarray] = []
        first = 0
        for batch in batches(cleaned.artifacts["documents"].uri):
            texts = batch.column("text")
            lengths.append(pc.utf8_length(texts).to_numpy().astype("<i8"))
            for place, kind in enumerate(config.dedup):
                signatures = kind.signatures(texts)
                signatures["row"] += first
                found[place].append(signatures)
            first += len(texts)
            progress.advance(len(texts), texts.nbytes)
        artifacts = {"characters": _write(folder / "characters", lengths, np.dtype("<i8"))}
        for kind, parts in zip(config.dedup, found, strict=True):
            name = f"{kind.kind()}.signatures"
            artifacts[name] = _write(folder / name, [np.sort(_joined(parts, SIGNATURE))], SIGNATURE)
        return StageReport(
            stage="sign",
            shard=shard.index,
            fingerprint=key,
            docs_in=cleaned.docs_out,
            docs_out=cleaned.docs_out,
            chars_in=cleaned.chars_out,
            chars_out=cleaned.chars_out,
            artifacts=artifacts,
        )

    return ledger.run(config.execution.work, "sign", shard.index, inputs(cleaned.fingerprint, config), produce)


def _joined(parts: list[np.ndarray], dtype: np.dtype) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _write(path: Path, parts: list[np.ndarray], dtype: np.dtype) -> Artifact:
    return storage.write(path, _joined(parts, dtype).tobytes())
