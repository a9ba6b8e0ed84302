"""What a generation leaves for people: a summary, a page, a data card, each speaking of the whole data set."""

import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gristmill.config import PrepareConfig
from gristmill.reporting.card import CARD, card, card_name, index_name, untouched
from gristmill.reporting.figures import decoded, figures_name, total
from gristmill.reporting.losses import ledger, ledger_name
from gristmill.reporting.page import page
from gristmill.reporting.summary import summary
from gristmill.reporting.tables import Row
from gristmill.reporting.thresholds import thresholds, thresholds_name
from gristmill.stages.ingest.generations import latest
from gristmill.stages.publish.attachments import Content
from gristmill.storage import disk, stores
from gristmill.storage.stores import Place
from gristmill.types import Manifest, file_name

SUMMARY = "report/summary.md"

SAMPLES = 3
"""Dropped documents shown per rule and reason, and unusable ones per reason; the files have more."""

NEAR_COPIES = 20

MOST_FILES = 32
MOST_LINES = 1000
"""Files that are read for samples, of the newest generations, and how much of each."""


def pages(
    manifest: Manifest, listed: list[str], further: dict[str, Content], config: PrepareConfig
) -> dict[str, Content]:
    """The pages by their paths. ``listed``: paths of further files that earlier generations have in place;
    ``further``: those that this one is about to put there."""
    files = _Files(stores.at(config.destination), listed, further)
    number = len(manifest.generations)
    names = [figures_name(generation.number) for generation in manifest.generations]
    figures = total(decoded(files.read(name)) for name in names if name in files)
    shown = page(
        manifest,
        figures,
        _rejected(files),
        _quarantined(files),
        _near_copies(files),
    )
    return {
        file_name(SUMMARY, number): summary(manifest).encode(),
        index_name(number): shown,
        ledger_name(number): ledger(manifest),
        thresholds_name(number): thresholds(figures),
        card_name(number): card(manifest),
    }


def place_card(config: PrepareConfig) -> None:
    """Make ``README.md`` the card of the last generation, unless somebody has written in it."""
    place = stores.at(config.destination)
    before = place.read(CARD) if place.has(CARD) else None
    manifest = latest(config.destination)
    if manifest is not None and (before is None or untouched(before)):
        place.swap(CARD, place.read(card_name(len(manifest.generations))), before)


class _Files:
    """Further files, whether they are in place or about to be."""

    def __init__(self, place: Place, listed: list[str], further: dict[str, Content]) -> None:
        self._place = place
        self._further = further
        self._names = sorted({*listed, *further})

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def newest(self, folder: str) -> list[str]:
        """Some files of a folder, those of this generation first."""
        found = [name for name in self._names if name.startswith(f"{folder}/")]
        return sorted(found, key=lambda name: name not in self._further)[:MOST_FILES]

    def read(self, name: str) -> bytes:
        content = self._further.get(name)
        if content is None:
            return self._place.read(name)
        return content if isinstance(content, bytes) else b"".join(disk.blocks(content))

    def rows(self, name: str) -> Iterator[Row]:
        """The first objects in a file of JSON lines, compressed or not."""
        data = pa.BufferReader(self.read(name))
        stream = pa.CompressedInputStream(data, "zstd") if Path(name).suffix == ".zst" else data
        lines = io.BufferedReader(stream)
        yield from (msgspec.json.decode(line) for line in islice(lines, MOST_LINES))


def _near_copies(files: _Files) -> list[Row]:
    """The near copies nearest to the threshold."""
    columns = ["similarity", "id", "excerpt", "kept_id", "kept_excerpt"]
    found: list[Row] = []
    for name in files.newest("report/duplicates"):
        table = pq.read_table(pa.BufferReader(files.read(name)), columns=columns)
        near = table.filter(pc.field("similarity").is_valid()).sort_by("similarity").slice(0, NEAR_COPIES)
        found += near.to_pylist()
    least = sorted(found, key=lambda row: float(str(row["similarity"])))[:NEAR_COPIES]
    return [{**row, "similarity": f"{row['similarity']:.3f}"} for row in least]


def _rejected(files: _Files) -> list[Row]:
    """A few documents that each rule dropped, by rule and reason."""
    found: list[Row] = []
    for name in files.newest("report/rejected"):
        rule = Path(name).name.partition(".")[0].partition("-g")[0]
        seen: Counter[object] = Counter()
        for row in files.rows(name):
            if seen[row["reason"]] < SAMPLES:
                seen[row["reason"]] += 1
                place = {"rule": rule, "reason": row["reason"], "source": row["source"], "document": row["id"]}
                found.append({**place, "text begins": row["excerpt"]})
    return sorted(found, key=lambda row: (str(row["rule"]), str(row["reason"])))


def _quarantined(files: _Files) -> list[Row]:
    """A few unusable documents of each reason."""
    found: list[Row] = []
    seen: Counter[object] = Counter()
    for name in files.newest("report/quarantine"):
        for row in files.rows(name):
            if seen[row["reason"]] < SAMPLES:
                seen[row["reason"]] += 1
                found.append(
                    {"reason": row["reason"], "input": row["uri"], "place": row["place"], "shows": row["excerpt"]}
                )
    return sorted(found, key=lambda row: str(row["reason"]))
