"""The manifest on disk: read it, seal it, check its seal."""

import hashlib
from pathlib import Path

import msgspec

from gristmill import places
from gristmill.errors import ConfigError, VerificationError
from gristmill.types import Manifest

MANIFEST = "manifest.json"
VERSION = 5
"""Raised when a manifest gets or loses a field."""


class _Version(msgspec.Struct):
    manifest_version: int


def seal(manifest: Manifest) -> Manifest:
    """The manifest with ``sha256`` filled in."""
    return msgspec.structs.replace(manifest, sha256=_digest(manifest))


def _digest(manifest: Manifest) -> str:
    bare = msgspec.structs.replace(manifest, sha256="")
    return hashlib.sha256(msgspec.json.encode(bare, order="deterministic")).hexdigest()


def exists(output: str | Path) -> bool:
    """Whether a finished data set is there."""
    return places.at(output).has(MANIFEST)


def seal_of(output: str | Path) -> str:
    """The seal of a data set's manifest; empty where there is none."""
    return read_manifest(output).sha256 if exists(output) else ""


def read_manifest(output: str | Path) -> Manifest:
    """The sealed manifest of a data set.

    Raises ``ConfigError`` when there is none, ``VerificationError`` when it was changed after it was written.
    """
    place = places.at(output)
    path = place.where(MANIFEST)
    if not place.has(MANIFEST):
        raise ConfigError(f"{path}: no such file; give the folder of a finished data set")
    return decoded(place.read(MANIFEST), path)


def encoded(manifest: Manifest) -> bytes:
    """The bytes of a manifest file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decoded(data: bytes, path: str) -> Manifest:
    """The manifest in the bytes of the file ``path``; raises as ``read_manifest`` does."""
    try:
        made_by = msgspec.json.decode(data, type=_Version).manifest_version
        if made_by != VERSION:
            raise ConfigError(f"{path}: of manifest version {made_by}; this gristmill reads version {VERSION}")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise VerificationError(f"{path}: not a manifest: {error}") from None
    if manifest.sha256 != _digest(manifest) or data != encoded(manifest):
        raise VerificationError(
            f"{path}: changed after it was written: expected sha256 {manifest.sha256} of its content"
        )
    return manifest


def listed_bytes(manifest: Manifest) -> dict[str, int]:
    """The size of every published file, by its path."""
    tokens = {file.path: file.bytes for file in manifest.files}
    return tokens | {file.path: file.bytes for file in manifest.attachments}


def strangers(output: str, manifest: Manifest) -> list[str]:
    """Files in the folders of a data set that its manifest does not list: a trainer's glob would pick them up."""
    listed, place = listed_bytes(manifest), places.at(output)
    folders = sorted({path.partition("/")[0] for path in listed})
    return [name for folder in folders for name in place.names(folder) if name not in listed]
