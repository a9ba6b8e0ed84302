"""What runs that were killed, and faults of a store, left in an output or a work area."""

import datetime
import time
from collections import defaultdict
from pathlib import Path

from gristmill import ledger, places, s3, storage
from gristmill.manifest import MANIFEST, listed_files
from gristmill.reporting.card import CARD
from gristmill.stages.generations import FINISHED, UNFINISHED, claimed, latest
from gristmill.types import Value


class Finding(Value, frozen=True, kw_only=True):
    """Something that no manifest and no receipt needs, or that one misses."""

    kind: str
    """``upload``: parts that never became an object; ``temporary``: a file half made; ``unlisted``: a file that no
    manifest or receipt lists; ``incomplete``: a receipt of which a file is missing or has another size; ``missing``: a
    published file that is not there; ``unfinished``: a data set without a manifest."""
    uri: str
    remedy: str
    upload: s3.Upload | None = None

    @property
    def removable(self) -> bool:
        """Whether ``mend`` removes it."""
        return self.kind in ("upload", "temporary", "unlisted", "incomplete")


def examine(uri: str, hours: float) -> list[Finding]:
    """Everything found at an output or a work area, whichever it is. Uploads and temporary files younger than
    ``hours`` may be those of a run that is under way, and are left out."""
    place = places.at(uri)
    is_output = place.has(MANIFEST) or place.has(UNFINISHED) or bool(place.names(FINISHED))
    return [*_half_made(uri, hours), *(_of_output(uri) if is_output else _of_work(uri))]


def mend(findings: list[Finding]) -> int:
    """Remove what can be removed; returns how many."""
    removable = [finding for finding in findings if finding.removable]
    for finding in removable:
        if finding.upload is not None:
            s3.abort(finding.upload)
        elif places.is_remote(finding.uri):
            s3.remove(finding.uri)
        else:
            storage.remove(Path(finding.uri))
    return len(removable)


def _half_made(uri: str, hours: float) -> list[Finding]:
    if places.is_remote(uri):
        before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=hours)
        return [
            Finding(kind="upload", uri=upload.uri, remedy=f"parts sent {upload.initiated:%F %T}", upload=upload)
            for upload in s3.uploads(uri)
            if upload.initiated <= before
        ]
    oldest = time.time() - hours * 3600
    found = sorted(storage.local(uri).rglob(f"{storage.TEMPORARY}*"))
    outermost = [path for path in found if not any(part.startswith(storage.TEMPORARY) for part in path.parts[:-1])]
    return [
        Finding(kind="temporary", uri=str(path), remedy="left by a process that is gone")
        for path in outermost
        if path.lstat().st_mtime <= oldest
    ]


def _of_output(uri: str) -> list[Finding]:
    place, manifest = places.at(uri), latest(uri)
    if manifest is None:
        owner = claimed(uri)
        return [Finding(kind="unfinished", uri=place.uri, remedy=f"run the configuration of {owner!r} again")]
    there = place.names()
    listed = listed_files(manifest)
    known = listed | {MANIFEST, UNFINISHED, CARD} | {name for name in there if name.startswith(f"{FINISHED}/")}
    found = [
        Finding(kind="unlisted", uri=place.where(name), remedy="no manifest lists it")
        for name in there
        if name not in known and not place.has(UNFINISHED)
    ]
    found += [
        Finding(kind="missing", uri=place.where(name), remedy="run its configuration again")
        for name in sorted(listed - set(there))
    ]
    if not place.has(MANIFEST) or place.read(MANIFEST) != place.read(place.names(FINISHED)[-1]):
        remedy = f"{MANIFEST} does not speak of the last generation: run its configuration again"
        found.append(Finding(kind="unfinished", uri=place.uri, remedy=remedy))
    return found


def _of_work(uri: str) -> list[Finding]:
    """Stage outputs are ``<stage>/<fingerprint>/<file>``; anything else at the place is not ours to judge."""
    place = places.at(uri)
    folders: dict[str, list[str]] = defaultdict(list)
    for name in place.names():
        stage, _, rest = name.partition("/")
        key, slash, _ = rest.partition("/")
        if slash and len(key) == ledger.KEY_DIGITS:
            folders[f"{stage}/{key}"].append(name)
    found: list[Finding] = []
    for folder, names in folders.items():
        report = f"{folder}/{ledger.REPORT}"
        if report not in names:
            found += [Finding(kind="unlisted", uri=place.where(name), remedy="no receipt lists it") for name in names]
        elif ledger.listed(place.where(folder)) is None:
            remedy = "a file of it is missing or has another size; the next run makes it again"
            found.append(Finding(kind="incomplete", uri=place.where(report), remedy=remedy))
    return found
