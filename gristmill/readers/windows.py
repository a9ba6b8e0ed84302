"""Random windows of ids from ``.bin`` files, as a training loop wants them.

In a PyTorch loop::

    x, y = map(torch.from_numpy, windows.batch(12))
"""

from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gristmill import storage
from gristmill.errors import ConfigError, InputError
from gristmill.manifest import exists, read_manifest
from gristmill.places import at, is_remote

Alignment = Literal["anywhere", "document"]

REMAP_EVERY = 1024
"""Windows after which the file is mapped anew. Pages that were touched stay counted against the process as long as the
mapping lives; at 64 kB a fault this keeps them under 64 MB, however many windows are drawn."""

SCAN_IDS = 1 << 22


class Windows:
    """``length`` ids from a random place, and the same shifted by one.

    The places are drawn by numpy's PCG64 from ``seed``, so the same seed gives the same batches.

    path: a data set (folder with ``manifest.json``, here or in an object store) or a bare ``.bin`` file of
    little-endian ids.
    split: which file of a data set.
    aligned: ``anywhere``, or ``document`` to start every window where a document starts.
    dtype, eot_id, eot_side: of a bare file; a data set's manifest knows them.
    tokenizer: the file of the tokenizer that the model has; ``ConfigError`` unless the data set's ids are of that one.

    Raises ``InputError`` when the file is too short for one window or ends within an id, ``ConfigError`` when there is
    no such file or documents cannot be told.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        length: int,
        seed: int = 0,
        split: str = "train",
        aligned: Alignment = "anywhere",
        dtype: str = "uint16",
        eot_id: int | None = None,
        eot_side: str = "append",
        tokenizer: str | Path | None = None,
    ) -> None:
        self.path, self.dtype, self.eot_id, self.eot_side = (
            Path(path),
            np.dtype(dtype).newbyteorder("<"),
            eot_id,
            eot_side,
        )
        if aligned not in get_args(Alignment):
            raise ConfigError(f"aligned: {aligned!r}; there are: {', '.join(get_args(Alignment))}")
        if length < 1:
            raise ConfigError(f"length: {length}; a window has at least one id")
        if is_remote(str(path)) or exists(path):
            self._open_data_set(str(path), split, tokenizer)
        elif tokenizer is not None:
            raise ConfigError(f"{self.path}: a bare file does not say which tokenizer made it; give its data set")
        self.length = length
        self._random = np.random.default_rng(seed)
        self._check_size()
        self._ids = self._map()
        self._drawn = 0
        self._starts = self._document_starts() if aligned == "document" else None

    def _open_data_set(self, output: str, split: str, tokenizer: str | Path | None) -> None:
        manifest = read_manifest(output)
        made = manifest.tokenizer
        if tokenizer is not None and (own := storage.digest(Path(tokenizer))) != made.sha256:
            raise ConfigError(f"{tokenizer}: sha256 {own}; the ids were made with {made.file} of sha256 {made.sha256}")
        found = [file for file in manifest.files if file.split == split and file.path.endswith(".bin")]
        if len(found) != 1:
            there = ", ".join(file.path for file in manifest.files)
            raise ConfigError(f"{output}: no single .bin file of split {split!r}; there are: {there}")
        self.path = at(output).path(found[0].path)
        self.dtype = np.dtype(manifest.dtype).newbyteorder("<")
        self.eot_id, self.eot_side = manifest.tokenizer.eot_id, manifest.eot_side[found[0].format]

    def _check_size(self) -> None:
        if not self.path.is_file():
            raise ConfigError(f"{self.path}: no such file; give a .bin file or the folder of a finished data set")
        size, item = self.path.stat().st_size, self.dtype.itemsize
        if size % item:
            raise InputError(f"{self.path}: {size} bytes is no whole number of {self.dtype.name} ids; the file is cut")
        if size // item < self.length + 1:
            raise InputError(
                f"{self.path}: {size // item} ids are too few for a window of {self.length} and its target"
            )

    def _map(self) -> np.ndarray:
        return np.asarray(np.memmap(self.path, self.dtype, "r"))

    def _document_starts(self) -> np.ndarray:
        """int64 offsets of document starts that leave room for a window."""
        if self.eot_id is None or self.eot_side == "none":
            raise ConfigError(
                f"{self.path}: no end-of-text id is known, so document starts cannot be found; give eot_id"
            )
        after = int(self.eot_side == "append")
        found = [np.zeros(after, np.int64)]
        for low in range(0, len(self._ids), SCAN_IDS):
            found.append(np.flatnonzero(self._map()[low : low + SCAN_IDS] == self.eot_id) + low + after)
        starts = np.concatenate(found)
        starts = starts[starts <= len(self._ids) - self.length - 1]
        if not len(starts):
            raise InputError(f"{self.path}: no document starts {self.length + 1} ids or more before the end")
        return starts

    def batch(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """``size`` windows: x and y, int64, each ``(size, length)``; ``y[:, i]`` is the id after ``x[:, i]``."""
        if self._starts is None:
            places = self._random.integers(0, len(self._ids) - self.length, size)
        else:
            places = self._starts[self._random.integers(0, len(self._starts), size)]
        block = np.empty((size, self.length + 1), np.int64)
        for row, place in enumerate(places.tolist()):
            if self._drawn % REMAP_EVERY == 0:
                self._ids = self._map()
            self._drawn += 1
            block[row] = self._ids[place : place + self.length + 1]
        return block[:, :-1].copy(), block[:, 1:].copy()
