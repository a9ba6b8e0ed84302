"""Every window of the ids of a data set, as nanoGPT, OLMo and Megatron cut them."""

from pathlib import Path

import numpy as np

from gristmill.errors import InputError
from gristmill.readers._published import bare_file, data_set, is_data_set
from gristmill.readers._samples import Read
from gristmill.types import PublishedFile

BLOCK_WINDOWS = 512
"""Windows that lie together: 1 MB at a length of 1,024."""


class Windows:
    """``length`` ids and their targets, one further on, at every multiple of ``length`` of each file: a window's last
    target is the next one's first id. Fewer than ``length`` ids at the end of a file are left over.

    path: a data set (folder with ``manifest.json``, here or in an object store) or a bare file of little-endian ids.
    split, format, generations, tokenizer: as ``data_set`` has them.
    dtype: of the ids; a data set's manifest must say the same.

    Ids that a label mask of the data set hides are not to be learned. Documents of input that is gone (tombstones) are
    passed over as if they had never stood there. Raises ``ConfigError`` when there is no such file or it is of other
    ids, ``InputError`` when all files are too short.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        length: int,
        split: str = "train",
        format: str | None = None,
        generations: int | None = None,
        dtype: str | None = None,
        tokenizer: str | None = None,
    ) -> None:
        self.length = length
        self._from = (
            data_set(path, split=split, format=format, generations=generations, dtype=dtype, tokenizer=tokenizer)
            if is_data_set(path)
            else bare_file(path, dtype or "uint16")
        )
        self._kept = [_Kept(file, self._from.gone.get(file.path)) for file in self._from.files]
        counts = np.array([max(0, kept.ids - 1) // length for kept in self._kept])
        self._first = np.concatenate([[0], np.cumsum(counts)])
        if not self._first[-1]:
            ids = ", ".join(f"{file.path} has {file.tokens}" for file in self._from.files[:3])
            raise InputError(f"{path}: too few ids for a window of {length} and its target: {ids}")
        self.blocks = np.concatenate([_blocks(int(count)) for count in counts])

    @property
    def content(self) -> list[str]:
        return [f"windows of {self.length}", *self._from.content]

    def read(self, numbers: np.ndarray) -> Read:
        ids = np.empty((len(numbers), self.length + 1), np.int64)
        mask = np.empty(ids.shape, bool)
        for row, (kept, start) in enumerate(self._places(numbers)):
            position = 0
            for low, high in kept.spans(start, start + self.length + 1):
                place = row, slice(position, position + high - low)
                ids[place] = self._from.read(kept.file, low, high)
                mask[place] = self._from.learned(kept.file, low, high)
                position += high - low
        return Read(ids=ids, mask=mask)

    def expect(self, numbers: np.ndarray) -> None:
        for kept, start in self._places(numbers):
            for low, high in kept.spans(start, start + self.length + 1):
                self._from.expect(kept.file, low, high)

    def _places(self, numbers: np.ndarray) -> "list[tuple[_Kept, int]]":
        files = np.searchsorted(self._first, numbers, "right") - 1
        starts = (numbers - self._first[files]) * self.length
        return [(self._kept[file], start) for file, start in zip(files.tolist(), starts.tolist(), strict=True)]


def _blocks(windows: int) -> np.ndarray:
    whole, rest = divmod(windows, BLOCK_WINDOWS)
    return np.array([BLOCK_WINDOWS] * whole + [rest] * (rest > 0), np.int64)


class _Kept:
    """The ids of a file without spans that are to be passed over."""

    def __init__(self, file: PublishedFile, gone: np.ndarray | None) -> None:
        self.file = file
        edges = np.array([0, file.tokens]) if gone is None else np.concatenate([[0], gone.reshape(-1), [file.tokens]])
        self._low, self._high = edges[::2], edges[1::2]
        self._before = np.concatenate([[0], np.cumsum(self._high - self._low)])
        self.ids = int(self._before[-1])

    def spans(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Where ids ``start`` to ``stop`` of what is kept stand in the file."""
        if len(self._low) == 1:
            return [(start, stop)]
        found = []
        run = int(np.searchsorted(self._before, start, "right")) - 1
        while start < stop:
            shift = int(self._low[run] - self._before[run])
            end = min(stop, int(self._before[run + 1]))
            if start < end:
                found.append((start + shift, end + shift))
            start, run = end, run + 1
        return found
