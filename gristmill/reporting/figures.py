"""What the report shows beside the manifest: distributions, kept per generation and added up for the whole data set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from gristmill.reporting.histograms import Histogram, added
from gristmill.reporting.tables import Row
from gristmill.types import Value, file_name

STEPS = ("read", "usable", "cleaned", "deduplicated", "published")
"""Of the funnel: all documents read; those that are not quarantined or left out by a sample rate; those that cleaning
kept; those that are no copies; those with tokens."""


_Key = TypeVar("_Key")


class Figures(Value, frozen=True, kw_only=True):
    """Counts of one generation, or of several added up. Characters are Unicode code points."""

    documents: dict[str, int]
    """Documents after each of ``STEPS``."""
    characters: dict[str, int]
    """Characters after each step; none for ``read``, since what cannot be used has no text."""
    lengths: dict[int, int]
    """Published documents, repetitions too, by their ids without end-of-text: key k counts those of k to 2k - 1."""
    clusters: dict[int, int]
    """Groups of copies by their documents, the one that stays included: key k counts those of k to 2k - 1."""
    scripts: dict[str, int]
    """Letters by Unicode script, in the sampled documents."""
    sampled: int
    """Cleaned documents, chosen by a keyed hash, of which ``scripts`` and ``languages`` speak."""
    languages: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """Sampled ``documents`` and their ``characters`` by ISO 639 code; ``und`` where the identifier is unsure."""
    packing: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """What became of the ids by format: the account of its rows, added up (``Segments.account``); of a stream
    ``ids``, ``placed`` and ``left``, end-of-text counted."""
    measured: list[Histogram] = msgspec.field(default_factory=list)
    """What filters measured, by source and place of the filter among its rules."""
    encoded: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """By source: ``characters`` that were encoded, and the ``tokens`` that they gave."""


def figures_name(generation: int) -> str:
    """Where the figures of a generation are."""
    return file_name("report/figures.json", generation)


def encoded(figures: Figures) -> bytes:
    """The bytes of a figures file."""
    return msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n"


def decoded(data: bytes) -> Figures:
    """The figures in the bytes of a figures file."""
    return msgspec.json.decode(data, type=Figures)


def total(several: Iterable[Figures]) -> Figures:
    """All generations together."""
    parts = list(several)
    return Figures(
        documents={step: sum(part.documents[step] for part in parts) for step in STEPS},
        characters={step: sum(part.characters[step] for part in parts) for step in STEPS[1:]},
        lengths=dict(sorted(_sum(part.lengths for part in parts).items())),
        clusters=dict(sorted(_sum(part.clusters for part in parts).items())),
        scripts=dict(sorted(_sum(part.scripts for part in parts).items())),
        sampled=sum(part.sampled for part in parts),
        languages=_sums(part.languages for part in parts),
        packing=_sums(part.packing for part in parts),
        measured=added(found for part in parts for found in part.measured),
        encoded=_sums(part.encoded for part in parts),
    )


def doubling_rows(table: dict[int, int], name: str, counted: str) -> list[Row]:
    """One row a step of ``lengths`` or ``clusters``."""
    return [{name: _range(first), counted: count} for first, count in _filled(table).items()]


def _filled(table: dict[int, int]) -> dict[int, int]:
    """With the empty steps between the first and the last."""
    first, last = min(table, default=1), max(table, default=0)
    return {1 << step: table.get(1 << step, 0) for step in range(first.bit_length() - 1, last.bit_length())}


def _range(first: int) -> str:
    if first == 1:
        return "1"
    return f"{first}-{2 * first - 1}" if first < 1024 else f"{first >> 10}k-{first >> 9}k"


def script_rows(figures: Figures) -> list[Row]:
    """One row a script, the most frequent first."""
    letters = sum(figures.scripts.values())
    return [
        {"script": script, "letters": count, "share": _share(count, letters)}
        for script, count in sorted(figures.scripts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def language_rows(figures: Figures) -> list[Row]:
    """One row a language, that of most documents first."""
    sums = {what: sum(row[what] for row in figures.languages.values()) for what in ("documents", "characters")}
    return [
        {
            "language": code,
            "documents": row["documents"],
            "of documents": _share(row["documents"], sums["documents"]),
            "characters": row["characters"],
            "of characters": _share(row["characters"], sums["characters"]),
        }
        for code, row in sorted(figures.languages.items(), key=lambda pair: (-pair[1]["documents"], pair[0]))
    ]


def packing_rows(figures: Figures) -> list[Row]:
    """A few rows a format. Shares are of its ids; of padding, of all places in its rows; of documents, of those in the
    packed files."""
    return [
        {"format": kind, "what": what, "count": count, "share": _share(count, whole)}
        for kind, row in figures.packing.items()
        for what, count, whole in _accounted(row)
    ]


def _accounted(row: dict[str, int]) -> list[tuple[str, int, int]]:
    """What is counted, how much of it there is, and of how much that is a part."""
    found = [("ids in its files", row["placed"], row["ids"])]
    if "rows" in row:
        found += [("ids cropped", row["cropped"], row["ids"])]
    found += [("ids left out", row["left"], row["ids"])]
    if "rows" in row:
        found += [
            ("padding", row["padding"], row["placed"] + row["padding"]),
            ("documents whole", row["whole"], row["documents"]),
        ]
    return found


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.2%}"


def _sums(parts: Iterable[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for part in parts:
        for name, row in part.items():
            found[name] = dict(_sum([found.get(name, {}), row]))
    return dict(sorted(found.items()))


def _sum(tables: Iterable[Mapping[_Key, int]]) -> Counter[_Key]:
    found: Counter[_Key] = Counter()
    for table in tables:
        found.update(table)
    return found
