"""Where a job keeps its work and puts its output: a new pair of places for each trial, on disk or in a bucket. The data
card is left out: it is a copy for people, which comes after the manifest, and nothing vouches for it."""

import hashlib
import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import object_store

from gristmill.manifest import MANIFEST
from gristmill.reporting.card import CARD
from gristmill.stages.ingest.generations import FINISHED
from gristmill.storage import stores
from gristmill.storage.disk import TEMPORARY
from gristmill.storage.s3_client import environment


@dataclass(frozen=True, kw_only=True)
class Place:
    """URIs of one trial."""

    output: str
    work: str


class Site(Protocol):
    """A kind of storage, reached by means of its own. Names are relative, with forward slashes."""

    root: Path
    """A folder on this machine."""

    environment: dict[str, str]
    """What the processes of a job need besides their own environment."""

    pause: float
    """Seconds between looks of somebody who looks all the time."""

    def place(self) -> Place:
        """A new pair of places; nothing is there yet."""

    def published(self, output: str) -> dict[str, str]:
        """sha256 of every file that has a final name, by its name."""

    def times(self, output: str) -> dict[str, float]:
        """When each file got its name, as well as the storage knows."""

    def files(self, folder: str) -> list[str]:
        """Names of all files that have a byte to damage."""

    def read(self, folder: str, name: str) -> bytes:
        """The bytes of a file."""

    def write(self, folder: str, name: str, data: bytes) -> None:
        """Replace a file, whatever it holds."""

    def remove(self, folder: str, name: str = "") -> None:
        """Remove a file, or all that is below a folder."""

    def forget(self) -> None:
        """Lose what this machine alone has of it."""


class Disk:
    """Folders below ``root``."""

    pause = 0.001

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment: dict[str, str] = {}
        self._numbers = itertools.count()

    def place(self) -> Place:
        folder = self.root / f"{next(self._numbers):05d}"
        return Place(output=str(folder / "out"), work=str(folder / "work"))

    def published(self, output: str) -> dict[str, str]:
        found = {}
        for path in sorted(Path(output).rglob("*")):
            name = path.relative_to(output).as_posix()
            if not path.name.startswith(TEMPORARY) and name != CARD:
                try:
                    found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
                except (FileNotFoundError, IsADirectoryError):  # gone since it was listed
                    continue
        return found

    def times(self, output: str) -> dict[str, float]:
        paths = [path for path in Path(output).rglob("*") if path.is_file()]
        return {path.relative_to(output).as_posix(): path.stat().st_ctime_ns for path in paths}

    def files(self, folder: str) -> list[str]:
        paths = [path for path in Path(folder).rglob("*") if path.is_file() and path.stat().st_size]
        return sorted(name for path in paths if (name := path.relative_to(folder).as_posix()) != CARD)

    def read(self, folder: str, name: str) -> bytes:
        return (Path(folder) / name).read_bytes()

    def write(self, folder: str, name: str, data: bytes) -> None:
        (Path(folder) / name).write_bytes(data)

    def remove(self, folder: str, name: str = "") -> None:
        path = Path(folder) / name
        if path.is_file():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)

    def forget(self) -> None: ...


class Store:
    """Prefixes of a bucket, reached by a client that knows nothing of ours. Make it while the server is ``reached``:
    the processes of a job get the same settings, and a spool below ``root``."""

    pause = 0.02

    def __init__(self, root: Path, bucket: object_store.Bucket) -> None:
        self.root, self._bucket = root, bucket
        self._spool = root / "spool"
        self.environment = {**environment(), stores.SPOOL: str(self._spool)}
        self._numbers = itertools.count()
        self._sums: dict[str, str] = {}

    def place(self) -> Place:
        folder = f"{self._bucket.uri}/{next(self._numbers):05d}"
        return Place(output=f"{folder}/out", work=f"{folder}/work")

    def _listed(self, folder: str) -> dict[str, Any]:
        prefix = f"{folder.removeprefix(f'{self._bucket.uri}/')}/"
        pages = self._bucket.client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket.name, Prefix=prefix)
        return {entry["Key"][len(prefix) :]: entry for page in pages for entry in page.get("Contents", [])}

    def published(self, output: str) -> dict[str, str]:
        """The bytes of one ETag are read once: the server makes it of them."""
        found = {}
        for name, entry in self._listed(output).items():
            if name == CARD:
                continue
            if entry["ETag"] not in self._sums:
                try:
                    data = self.read(output, name)
                except self._bucket.client.exceptions.NoSuchKey:  # gone since it was listed
                    continue
                self._sums[entry["ETag"]] = hashlib.sha256(data).hexdigest()
            found[name] = self._sums[entry["ETag"]]
        return dict(sorted(found.items()))

    def times(self, output: str) -> dict[str, float]:
        return {name: entry["LastModified"].timestamp() for name, entry in self._listed(output).items()}

    def files(self, folder: str) -> list[str]:
        return sorted(name for name, entry in self._listed(folder).items() if entry["Size"] and name != CARD)

    def _key(self, folder: str, name: str) -> str:
        return f"{folder}/{name}".removeprefix(f"{self._bucket.uri}/")

    def read(self, folder: str, name: str) -> bytes:
        return self._bucket.get(self._key(folder, name))

    def write(self, folder: str, name: str, data: bytes) -> None:
        self._bucket.put(self._key(folder, name), data)

    def remove(self, folder: str, name: str = "") -> None:
        listed = self._listed(folder)
        for found in [name] if name in listed else [other for other in listed if other.startswith(name)]:
            self._bucket.client.delete_object(Bucket=self._bucket.name, Key=self._key(folder, found))

    def forget(self) -> None:
        shutil.rmtree(self._spool, ignore_errors=True)


def manifest_is_last(site: Site, output: str) -> bool:
    """Whether the generations' manifests came after all other files, and the one that speaks of them last of all."""
    times = site.times(output)
    last = max(moment for name, moment in times.items() if name.startswith(f"{FINISHED}/"))
    others = [moment for name, moment in times.items() if name not in (MANIFEST, CARD)]
    return max(others) <= last <= times[MANIFEST]
