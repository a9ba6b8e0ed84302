"""Hold published bytes against what was recorded about them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill.errors import ConfigError, GristmillError
from gristmill.formats.base import format_of
from gristmill.manifest import MANIFEST, joined, read_manifest, seal, strangers
from gristmill.processes import progress
from gristmill.stages.ingest.generations import FINISHED, added_by, finished
from gristmill.stages.output.label_masks import wrong_mask
from gristmill.stages.output.recount import block_digests, recount
from gristmill.storage import disk, stores
from gristmill.storage.stores import Place
from gristmill.types import AttachedFile, Manifest, PublishedFile, Value


class Verified(Value, frozen=True, kw_only=True):
    """What was looked at, and every fault found: a line each that names file, place and what was expected."""

    files: int
    documents: int
    tokens: int
    bytes: int
    problems: list[str]


def verify(output: str) -> Verified:
    """Check every file that the manifest lists: size, sha256, whole ids, ids in range, EOT count, document starts, and
    label masks against those made again from the ids.

    Raises ``ConfigError`` when there is no manifest, ``VerificationError`` when the manifest itself was changed.
    """
    place = stores.at(output)
    manifest = read_manifest(output)
    problems: list[str] = []
    for file in manifest.files:
        with place.fresh(file.path) as path:
            problems += _token_file(path, place.where(file.path), file, manifest)
            problems += _mask(place, path, file, manifest)
        progress.advance(file.documents, file.bytes)
    for attached in manifest.attachments:
        with place.fresh(attached.path) as path:
            problems += _bytes(path, place.where(attached.path), attached)
    problems += _generations(output, manifest)
    for name in strangers(output, manifest):
        part = name.partition("/")[0]
        problems.append(f"{place.where(name)}: not in the manifest; expected no other file in {part}/")
    return Verified(
        files=len(manifest.files) + len(manifest.attachments) + 1 + len(manifest.generations),
        documents=sum(file.documents for file in manifest.files),
        tokens=sum(file.tokens for file in manifest.files),
        bytes=sum(file.bytes for file in manifest.files) + sum(file.bytes for file in manifest.attachments),
        problems=problems,
    )


def _generations(output: str, manifest: Manifest) -> list[str]:
    """The manifest of every generation is there, and together they say what ``manifest.json`` says."""
    place, found = stores.at(output), None
    for number in range(1, len(manifest.generations) + 1):
        name = finished(number)
        if not place.has(name):
            return [f"{place.where(name)}: missing; expected the manifest of generation {number}"]
        try:
            found = joined(found, added_by(number, output))
        except GristmillError as error:
            return [str(error)]
        if found.generations != manifest.generations[:number] or found.files != manifest.files[: len(found.files)]:
            return [f"{place.where(name)}: says something else of its generation than {MANIFEST}"]
    return [] if found and seal(found) == manifest else [f"{place.where(FINISHED)}: adds up to another {MANIFEST}"]


def _bytes(path: Path, name: str, expected: PublishedFile | AttachedFile) -> list[str]:
    if not path.is_file():
        return [f"{name}: missing; expected {expected.bytes} bytes with sha256 {expected.sha256}"]
    size = path.stat().st_size
    if size != expected.bytes:
        return [f"{name}: {size} bytes; expected {expected.bytes}"]
    if (found := disk.digest(path)) != expected.sha256:
        return [f"{name}: {_where(path, expected)}sha256 {found}; expected {expected.sha256}"]
    return []


def _where(path: Path, expected: PublishedFile | AttachedFile) -> str:
    """The first block that differs, as far as block digests are known."""
    if isinstance(expected, AttachedFile):
        return ""
    for number, (found, wanted) in enumerate(zip(block_digests(path), expected.blocks, strict=True)):
        if found != wanted:
            start = number * expected.block_bytes
            stop = min(start + expected.block_bytes, expected.bytes)
            return f"first difference in bytes {start} to {stop - 1} (xxh3 {found}; expected {wanted}); "
    return ""


def _token_file(path: Path, name: str, file: PublishedFile, manifest: Manifest) -> list[str]:
    problems = _bytes(path, name, file)
    if not path.is_file() or path.stat().st_size != file.bytes:
        return problems
    format, record = format_of(manifest, file.format), manifest.tokenizer
    dtype, limit = format.dtype(record.vocab_size), format.ids(record.vocab_size)
    found = recount(
        format.blocks(path, dtype), eot_id=format.eot_id(record), eot_side=format.eot, boundaries=file.boundaries
    )
    if found.max_id >= limit:
        problems.append(_first_out_of_range(name, format.blocks(path, dtype), limit))
    for what, value, wanted in (("ids", found.tokens, file.tokens), ("EOT ids", found.eos, file.eos)):
        if value != wanted:
            problems.append(f"{name}: {value} {what}; expected {wanted}")
    for number in found.boundaries_wrong[:1]:
        boundary = file.boundaries[number]
        problems.append(f"{name}: id {boundary.token}: expected document {boundary.document} to start there")
    return problems


def _mask(place: Place, path: Path, file: PublishedFile, manifest: Manifest) -> list[str]:
    """The label mask is there where the format has one, and is what the ids give."""
    if not path.is_file() or path.stat().st_size != file.bytes:
        return []
    format = format_of(manifest, file.format)
    blocks = format.blocks(path, format.dtype(manifest.tokenizer.vocab_size))
    masks = format.masks(file.path.partition("/")[2], blocks)
    expected = [f"{file.format}/{name}" for name in masks]
    listed = [] if file.mask is None else [file.mask.path]
    if listed != expected:
        return [f"{place.where(file.path)}: label masks {listed}; expected {expected}"]
    problems: list[str] = []
    for name, wanted in zip(listed, masks.values(), strict=True):
        with place.fresh(name) as beside:
            problems += wrong_mask(beside, place.where(name), file, wanted)
    return problems


def _first_out_of_range(name: str, blocks: Iterator[np.ndarray], limit: int) -> str:
    position = 0
    for block in blocks:
        outside = np.flatnonzero(block >= limit)
        if outside.size:
            at = position + int(outside[0])
            return f"{name}: id number {at}: {int(block[outside[0]])}; expected less than {limit}"
        position += len(block)
    raise AssertionError("called without an id out of range")


def verify_bin(path: str, *, vocab_size: int, eot_id: int | None, dtype: str) -> Verified:
    """Check a bare file of ids that has no manifest: whole ids, ids in range, and how many EOTs there are.

    Raises ``ConfigError`` when there is no such file.
    """
    file, kind = Path(path), np.dtype(dtype).newbyteorder("<")
    if not file.is_file():
        raise ConfigError(f"{file}: no such file; give a file of raw ids")
    size = file.stat().st_size
    if size % kind.itemsize or not size:
        problem = f"{file}: {size} bytes; expected a multiple of {kind.itemsize} above 0 ({dtype} ids)"
        return Verified(files=1, documents=0, tokens=0, bytes=size, problems=[problem])

    def blocks() -> Iterator[np.ndarray]:
        with file.open("rb") as stream:
            while data := stream.read(4 << 20):
                yield np.frombuffer(data, kind)

    found = recount(blocks(), eot_id=eot_id, eot_side="none", boundaries=[])
    problems = []
    if found.max_id >= vocab_size:
        problems.append(_first_out_of_range(path, blocks(), vocab_size))
    if eot_id is not None and not found.eos:
        problems.append(f"{file}: no id {eot_id} in {found.tokens} ids; expected one a document")
    return Verified(files=1, documents=found.eos, tokens=found.tokens, bytes=size, problems=problems)
