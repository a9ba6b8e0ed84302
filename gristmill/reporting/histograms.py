"""How the figures that a filter measured are spread, and how many documents other thresholds would keep.

Edges follow from the threshold alone, so that the histograms of all shards add up.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np

from gristmill.types import Value

FACTORS = (0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 2, 4, 10)
"""Multiples of the threshold in force that are counted; half and twice it, and close to it in steps of 5 %."""

Side = Literal["below", "above"]
"""Which documents a threshold drops: those below or those above it; one at the threshold stays."""


class Histogram(Value, frozen=True, kw_only=True):
    """What a filter measured of the documents that reach it and that no other threshold of it drops.

    ``documents`` and ``characters`` have one entry more than ``edges``: what is below the first, between two, above the
    last. A value at an edge is on the side that stays.
    """

    source: str = ""
    number: int = 0
    """Place of the filter in the source's rules."""
    rule: str = ""
    reason: str
    drops: Side
    threshold: float
    whole: bool
    """Whether the values are counts."""
    documents: list[int]
    characters: list[int]

    @property
    def edges(self) -> list[float]:
        return edges(self.threshold, whole=self.whole)

    def kept(self, counts: list[int]) -> list[int]:
        """What stays of ``documents`` or ``characters`` at each edge."""
        sums = np.cumsum(counts)
        stays = sums[-1] - sums[:-1] if self.drops == "below" else sums[:-1]
        return [int(count) for count in stays]

    def __add__(self, other: "Histogram") -> "Histogram":
        sums = {
            name: [a + b for a, b in zip(getattr(self, name), getattr(other, name), strict=True)]
            for name in ("documents", "characters")
        }
        return msgspec.structs.replace(self, **sums)


def added(several: Iterable[Histogram]) -> list[Histogram]:
    """Those of the same threshold added up, by source and place of the filter."""
    table: dict[tuple[str, int, str, str, float], Histogram] = {}
    for found in several:
        key = (found.source, found.number, found.rule, found.reason, found.threshold)
        table[key] = table[key] + found if key in table else found
    return [table[key] for key in sorted(table)]


def edges(threshold: float, *, whole: bool) -> list[float]:
    """Ascending, the threshold among them; of counts whole numbers."""
    scale = threshold or (10 if whole else 1)
    around = {0.0, *(float(f"{scale * factor:.3g}") for factor in FACTORS)}
    return sorted({float(threshold), *(float(round(edge)) for edge in around)} if whole else {threshold, *around})


def histogram(
    reason: str, values: np.ndarray, lengths: np.ndarray, *, least: float | None, most: float | None
) -> Histogram:
    """The histogram of some documents: what was measured of each, its characters, and the one threshold that there is.

    NaN stands for a document that the threshold does not apply to: it stays at any.
    """
    threshold = most if least is None else least
    drops: Side = "above" if least is None else "below"
    assert threshold is not None
    whole = values.dtype.kind == "i"
    at = edges(threshold, whole=whole)
    places = np.searchsorted(at, values, "right" if drops == "below" else "left")
    places[np.isnan(values)] = len(at) if drops == "below" else 0
    documents, characters = (np.bincount(places, part, len(at) + 1).astype(np.int64) for part in (None, lengths))
    return Histogram(
        reason=reason,
        drops=drops,
        threshold=float(threshold),
        whole=whole,
        documents=documents.tolist(),
        characters=characters.tolist(),
    )
