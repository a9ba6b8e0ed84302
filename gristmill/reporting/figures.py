"""What the report shows beside the manifest: distributions, kept per generation and added up for the whole data set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

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
    """Documents, evenly spaced among the cleaned ones, of which ``scripts`` speaks."""


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
    )


def _sum(tables: Iterable[Mapping[_Key, int]]) -> Counter[_Key]:
    found: Counter[_Key] = Counter()
    for table in tables:
        found.update(table)
    return found
