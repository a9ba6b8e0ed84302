"""What differs between a published data set and a run that goes on with it: rules, and names and content of files."""

from typing import Any

import msgspec

from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.errors import ConfigError
from gristmill.stages.ingest._contents import sha256_of
from gristmill.types import Manifest, ShardRef, SourceShard

MOST = 6
"""Changed keys that a refusal names."""

LETTERS = 80
"""Of a value that it shows."""

BY_CONTENT = ("s3://", "hf://")
"""Schemes whose identities are of the bytes, whatever the file is called."""

ADVICE = "put what is new into a file of its own, or make the data set anew beside it with --rebuild"

_Key = tuple[str, str, str]


def key_differences(before: Manifest, config: PrepareConfig, parts: list[str]) -> str:
    """Every key that makes these ``parts`` of the configuration differ, with its old and new value."""
    old, new = before.config, config.settings()
    found: dict[str, None] = {}
    for part in parts:
        label = part.removeprefix("sources.")
        pairs = _pairs(old, new, label, config) if label != part else [(part, old.get(part), new.get(part))]
        differing = [line for key, was, now in pairs for line in _differing(key, was, now)]
        unseen = f"{part}: the same settings, with other files or another version (published by {before.code_version})"
        found |= dict.fromkeys(differing or [unseen])
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    return "; ".join([*found][:MOST]) + more


def _pairs(old: dict[str, Any], new: dict[str, Any], label: str, config: PrepareConfig) -> list[tuple[str, Any, Any]]:
    """Keys of a source and of the rules in force for it, which may be the common ones."""
    was, now = ({source["name"] or source["kind"]: source for source in side["sources"]}[label] for side in (old, new))
    common = was["cleaning"] is None and now["cleaning"] is None
    rules = [
        side["cleaning"] if source["cleaning"] is None else source["cleaning"]
        for side, source in ((old, was), (new, now))
    ]
    read = config.source(label).reading()
    pairs = [(f"sources.{label}.{key}", was.get(key), now.get(key)) for key in now if key in read]
    return [*pairs, ("cleaning" if common else f"sources.{label}.cleaning", *rules)]


def _differing(key: str, was: Any, now: Any) -> list[str]:
    if was == now:
        return []
    if isinstance(was, dict) and isinstance(now, dict) and was.get("kind") == now.get("kind"):
        keys = dict.fromkeys([*was, *now])
        return [line for name in keys for line in _differing(f"{key}.{name}", was.get(name), now.get(name))]
    if isinstance(was, list) and isinstance(now, list) and _kinds(was) == _kinds(now):
        pairs = enumerate(zip(was, now, strict=True))
        return [line for number, pair in pairs for line in _differing(f"{key}.{number}", *pair)]
    return [f"{key}: {_shown(was)} -> {_shown(now)}"]


def _kinds(values: list[Any]) -> list[Any]:
    return [value.get("kind") if isinstance(value, dict) else None for value in values]


def _shown(value: Any) -> str:
    """A value in few letters; of plugins the kind."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) and "kind" in entry for entry in value):
        return f"[{', '.join(entry['kind'] for entry in value)}]"
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LETTERS else f"{text[:LETTERS]}..."


def moved(new: list[ShardRef], gone: list[SourceShard]) -> dict[_Key, list[int]]:
    """Of shards that no name makes known, those whose file has the bytes of one that is gone from its name: their keys
    with the numbers of the shards that were published of it."""
    files: dict[tuple[str, str], list[SourceShard]] = {}
    for row in gone:
        files.setdefault((row.uri, str(row.generation)), []).append(row)
    left = {(rows[0].source, mark): rows for rows in files.values() if (mark := _mark_of(rows[0]))}
    found: dict[_Key, list[int]] = {}
    taken: dict[tuple[str, str], list[SourceShard]] = {}
    for shard in new if left else []:
        file = (shard.source, shard.uri)
        if file not in taken:
            mark = shard.identity if shard.uri.startswith(BY_CONTENT) else "" if shard.remote else sha256_of(shard.uri)
            taken[file] = left.pop((shard.source, mark), [])
        if taken[file]:
            found[shard.source, shard.uri, str(shard.part)] = [row.index for row in taken[file]]
    return found


def _mark_of(row: SourceShard) -> str:
    return row.identity if row.uri.startswith(BY_CONTENT) else row.stored_sha256


def check_changed(changed: list[str], config: PrepareConfig) -> None:
    """Raises ``ConfigError`` where files were changed in place, and what of them is new cannot be told."""
    if not changed:
        return
    first = f"{changed[0]}{f' and {len(changed) - 1} more' if len(changed) > 1 else ''}"
    where = f"{first}: changed since it was published"
    compared = bool(config.dedup_of(Dedup))
    if config.on_removed == "tombstone" and compared:
        raise ConfigError(
            f"{where}; on_removed: tombstone would mark its old documents as gone, and dedup would drop them as copies "
            f"of those; {ADVICE}"
        )
    if config.on_removed == "keep" and not compared:
        raise ConfigError(
            f"{where}; no kind in dedup compares documents, so the published ones would be published again; {ADVICE}"
        )
