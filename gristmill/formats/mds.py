"""MosaicML streaming (MDS), for llm-foundry: samples of equally many ids in shards with an index."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from gristmill.errors import InputError, VerificationError
from gristmill.formats._files import generation_folder, quoted, rows, written
from gristmill.formats.base import BLOCK_BYTES, DataSet, EotSide, Format, OutputFile, Packed, Stream

COLUMN = "tokens"
ENCODING = "ndarray:int32"


class Mds(Format):
    """``<split>/index.json`` and ``shard.00000.mds`` on, byte for byte as ``MDSWriter`` writes them from the samples of
    llm-foundry's ``ConcatTokensDataset``: ``max_length`` int32 ids each, documents joined and cut.

    What is left at the end of a split and fills no sample is left out, fewer than ``max_length`` ids a generation: the
    reader stacks samples of one length. A later generation has a folder of its own, ``g00002``: an index speaks of all
    shards beside it.
    """

    cut_by: ClassVar[str] = "size_limit"
    eot: EotSide = Field("append", description="append (eos_text), prepend (bos_text) or none.")
    max_length: int = Field(
        2048, ge=2, lt=2**24, description="Ids a sample: the length that the model is trained with."
    )
    size_limit: int = Field(1 << 26, ge=1 << 12, lt=2**32, description="Bytes a shard, at most.")

    def most_ids(self) -> int:
        return self.size_limit // 4

    def dtype(self, vocab_size: int) -> np.dtype:
        return np.dtype("<i4")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        found = []
        for split, stream in streams.items():
            samples = stream.length // self.max_length
            if not samples and generation == 1:
                raise InputError(
                    f"mds: the {split} split has {stream.length} ids, and a sample has {self.max_length}; "
                    "set a smaller max_length, or another split"
                )
            for number, first in enumerate(range(0, samples, self._samples)):
                last = min(first + self._samples, samples)
                path = f"{generation_folder(generation)}{split}/shard.{number:05d}.mds"
                start, stop = first * self.max_length, last * self.max_length
                found.append(OutputFile(path=path, split=split, start=start, stop=stop))
        return found

    @property
    def _config(self) -> dict[str, Any]:
        """What a shard and the index say of how it was written."""
        return {
            "version": 2,
            "format": "mds",
            "compression": None,
            "hashes": [],
            "size_limit": self.size_limit,
            "column_names": [COLUMN],
            "column_encodings": [ENCODING],
            "column_sizes": [None],
        }

    @property
    def _start(self) -> bytes:
        """What stands before the ids of a sample: the size of the column, one dimension, and its length in the smallest
        type."""
        code = 0 if self.max_length < 1 << 8 else 1 if self.max_length < 1 << 16 else 2
        shape = bytes([1 << 2 | code]) + self.max_length.to_bytes(1 << code, "little")
        return struct.pack("<I", len(shape) + 4 * self.max_length) + shape

    @property
    def _sample_bytes(self) -> int:
        return len(self._start) + 4 * self.max_length

    @property
    def _samples(self) -> int:
        """Samples a shard: each costs its bytes and an offset of 4."""
        room = self.size_limit - 8 - len(self._said)
        return max(1, room // (self._sample_bytes + 4))

    @property
    def _said(self) -> bytes:
        return json.dumps(self._config, sort_keys=True).encode()

    def header(self, packed: Packed) -> bytes:
        return self._header(packed.tokens // self.max_length)

    def _header(self, samples: int) -> bytes:
        first = 4 + 4 * (samples + 1) + len(self._said)
        offsets = first + self._sample_bytes * np.arange(samples + 1)
        return struct.pack("<I", samples) + offsets.astype("<u4").tobytes() + self._said

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        start = np.frombuffer(self._start, np.uint8)

        def samples() -> Iterator[bytes]:
            for table in rows(packed.blocks(), self.max_length):
                found = np.empty((len(table), self._sample_bytes), np.uint8)
                found[:, : len(start)] = start
                found[:, len(start) :] = table.astype("<i4").view(np.uint8)
                yield found.tobytes()

        return [written(folder / "samples", samples())]

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """An index for each split of this generation, and the loaders of llm-foundry over all generations."""
        found = {}
        for split in sorted({file.split for file in data.files if file.generation == data.generation}):
            own = [file for file in data.files if (file.split, file.generation) == (split, data.generation)]
            shards = [self._shard(file.path.rpartition("/")[2], file.bytes, file.tokens) for file in own]
            index = json.dumps({"version": 2, "shards": shards}, sort_keys=True)
            found[f"{generation_folder(data.generation)}{split}/index.json"] = index.encode()
        return {**found, f"{generation_folder(data.generation)}llm-foundry.yaml": self._loaders(data).encode()}

    def _shard(self, name: str, nbytes: int, tokens: int) -> dict[str, Any]:
        raw = {"basename": name, "bytes": nbytes, "hashes": {}}
        return {**self._config, "samples": tokens // self.max_length, "raw_data": raw, "zip_data": None}

    def _loaders(self, data: DataSet) -> str:
        streams = []
        for key, split in (("train", "train"), ("eval", "val")):
            folders = sorted({path.rpartition("/")[0] for path in data.paths(split)})
            if folders:
                lines = [f"      g{place}:\n        local: {quoted(path)}\n" for place, path in enumerate(folders, 1)]
                streams.append(LOADER.format(key=key, streams="".join(lines), length=self.max_length))
        return "# For llm-foundry.\n" + "".join(streams)

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        with path.open("rb") as file:
            samples = int.from_bytes(file.read(4), "little")
            head = self._header(samples)
            file.seek(0)
            if path.stat().st_size != len(head) + samples * self._sample_bytes or file.read(len(head)) != head:
                raise VerificationError(f"{path}: no shard of samples of {self.max_length} ids")
            while data := file.read(max(1, BLOCK_BYTES // self._sample_bytes) * self._sample_bytes):
                found = np.frombuffer(data, np.uint8).reshape(-1, self._sample_bytes)
                if (found[:, : len(self._start)] != np.frombuffer(self._start, np.uint8)).any():
                    raise VerificationError(f"{path}: a sample that is no array of {self.max_length} int32")
                yield np.ascontiguousarray(found[:, len(self._start) :]).view(dtype).ravel()


LOADER = """\
{key}_loader:
  name: text
  dataset:
    streams:
{streams}    max_seq_len: {length}
    shuffle: true
  drop_last: true
"""
