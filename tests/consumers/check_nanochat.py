"""nanochat's loader, from a checkout (NANOCHAT=...), against our text files and our packed rows."""

import itertools
import os
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
from expected import Expected, checkout, data_sets, done
from tokenizers import Tokenizer

BATCH, RANKS = 8, 4

sys.path.insert(0, str(checkout("NANOCHAT", "karpathy/nanochat")))
from nanochat import dataloader, dataset  # noqa: E402


class Encoder:
    """Our tokenizer as its loader calls one."""

    def __init__(self, path: Path, bos: int) -> None:
        self._own, self._bos = Tokenizer.from_file(str(path)), bos
        self._own.encode_special_tokens = True

    def get_bos_token_id(self) -> int:
        return self._bos

    def encode(self, texts: list[str], prepend: int, num_threads: int) -> list[list[int]]:
        return [[prepend, *found.ids] for found in self._own.encode_batch(texts, add_special_tokens=False)]


def texts_of(folder: Path, split: str, rank: int) -> list[str]:
    """What a rank reads in its first epoch."""
    settings = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    with patch.object(dataset, "DATA_DIR", str(folder)), patch.dict(os.environ, settings):
        batches = dataloader._document_batches(split, None, 128)
        first = itertools.takewhile(lambda found: found[1][2] == 1, batches)
        return [text for texts, _ in first for text in texts]


def rows_of(expected: Expected, split: str, length: int) -> np.ndarray:
    """Its rows, 8 at a time, as long as all documents that it chooses from are of its first epoch."""
    encoder = Encoder(expected.folder / "tokenizer.json", expected.eot)
    with patch.object(dataset, "DATA_DIR", str(expected.output / "nanochat_text")):
        batches = dataloader.tokenizing_distributed_data_loader_with_state_bos_bestfit(
            encoder, BATCH, length, split, device="cpu"
        )
        first = itertools.takewhile(lambda found: found[2]["epoch"] == 1, batches)
        return np.concatenate([np.concatenate([x.numpy(), y.numpy()[:, -1:]], axis=1) for x, y, _ in first])


texts = rows = 0
for expected in data_sets():
    for number, split in itertools.product((1, 2), ("train", "val")):
        folder = expected.output / "nanochat_text" / ("" if number == 1 else "g00002")
        read = [text for rank in range(RANKS) for text in texts_of(folder, split, rank)]
        wanted = expected.generations[number - 1][f"{split}_texts"]
        assert sorted(read) == sorted(wanted), (folder, split)
        texts += len(read)
expected = Expected(Path(sys.argv[1]) / "rows")
ours = np.array(pq.read_table(expected.output / "parquet_rows" / "train-00000.parquet")["ids"].to_pylist())
theirs = rows_of(expected, "train", ours.shape[1] - 1)
assert (theirs == ours[: len(theirs)]).all()
rows += len(theirs)
assert rows > len(ours) // 2, "too few rows before its second epoch"
done("nanochat", texts=texts, rows_equal_to_its_own=rows)
