"""The manifest on disk: read it, seal it, check its seal; and that of several generations as the sum of theirs."""

import hashlib
from collections import Counter
from pathlib import Path

import msgspec

from gristmill.errors import ConfigError, VerificationError
from gristmill.storage import stores
from gristmill.types import Loss, Manifest, RuleRecord

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
    return stores.at(output).has(MANIFEST)


def seal_of(output: str | Path) -> str:
    """The seal of a data set's manifest; empty where there is none."""
    return read_manifest(output).sha256 if exists(output) else ""


def read_manifest(output: str | Path) -> Manifest:
    """The sealed manifest of a data set.

    Raises ``ConfigError`` when there is none, ``VerificationError`` when it was changed after it was written.
    """
    place = stores.at(output)
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
        raise VerificationError(f"{path}: not a manifest: {error}; {_remedy(path)}") from None
    if manifest.sha256 != _digest(manifest) or data != encoded(manifest):
        raise VerificationError(
            f"{path}: changed after it was written: expected sha256 {manifest.sha256} of its content; " + _remedy(path)
        )
    return manifest


def _remedy(path: str) -> str:
    again = ", or remove it and run again: it is put together from manifests/" if path.endswith(MANIFEST) else ""
    return f"bring back what it was{again}"


def listed_bytes(manifest: Manifest) -> dict[str, int]:
    """The size of every published file, by its path."""
    tokens = {file.path: file.bytes for file in manifest.files}
    return tokens | {file.path: file.bytes for file in manifest.attachments}


def strangers(output: str, manifest: Manifest) -> list[str]:
    """Files in the folders of a data set that its manifest does not list: a trainer's glob would pick them up."""
    listed, place = listed_bytes(manifest), stores.at(output)
    folders = sorted({path.partition("/")[0] for path in listed})
    return [name for folder in folders for name in place.names(folder) if name not in listed]


def joined(before: Manifest | None, added: Manifest) -> Manifest:
    """A data set with a further generation; counts are those of all."""
    if before is None:
        return added
    attachments = {file.path: file for file in [*before.attachments, *added.attachments]}
    return msgspec.structs.replace(
        added,
        generations=[*before.generations, *added.generations],
        tokenizer=msgspec.structs.replace(
            added.tokenizer,
            documents_compared=before.tokenizer.documents_compared + added.tokenizer.documents_compared,
        ),
        totals=_sum(before.totals, added.totals),
        dropped=_sum(before.dropped, added.dropped),
        quarantined=_sum(before.quarantined, added.quarantined),
        sources={
            name: _sum(before.sources.get(name, {}), added.sources.get(name, {}))
            for name in sorted(before.sources | added.sources)
        },
        rules=_joined_rules(before.rules, added.rules),
        losses=_joined_losses(before.losses, added.losses),
        files=[*before.files, *added.files],
        attachments=[attachments[path] for path in sorted(attachments)],
        source_shards=[*before.source_shards, *added.source_shards],
    )


def _sum(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in sorted(first | second)}


def identity(loss: Loss) -> tuple[str, str, str, str]:
    """What a data set has one row for."""
    return loss.source, loss.stage, loss.rule, loss.reason


def _joined_losses(before: list[Loss], added: list[Loss]) -> list[Loss]:
    table = {identity(loss): loss for loss in before}
    for loss in added:
        first = table.get(identity(loss))
        counts = {name: getattr(loss, name) + getattr(first, name, 0) for name in ("documents", "characters", "tokens")}
        table[identity(loss)] = msgspec.structs.replace(loss, **counts)
    return [table[key] for key in sorted(table)]


def _joined_rules(before: list[RuleRecord], added: list[RuleRecord]) -> list[RuleRecord]:
    """Rules of a source keep their places; those of a new source come last."""
    table: dict[tuple[str, int], RuleRecord] = {}
    for records in (before, added):
        seen: Counter[str] = Counter()
        for record in records:
            key = (record.source, seen[record.source])
            seen[record.source] += 1
            table[key] = _joined_rule(table[key], record) if key in table else record
    return list(table.values())


def _joined_rule(first: RuleRecord, second: RuleRecord) -> RuleRecord:
    counts = ("documents_in", "documents_out", "characters_in", "characters_out", "tokens_lost")
    return msgspec.structs.replace(
        first,
        dropped=_sum(first.dropped, second.dropped),
        **{name: getattr(first, name) + getattr(second, name) for name in counts},
    )
