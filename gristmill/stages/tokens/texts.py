"""The kept documents of one shard as bytes of text, grouped by where they will go like their ids."""

from pathlib import Path

import msgspec
import numpy as np
from pyarrow import ipc, memory_map

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.stages.dedup._kept import kept
from gristmill.stages.tokens.tokenize import NONE, Run
from gristmill.storage import stores
from gristmill.tokenizers.base import Encoded, Encoder
from gristmill.types import StageReport


class _Utf8(Encoder):
    """Every byte of the text is an id."""

    name = "UTF-8"
    file = ""
    vocab_size = 256
    eot_id = None
    fast_path = "reference"

    def encode(self, texts: list[str]) -> Encoded:
        data = [text.encode() for text in texts]
        offsets = np.cumsum([0, *map(len, data)])
        return Encoded(ids=np.frombuffer(b"".join(data), np.uint8), offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return ids.astype(np.uint8).tobytes().decode("utf-8", "replace")


def texts(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    tokenized: StageReport,
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    """Write ``tokens`` and ``index`` as ``tokenize`` does, with the bytes of the text in UTF-8 for ids; a document that
    has no ids there is left out here too."""
    vanished = tokenized.docs_in - tokenized.docs_out
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "order": arranged.fingerprint,
        "place": place,
        "among": tokenized.fingerprint if vanished else "",
    }

    def produce(folder: Path, key: str) -> StageReport:
        documents = decided.details["documents"][place] - vanished
        run = Run(place, cleaned, documents, _Utf8(), np.dtype("u1"), arranged, config, folder, "reference")
        rows = _rows(tokenized) if vanished else None
        for batch in kept(place, cleaned, decided):
            run.add(batch, NONE if rows is None else np.setdiff1d(batch.rows, rows))
        return msgspec.structs.replace(run.report(cleaned, 0, key), stage="texts")

    return ledger.run(config.execution.work, "texts", cleaned.shard, determined, produce)


def _rows(tokenized: StageReport) -> np.ndarray:
    """Rows of the documents that have ids."""
    with memory_map(str(stores.here(tokenized.artifacts["index"]))) as file:
        reader = ipc.open_file(file)
        batches = [reader.get_batch(number).column("row").to_numpy() for number in range(reader.num_record_batches)]
        return np.unique(np.concatenate([np.empty(0, np.uint32), *batches]))
