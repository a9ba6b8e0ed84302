"""What the whole corpus will give and take, from a rehearsal: each figure with its arithmetic, tokens with bounds."""

import math

from gristmill.reporting.tables import gigabytes
from gristmill.types import Value

DEVIATIONS = 2.576
"""Of a normal distribution, outside of which 1 % lies."""


class Sampled(Value, frozen=True, kw_only=True):
    """What a sample holds of a corpus of which every document was in it by the same chance."""

    share: float
    """That chance, above 0 to 1."""
    documents: int
    """Published."""
    tokens: int
    """Published, without EOS."""
    squares: float
    """Sum of the squares of the tokens of each document."""
    twice: int = 0
    """Published documents of which the sample had one copy more."""
    oftener: int = 0
    """Of which it had several."""


class Bounds(Value, frozen=True, kw_only=True):
    """Between which the tokens of the whole corpus are, but for one time in a hundred."""

    low: int
    high: int


def tokens_of(sampled: Sampled) -> Bounds:
    """Around the tokens over the share, by what chance may do: a document counts 1 / share times, or not at all (the
    variance of Horvitz and Thompson).

    Below, copies count besides. Of c documents with one copy each the sample has both share^2 * c times, and counts the
    others twice; a document that is there oftener counts 1 / share times, and is one. A sample without copies tells of
    none: where it is small, dedup of the whole may leave less.
    """
    if not sampled.documents:
        return Bounds(low=0, high=0)
    left, mean = (1 - sampled.share) / sampled.share, sampled.tokens / sampled.documents
    chance = DEVIATIONS * math.sqrt(left / sampled.share * sampled.squares)
    twice = sampled.twice + DEVIATIONS * math.sqrt(sampled.twice)
    copies = mean * left * (twice / sampled.share + sampled.oftener)
    estimate = sampled.tokens / sampled.share
    return Bounds(low=round(max(sampled.tokens, estimate - copies - chance)), high=round(estimate + chance))


def projections(sampled: Sampled, output: int, work: int, bounded: bool) -> list[str]:
    """What the whole corpus will give and take, each line with its arithmetic. Times are not among them: these lines
    are published. ``output``, ``work``: bytes of the sample. ``bounded``: whether tokens depend on chance, and not on a
    mixture."""
    found, share = tokens_of(sampled), f"{sampled.share:.6g}"
    bounds = f", in 99 of 100 cases {found.low:,} to {found.high:,}" if bounded and sampled.share < 1 else ""
    return [
        f"tokens: {sampled.tokens:,} / {share} = {sampled.tokens / sampled.share:,.0f}{bounds}",
        f"output: {gigabytes(output)} / {share} = {gigabytes(output / sampled.share)}",
        f"work area: {gigabytes(work)} / {share} = {gigabytes(work / sampled.share)}",
    ]


def hours(reading: float, working: float, share: float, workers: int) -> str:
    """How long the whole corpus will take, with the arithmetic. ``reading``: seconds of all workers in which all input
    was read; ``working``: seconds in which the sample was worked on."""
    found = (reading + working / share) / workers / 3600
    one = "1 worker" if workers == 1 else f"{workers} workers"
    return f"hours: ({reading:,.1f} s reading all input + {working:,.1f} s / {share:.6g}) / {one} = {found:,.2f} h"
