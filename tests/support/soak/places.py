"""Where a job keeps its work and puts its output: a new pair of places for each trial."""

import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path

from gristmill.manifest import MANIFEST
from gristmill.storage import TEMPORARY


@dataclass(frozen=True, kw_only=True)
class Place:
    """URIs of one trial."""

    output: str
    work: str


class Disk:
    """Folders below ``root``. Another kind of storage has the same four members."""

    environment: dict[str, str] = {}  # noqa: RUF012  nothing changes it
    """What the processes of a job need besides their own environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._numbers = itertools.count()

    def place(self) -> Place:
        """A new pair of places; nothing is there yet."""
        folder = self.root / f"{next(self._numbers):05d}"
        return Place(output=str(folder / "out"), work=str(folder / "work"))

    def published(self, output: str) -> dict[str, str]:
        """sha256 of every file that has a final name, by its path."""
        found = {}
        for path in sorted(Path(output).rglob("*")):
            if path.is_file() and not path.name.startswith(TEMPORARY):
                found[path.relative_to(output).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def manifest_is_last(self, output: str) -> bool:
        """Whether no file got its name after the manifest, by the change times of the file system."""
        times = {path: path.stat().st_ctime_ns for path in Path(output).rglob("*") if path.is_file()}
        return times[Path(output, MANIFEST)] == max(times.values())
