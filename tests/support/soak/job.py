"""A small job with something of everything: several files, copies, quarantined lines, a cleaning rule, a split."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

from corpora import byte_tokenizer, texts_of, write_documents

from soak.places import Place, Site

BROKEN = b'{"text": \n{"text": null}\n{"text": "\xff"}\n'
"""Three lines that cannot be used."""


class Job:
    """The input in ``folder`` and the configuration that prepares it, all made up from one seed."""

    def __init__(self, folder: Path, *, shards: int = 6, documents: int = 50) -> None:
        self.folder = folder
        self.tokenizer = byte_tokenizer(folder / "tokenizer.json")
        self.files: list[Path] = []
        self.texts: list[list[str]] = []
        """What each file has that no earlier one has: what must come out."""
        chance = random.Random(5)
        words = ["".join(chance.choices("abcdefghij", k=chance.randint(2, 9))) for _ in range(500)]
        for number in range(shards):
            own = [" ".join(chance.choices(words, k=chance.randint(20, 120))) for _ in range(documents)]
            earlier = self.copies(number - 1) if number else []
            near = [f"{text} {words[number]}" for text in earlier[:2]]
            path = folder / "in" / f"{number}.jsonl{'.gz' if number % 2 else ''}"
            write_documents(path, [*own, *earlier, *near, own[0], " "])
            if not number % 2:
                path.write_bytes(path.read_bytes() + BROKEN)
            self.files.append(path)
            self.texts.append(own)

    def copies(self, number: int) -> list[str]:
        """What the next file has of this one."""
        return self.texts[number][: len(self.texts[number]) // 5]

    def sources(self, files: list[Path]) -> list[dict[str, Any]]:
        """The setting that reads these files."""
        return [{"kind": "files", "name": "web", "paths": [str(path) for path in files]}]

    def document(self, place: Place, **settings: Any) -> dict[str, Any]:
        """The configuration for a place, as a file would hold it."""
        made: dict[str, Any] = {
            "dataset": "soak",
            "sources": self.sources([self.folder / "in"]),
            "cleaning": [{"kind": "whitespace"}],
            "dedup": [{"kind": "exact"}, {"kind": "minhash"}],
            "tokenizer": {"kind": "huggingface", "path": str(self.tokenizer)},
            "split": {"fraction": 0.1},
            "max_quarantined_share": 0.5,
            "output": place.output,
            "execution": {"work": place.work, "workers": 2},
        }
        made["execution"] |= settings.pop("execution", {})
        return made | settings

    def lost_or_doubled(self, texts: list[str], without: int = -1) -> list[str]:
        """What differs from each document once. ``without`` is the number of a file that was left out: of its
        documents, those that the next file repeats must be there."""
        wanted = Counter(text for number, own in enumerate(self.texts) if number != without for text in own)
        wanted.update(self.copies(without) if without >= 0 else [])
        found = Counter(texts)
        lost, more = (wanted - found).total(), (found - wanted).total()
        return [f"{lost} documents lost, {more} too many"] if lost or more else []


def texts_in(site: Site, output: str) -> list[str]:
    """The documents of a published data set, both splits."""
    folder = f"{output}/nanogpt"
    names = [name for name in site.files(folder) if name.endswith(".bin")]
    return [text for name in names for text in texts_of(site.read(folder, name))]
