"""A data set as readers see it: the files of a split in order, the type of their ids, and what of them is gone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pyarrow.parquet as pq

from gristmill.errors import ConfigError, InputError, alternatives
from gristmill.manifest import exists, read_manifest
from gristmill.plugins import fact, kinds_by_fact
from gristmill.readers._bytes import Parts, parts_in
from gristmill.storage import stores
from gristmill.storage.stores import at, is_remote
from gristmill.types import LabelMask, Manifest, PublishedFile

Holds = Literal["ids", "rows"]


@dataclass(frozen=True, kw_only=True)
class Published:
    """The files of one format and split, of some generations."""

    uri: str
    files: list[PublishedFile]
    parts: Parts
    dtype: np.dtype
    eot_id: int | None
    eot: int
    """Ids of end of text a document, 0 or 1."""
    gone: dict[str, np.ndarray]
    """By file: int64 (spans, 2), rising half-open spans of ids to pass over."""
    removed: frozenset[int]
    """Input shards whose documents are to be passed over."""
    sources: dict[int, str]
    """Of each input shard."""
    masks: dict[str, PublishedFile]
    """By the path of a file its label mask, as a file of one byte an id."""

    def read(self, file: PublishedFile, start: int, stop: int) -> np.ndarray:
        """Ids ``start`` to ``stop``, exclusive, of a file of raw ids."""
        item, header = self.dtype.itemsize, self.header(file)
        return np.frombuffer(self.parts.read(file, header + start * item, header + stop * item), self.dtype)

    def learned(self, file: PublishedFile, start: int, stop: int) -> np.ndarray:
        """bool: which ids ``start`` to ``stop`` are to be learned by the file's label mask; all where it has none."""
        if file.path not in self.masks:
            return np.ones(stop - start, bool)
        return np.frombuffer(self.parts.read(self.masks[file.path], start, stop), bool)

    def expect(self, file: PublishedFile, start: int, stop: int) -> None:
        """These will be read soon."""
        item, header = self.dtype.itemsize, self.header(file)
        self.parts.expect(file, header + start * item, header + stop * item)
        if file.path in self.masks:
            self.parts.expect(self.masks[file.path], start, stop)

    def header(self, file: PublishedFile) -> int:
        """Bytes before the first id."""
        return file.bytes - file.tokens * self.dtype.itemsize

    @property
    def content(self) -> list[str]:
        """What decides which ids are read: sums of files, and what is passed over."""
        spans = [f"{path}:{found.tolist()}" for path, found in sorted(self.gone.items())]
        return [file.sha256 or f"{file.path}:{file.bytes}" for file in self.files] + spans


def data_set(
    output: str | Path,
    *,
    split: str,
    holds: Holds = "ids",
    format: str | None = None,
    generations: int | None = None,
    dtype: str | None = None,
    tokenizer: str | None = None,
) -> Published:
    """A finished data set, here or in an object store.

    format: which of its formats; default the first that holds what is wanted.
    generations: only the first so many, so that a run goes on as it began while the data set grows.
    dtype, tokenizer: what the model expects, refused where the manifest says otherwise; a tokenizer is named as there
    or by the sha256 of its file.

    Raises ``ConfigError``.
    """
    uri = str(output)
    manifest = read_manifest(uri)
    record = manifest.tokenizer
    if dtype is not None and np.dtype(dtype) != np.dtype(manifest.dtype):
        raise ConfigError(f"{uri}: its ids are {manifest.dtype}, not {np.dtype(dtype).name}")
    if tokenizer is not None and tokenizer not in (record.name, record.sha256):
        raise ConfigError(
            f"{uri}: its ids are of tokenizer {record.name} (sha256 {record.sha256}), not of {tokenizer}: they would "
            "mean other text"
        )
    kind = _format(manifest, holds, format, uri)
    files = [
        file
        for file in manifest.files
        if (file.format, file.split) == (kind, split) and (generations is None or file.generation <= generations)
    ]
    if not files:
        there = ", ".join(file.path for file in manifest.files)
        raise ConfigError(f"{uri}: no {kind} file of split {split!r}; there are: {there}")
    removed, gone = _tombstones(uri, manifest)
    found = Published(
        uri=uri,
        files=files,
        parts=parts_in(uri),
        dtype=np.dtype(manifest.dtype).newbyteorder("<"),
        eot_id=record.eot_id,
        eot=int(manifest.eot_side[kind] != "none"),
        gone={file.path: gone[file.path] for file in files if file.path in gone},
        removed=removed,
        sources={row.index: row.source for row in manifest.source_shards},
        masks={file.path: _mask(file, file.mask) for file in files if file.mask is not None},
    )
    for file in files if holds == "ids" else []:
        if not 0 <= found.header(file) <= 4096:
            raise InputError(
                f"{uri}/{file.path}: {file.bytes} bytes are not {file.tokens} ids of {manifest.dtype} after a header"
            )
    return found


