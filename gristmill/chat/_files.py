"""Rows of conversations in the files of a format."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from gristmill.formats.olmo import OLMO_CORE, listed
from gristmill.storage import disk, stores
from gristmill.storage.rows import RowGroup, write_groups
from gristmill.tokenizers.base import Encoder

Write = Callable[[Iterator[RowGroup], np.dtype, Encoder, Path], None]

IDS, MASK = "conversations.npy", "label_masks/conversations.npy"


def _parquet(groups: Iterator[RowGroup], dtype: np.dtype, _: Encoder, output: Path) -> None:
    with disk.Writer(output) as out:
        write_groups(out, groups, dtype)


def _olmo(groups: Iterator[RowGroup], dtype: np.dtype, encoder: Encoder, output: Path) -> None:
    """Raw ids and raw bools, row after row, for ``NumpyFSLDataset`` of OLMo-core with the row as its instance.

    The id that starts a row goes to its end: what stood before each conversation then stands behind it, where OLMo-core
    looks for the end of a document. The first id of an instance is never a target, and none of a template is one.
    """
    disk.make_folder((output / MASK).parent)
    with disk.Writer(output / IDS) as ids, disk.Writer(output / MASK) as mask:
        for group in groups:
            ids.write(np.roll(group.ids, -1, axis=1).astype(dtype).data.cast("B"))
            mask.write(np.roll(group.mask, -1, axis=1).data.cast("B"))
            length = group.ids.shape[1]
    section = OLMO_CORE.format(dtype=dtype.name, eos=encoder.eot_id, vocab_size=encoder.vocab_size)
    here = stores.absolute(str(output))
    files = listed("paths", [f"{here}/{IDS}"]) + listed("label_mask_paths", [f"{here}/{MASK}"])
    disk.write(output / "olmo-core.yaml", f"{section}{files}  sequence_length: {length}\n".encode())


WRITERS: dict[str, Write] = {"parquet_rows": _parquet, "olmo": _olmo}
"""By the format that ``chat`` writes."""
