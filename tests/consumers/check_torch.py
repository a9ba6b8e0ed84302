"""Our own readers under PyTorch, which ``make test`` does without: tensors, labels under masks, resume, and page-locked
memory where there is a GPU."""

import sys
from pathlib import Path

import numpy as np
import torch
from expected import Expected, data_sets, done, generations

sys.path.insert(0, str(Path(__file__).parents[2]))
from gristmill.readers.loader import Loader
from gristmill.readers.torch import Feed
from gristmill.readers.windows import Windows

BATCH = 8
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def samples(expected: Expected) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ids and mask of every window of the train parts, in order."""
    folder = expected.output / "olmo"
    found = []
    for files in generations(list((folder / "train").glob("*.npy")), expected):
        for path, part in zip(files, expected.parts(files, "train"), strict=True):
            ids = np.concatenate([np.array(document) for document in part])
            mask = np.fromfile(folder / "label_masks" / "train" / path.name, bool)
            starts = range(0, len(ids) - expected.length, expected.length)
            found += [(ids[at : at + expected.length + 1], mask[at : at + expected.length + 1]) for at in starts]
    return found


def feed(expected: Expected) -> Feed:
    windows = Windows(expected.output, length=expected.length, format="olmo")
    return Feed(Loader(windows, batch=BATCH, shuffle="none"), device=DEVICE)


batches = resumed = hidden = pinned = 0
for expected in data_sets():
    wanted, made = samples(expected), feed(expected)
    for first in range(0, len(wanted) - BATCH + 1, BATCH):
        ids, mask = (np.array(column) for column in zip(*wanted[first : first + BATCH], strict=True))
        labels = np.where(mask, ids, -100)[:, 1:]
        state = made.state_dict()
        x, y = made.next()
        assert x.dtype == y.dtype == torch.int64
        assert x.device.type == y.device.type == DEVICE
        assert x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr(), "one buffer, one copy"
        assert np.array_equal((x.cpu(), y.cpu()), (ids[:, :-1], labels))
        batches += 1
        hidden += int(np.count_nonzero(labels == -100))
        if first % (BATCH * 10) == 0:
            again = feed(expected)
            again.load_state_dict(state)
            assert all(torch.equal(*pair) for pair in zip(again.next(), (x, y), strict=True))
            resumed += 1
    staged, _ = made._staged()
    assert staged.is_pinned() == (DEVICE == "cuda")
    pinned += staged.is_pinned()
done(f"our readers under torch {torch.__version__}", batches=batches, resumed=resumed, labels_hidden=hidden)
print(f"  page-locked staging buffer: {f'{pinned} buffers' if pinned else 'NOT RUN: no GPU here'}")
