"""The manifest on disk: read it, seal it, check its seal."""

import hashlib
from pathlib import Path

import msgspec

from gristmill import storage
from gristmill.errors import ConfigError, VerificationError
from gristmill.types import Manifest

MANIFEST = "manifest.json"
VERSION = 2
"""Raised when a manifest gets or loses a field."""


class _Version(msgspec.Struct):
    manifest_version: int


def seal(manifest: Manifest) -> Manifest:
    """The manifest with ``sha256`` filled in."""
    return msgspec.structs.replace(manifest, sha256=_digest(manifest))


def _digest(manifest: Manifest) -> str:
    bare = msgspec.structs.replace(manifest, sha256="")
    return hashlib.sha256(msgspec.json.encode(bare, order="deterministic")).hexdigest()


def seal_of(output: Path) -> str:
    """The seal of a data set's manifest; empty where there is none."""
    return read_manifest(output).sha256 if (output / MANIFEST).exists() else ""


def read_manifest(output: Path) -> Manifest:
    """The sealed manifest of a data set.

    Raises ``ConfigError`` when there is none, ``VerificationError`` when it was changed after it was written.
    """
    path = output / MANIFEST
    if not path.exists():
        raise ConfigError(f"{path}: no such file; give the folder of a finished data set")
    with storage.translated(path):
        data = path.read_bytes()
    try:
        made_by = msgspec.json.decode(data, type=_Version).manifest_version
        if made_by != VERSION:
            raise ConfigError(f"{path}: of manifest version {made_by}; this gristmill reads version {VERSION}")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise VerificationError(f"{path}: not a manifest: {error}") from None
    wanted = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    if manifest.sha256 != _digest(manifest) or data != wanted:
        raise VerificationError(
            f"{path}: changed after it was written: expected sha256 {manifest.sha256} of its content"
        )
    return manifest


def strangers(output: Path, manifest: Manifest) -> list[Path]:
    """Files in the folders of a data set that its manifest does not list, in order: a trainer's glob would pick them
    up."""
    listed = {file.path for file in manifest.files} | {file.path for file in manifest.attachments}
    folders = sorted({path.partition("/")[0] for path in listed})
    found = (path for folder in folders for path in sorted((output / folder).rglob("*")) if path.is_file())
    return [path for path in found if path.relative_to(output).as_posix() not in listed]
