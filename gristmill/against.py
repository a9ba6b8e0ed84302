"""Make the tokens again from the input, with the reference tokenizer, and compare them with what was published."""

import tempfile
from pathlib import Path

import numpy as np

from gristmill import serial, storage
from gristmill.config import PrepareConfig
from gristmill.manifest import read_manifest
from gristmill.stages.layout import layout
from gristmill.stages.order import order
from gristmill.stages.pack import pack
from gristmill.stages.plan import plan
from gristmill.stages.recall import check_tokenizer_files
from gristmill.stages.tokenize import tokenize
from gristmill.types import Artifact, Manifest, PublishedFile, StageReport


def compare(output: str, config: PrepareConfig) -> list[str]:
    """Read, clean and dedup the input of ``config`` anew in a temporary folder, encode the kept documents with the
    archived tokenizer's reference implementation, and compare id by id; a line for every file that differs."""
    folder = storage.local(output)
    manifest = read_manifest(folder)
    check_tokenizer_files(folder, manifest)
    problems = _other_rules(folder, manifest, config)
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as work:
        execution = config.execution.model_copy(update={"work": work})
        expected = _expected(folder, manifest, config.model_copy(update={"execution": execution}))
        for file in manifest.files:
            problems += _difference(folder, file, expected.get(file.path, []), np.dtype(manifest.dtype))
        problems += [
            f"{folder / path}: missing; the input gives it"
            for path in expected.keys() - {f.path for f in manifest.files}
        ]
    return problems


def _other_rules(folder: Path, manifest: Manifest, config: PrepareConfig) -> list[str]:
    changed = sorted(key for key, part in config.parts().items() if part != manifest.config_parts.get(key))
    return [f"{folder}: made with other {', '.join(changed)} than the given configuration"] if changed else []


def _expected(folder: Path, manifest: Manifest, config: PrepareConfig) -> dict[str, list[Path]]:
    """The pieces of every published file, by its path in the output, made by the reference."""
    done = serial.ingest(plan(config).shards, config)
    tokenizer = StageReport(
        stage="vocabulary",
        shard=0,
        fingerprint=manifest.tokenizer.sha256,
        artifacts={
            path.name: Artifact(uri=str(path), sha256="", nbytes=path.stat().st_size)
            for path in (folder / "tokenizer").iterdir()
        },
        details={"record": manifest.tokenizer},
    )
    arranged = order(done.measured, done.settled, config)
    tokenized = [
        tokenize(place, report, done.settled, tokenizer, arranged, config, "reference")
        for place, report in enumerate(done.pieces)
    ]
    planned = layout(tokenized, arranged, config)
    packed = [pack(piece, tokenized, tokenizer, config) for piece in planned.pieces]
    return {
        f"{file.format}/{file.path}": [Path(packed[number].artifacts["tokens"].uri) for number in file.pieces]
        for file in planned.files
    }


def _difference(folder: Path, file: PublishedFile, pieces: list[Path], dtype: np.dtype) -> list[str]:
    """The first id at which a published file is not what its pieces say."""
    path = folder / file.path
    item = dtype.itemsize
    header = file.bytes - file.tokens * item
    position = 0
    with path.open("rb") as published:
        published.seek(header)
        for piece in pieces:
            with piece.open("rb") as wanted_file:
                while wanted := wanted_file.read(4 << 20):
                    found = published.read(len(wanted))
                    if found != wanted:
                        return [_first(path, header, position, found, wanted, dtype)]
                    position += len(wanted) // item
        rest = published.read()
    return [f"{path}: id {position}: {len(rest)} bytes more than the input gives"] if rest else []


def _first(path: Path, header: int, position: int, found: bytes, wanted: bytes, dtype: np.dtype) -> str:
    ours = np.frombuffer(found[: len(found) // dtype.itemsize * dtype.itemsize], dtype)
    theirs = np.frombuffer(wanted, dtype)
    shorter = min(len(ours), len(theirs))
    differs = np.flatnonzero(ours[:shorter] != theirs[:shorter])
    at = int(differs[0]) if differs.size else shorter
    byte = header + (position + at) * dtype.itemsize
    met = f"{ours[at]}" if at < len(ours) else "the end of the file"
    return f"{path}: id {position + at} (byte {byte}): {met}; expected {theirs[at]}"
