"""Documents back to back."""

from pathlib import Path

import numpy as np
import pytest
from corpora import EOT, published, request, write_documents

from gristmill import pipeline

TEXTS = ["a", "long " * 50, "\u4e2d\u6587", " b ", "c\n"]


@pytest.mark.parametrize("side", ["append", "prepend", "none"])
def test_nothing_stands_between_documents_but_their_end_of_text(tmp_path: Path, side: str) -> None:
    """Padding, a lost document or a doubled end of text would shift every window after it."""
    write_documents(tmp_path / "in" / "a.jsonl", TEXTS)
    config = request(tmp_path, packing={"kind": "concat"}, formats=[{"kind": "nanogpt", "eot": side}])
    manifest = pipeline.prepare(config)
    ids = np.fromfile(Path(config.destination) / "nanogpt" / "train.bin", "<u2")
    sizes = [len(text.encode()) for text in TEXTS]
    ends = (np.cumsum(sizes) + np.arange(len(TEXTS))).tolist()
    starts = [0, *(end + 1 for end in ends[:-1])]
    assert np.flatnonzero(ids == EOT).tolist() == {"append": ends, "prepend": starts, "none": []}[side]
    assert len(ids) == sum(sizes) + (0 if side == "none" else len(TEXTS))
    assert manifest.files[0].documents == len(TEXTS)
    if side == "append":
        assert published(config) == TEXTS