def _mask(file: PublishedFile, mask: LabelMask) -> PublishedFile:
    return msgspec.structs.replace(file, path=mask.path, bytes=file.tokens, blocks=mask.blocks)


def bare_file(path: str | Path, dtype: str) -> Published:
    """A file of raw ids without a manifest. Raises ``ConfigError`` when there is none, ``InputError`` when it ends
    within an id."""
    file, kind = Path(path), np.dtype(dtype).newbyteorder("<")
    if not file.is_file():
        raise ConfigError(f"{file}: no such file; give a .bin file or the folder of a finished data set")
    size = file.stat().st_size
    if size % kind.itemsize:
        raise InputError(f"{file}: {size} bytes is no whole number of {kind.name} ids; the file is cut")
    return _bare(file, kind)


def _bare(file: Path, dtype: np.dtype) -> Published:
    size = file.stat().st_size
    only = PublishedFile(
        path=file.name, format="", split="", generation=1, bytes=size, sha256="", documents=0,
        tokens=size // dtype.itemsize, eos=0, max_id=0, block_bytes=1 << 20, blocks=[], boundaries=[],
    )  # fmt: skip
    return Published(
        uri=str(file.parent), files=[only], parts=parts_in(str(file.parent)), dtype=dtype, eot_id=None, eot=0, gone={},
        removed=frozenset(), sources={}, masks={},
    )  # fmt: skip


def bare_rows(path: str | Path) -> Published:
    """A file of packed rows without a manifest. Raises ``ConfigError`` when there is none."""
    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"{file}: no such file; give a file of packed rows or the folder of a finished data set")
    kind = pq.read_schema(file).field("ids").type.value_type.to_pandas_dtype()
    return _bare(file, np.dtype(kind).newbyteorder("<"))


def is_data_set(path: str | Path) -> bool:
    """Whether it is to be read by a manifest."""
    return is_remote(str(path)) or exists(path)


def _format(manifest: Manifest, holds: Holds, format: str | None, uri: str) -> str:
    there = list(dict.fromkeys(file.format for file in manifest.files))
    found = [kind for kind in there if fact("formats", kind, "read_as") == holds and format in (None, kind)]
    if not found:
        readable = kinds_by_fact("formats", "read_as", holds)
        wanted = f"format {format!r} of {holds}" if format else f"format of {holds} ({', '.join(readable)})"
        raise ConfigError(f"{uri}: no {wanted}; {alternatives(format or '', there)}")
    return found[0]


class _Tombstones(msgspec.Struct):
    shards: list[int]
    spans: dict[str, list[tuple[int, int]]]


def _tombstones(uri: str, manifest: Manifest) -> tuple[frozenset[int], dict[str, np.ndarray]]:
    """Of all generations: input shards, and spans by file, merged."""
    shards: set[int] = set()
    spans: dict[str, list[tuple[int, int]]] = {}
    for generation in manifest.generations:
        if generation.tombstones:
            found = msgspec.json.decode(at(uri).read(generation.tombstones), type=_Tombstones)
            shards |= set(found.shards)
            for path, more in found.spans.items():
                spans.setdefault(path, []).extend(more)
    return frozenset(shards), {path: np.array(sorted(found), np.int64) for path, found in spans.items()}


def file_here(uri: str, name: str) -> Path:
    """A file of the data set on this machine, brought here where it is in an object store."""
    return stores.at(uri).path(name)
