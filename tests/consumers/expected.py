"""What the documents of a data set made by ``prepare.py`` must be; plain Python and numpy."""

import json
import os
import sys
from pathlib import Path

import numpy as np


class Expected:
    """Documents by generation and split."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.output = self.folder / "out"
        self.__dict__.update(json.loads((folder / "expected.json").read_text()))
        self.wide = self.vocab_size > 1 << 16

    def documents(self, generation: int, split: str, eot: str = "append") -> list[list[int]]:
        """The ids of each document, EOT included."""
        before, after = ([self.eot] if eot == side else [] for side in ("prepend", "append"))
        return [[*before, *ids, *after] for ids in self.generations[generation - 1][split]]

    def stream(self, generation: int, split: str, eot: str = "append") -> np.ndarray:
        """All of them, back to back."""
        return np.concatenate([np.array(ids) for ids in self.documents(generation, split, eot)])

    def of_file(self, path: Path) -> int:
        """The generation that a file's name speaks of."""
        return 2 if "g00002" in str(path.relative_to(self.output)) else 1

    def parts(self, files: list[Path], split: str, eot: str = "append") -> list[list[list[int]]]:
        """The documents of each of the files of a generation, by where documents may be cut: at 20,000 ids or before,
        and a longer one alone."""
        found: list[list[list[int]]] = [[]]
        for ids in self.documents(self.of_file(files[0]), split, eot):
            if found[-1] and sum(map(len, found[-1])) + len(ids) > 10_000:
                found.append([])
            found[-1].append(ids)
        assert len(found) == len(files), (len(found), files)
        return found


def data_sets() -> list[Expected]:
    """Of one stream: of uint16 and of uint32."""
    return [Expected(Path(sys.argv[1]) / name) for name in ("narrow", "wide")]


def generations(files: list[Path], expected: Expected) -> list[list[Path]]:
    """Files by generation, sorted."""
    return [sorted(path for path in files if expected.of_file(path) == number) for number in (1, 2)]


def checkout(variable: str, repository: str) -> Path:
    """The checkout that an environment variable names; without one nothing is checked, and that is said."""
    if not os.environ.get(variable):
        print(f"{repository}: NOT RUN: set {variable} to a checkout of it")
        sys.exit()
    return Path(os.environ[variable]).resolve(strict=True)


def done(what: str, **counts: int) -> None:
    """Say what was compared, and that it was something."""
    assert all(counts.values()), counts
    print(what + ": " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()))
