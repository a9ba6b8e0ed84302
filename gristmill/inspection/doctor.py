"""What runs that were killed, and faults of a store, left in an output or a work area."""

import datetime
import re
import time
from collections import defaultdict
from pathlib import Path

from gristmill import ledger
from gristmill.errors import ConfigError
from gristmill.manifest import MANIFEST, listed_bytes, strangers
from gristmill.stages.ingest.generations import FINISHED, latest, speaks_of_last
from gristmill.storage import claims, disk, s3, stores
from gristmill.storage.claims import UNFINISHED
from gristmill.storage.disk import Entry
from gristmill.types import Value

_IN_OUTPUT = re.compile(rf"([^/]+/[0-9a-f]{{{ledger.KEY_DIGITS}}})/.+")
"""A file of the output of a stage, by its name in the work area."""


class Finding(Value, frozen=True, kw_only=True):
    """Something that no manifest and no receipt needs, or that one misses."""

    kind: str
    """``upload``: parts that never became an object; ``temporary``: a file half made; ``unlisted``: a file that no
    manifest or receipt lists; ``incomplete``: a receipt of which a file is missing or has another size; ``missing``: a
    published file that is not there; ``unfinished``: a data set, or a generation of one, without its manifest."""
    uri: str
    remedy: str
    upload: s3.Upload | None = None

    @property
    def removable(self) -> bool:
        """Whether ``mend`` removes it."""
        return self.kind in ("upload", "temporary", "unlisted", "incomplete")


def examine(uri: str, hours: float) -> list[Finding]:
    """Everything found at an output or a work area, whichever it is. What is younger than ``hours`` and may be that of
    a run under way is left out, and so is what no run of gristmill can have put there.

    Raises ``ConfigError`` when there is nothing at all.
    """
    oldest = time.time() - hours * 3600
    entries = stores.at(uri).entries()
    is_output = any(name in (MANIFEST, UNFINISHED) or name.startswith(f"{FINISHED}/") for name in entries)
    left = [*_half_made(uri, oldest), *(_of_output if is_output else _of_work)(uri, entries, oldest)]
    if not entries and not left:
        raise ConfigError(f"{uri}: nothing is there; give an output or a work area")
    return left


def mend(findings: list[Finding]) -> int:
    """Remove what can be removed; returns how many."""
    removable = [finding for finding in findings if finding.removable]
    for finding in removable:
        if finding.upload is not None:
            s3.abort(finding.upload)
        elif stores.is_remote(finding.uri):
            s3.remove(finding.uri)
        else:
            disk.remove(Path(finding.uri))
    return len(removable)


def _half_made(uri: str, oldest: float) -> list[Finding]:
    if stores.is_remote(uri):
        before = datetime.datetime.fromtimestamp(oldest, datetime.UTC)
        return [
            Finding(kind="upload", uri=upload.uri, remedy=f"parts sent {upload.initiated:%F %T}", upload=upload)
            for upload in s3.uploads(uri)
            if upload.initiated <= before
        ]
    found = sorted(disk.local(uri).rglob(f"{disk.TEMPORARY}*"))
    outermost = [path for path in found if not any(part.startswith(disk.TEMPORARY) for part in path.parts[:-1])]
    return [
        Finding(kind="temporary", uri=str(path), remedy="left by a process that is gone")
        for path in outermost
        if disk.is_left_over(path.name) and path.lstat().st_mtime <= oldest
    ]


def _of_output(uri: str, entries: dict[str, Entry], oldest: float) -> list[Finding]:
    place, manifest = stores.at(uri), latest(uri)
    claim = claims.found(uri)
    owner = "the data set" if claim is None else repr(claim.dataset)
    again = f"a run is at work, or was stopped ({claim}): run the configuration of {owner} again"
    if manifest is None:
        return [Finding(kind="unfinished", uri=place.uri, remedy=again)]
    found = [
        Finding(kind="missing", uri=place.where(name), remedy="run its configuration again")
        for name in sorted(listed_bytes(manifest) - entries.keys())
    ]
    if claim is not None:  # files without a manifest may be those of the run
        return [*found, Finding(kind="unfinished", uri=place.uri, remedy=again)]
    if not speaks_of_last(uri):
        remedy = f"{MANIFEST} does not speak of the last generation: run its configuration again"
        found.append(Finding(kind="unfinished", uri=place.uri, remedy=remedy))
    return found + [
        Finding(kind="unlisted", uri=place.where(name), remedy="no manifest lists it")
        for name in strangers(uri, manifest)
        if name in entries and entries[name].modified <= oldest
    ]


def _of_work(uri: str, entries: dict[str, Entry], oldest: float) -> list[Finding]:
    """Stage outputs are ``<stage>/<fingerprint>/<file>``; anything else at the place is not ours to judge."""
    place = stores.at(uri)
    folders: dict[str, list[str]] = defaultdict(list)
    for name in entries:
        made = _IN_OUTPUT.fullmatch(name)
        if made and not name.startswith(f"{stores.COPIES}/"):  # of the spool: copies have no receipts
            folders[made[1]].append(name)
    found: list[Finding] = []
    for folder, names in folders.items():
        report = f"{folder}/{ledger.REPORT}"
        if max(entries[name].modified for name in names) > oldest or _holds(place.where(folder), report, entries):
            continue
        if report in names:
            remedy = "a file of it is missing or has another size; the next run makes it again"
            found.append(Finding(kind="incomplete", uri=place.where(report), remedy=remedy))
        others = [name for name in names if name != report]
        found += [Finding(kind="unlisted", uri=place.where(name), remedy="no receipt lists it") for name in others]
    return found


def _holds(folder: str, report: str, entries: dict[str, Entry]) -> bool:
    """Whether every file of the work area that the receipt lists is there with its size. Where it says the work area
    is does not matter: it may say it from another folder, or have been moved. Published files are elsewhere, and are
    not looked for."""
    receipt = ledger.present(folder) if report in entries else None
    if receipt is None:
        return False
    artifacts = receipt.artifacts.values() if receipt.stage != "upload" else []
    return all(_size(artifact.uri, entries) == artifact.nbytes for artifact in artifacts)


def _size(uri: str, entries: dict[str, Entry]) -> int | None:
    parts = uri.split("/")
    names = ("/".join(parts[start:]) for start in range(len(parts) - 2, -1, -1))
    name = next((name for name in names if _IN_OUTPUT.fullmatch(name)), "")
    return entries[name].nbytes if name in entries else None
