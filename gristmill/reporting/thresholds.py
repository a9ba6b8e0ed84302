"""What filters measured, and what other thresholds would keep."""

from collections.abc import Iterator

import msgspec

from gristmill.reporting import charts
from gristmill.reporting.figures import Figures
from gristmill.reporting.histograms import Histogram
from gristmill.reporting.tables import Row, printable
from gristmill.types import file_name

EXPLAINED = (
    "Each threshold by itself: of the documents that reach the filter and that none of its other thresholds drops, how "
    "many it keeps, and how many it would keep elsewhere; later rules may drop some of them. A value at the threshold "
    "stays. Most documents dropped first. report/thresholds.json has every threshold that was counted."
)
MOST_CHARTS = 4
OTHERS = (-7, -4, -2, -1, 1, 2, 4, 8)
"""Which edges are named beside the threshold in force; of shares: half, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2 and 2 times."""


def threshold_rows(figures: Figures) -> list[Row]:
    """One row a threshold that was counted, those of a filter in ascending order: for ``report/thresholds.json``."""
    return [
        {
            "source": found.source,
            "rule": found.rule,
            "reason": found.reason,
            "drops": found.drops,
            "threshold": _number(found, edge),
            "in_force": edge == found.threshold,
            "documents_kept": documents,
            "characters_kept": characters,
            "tokens_kept": round(characters * _tokens_a_character(figures, found.source)),
        }
        for found in figures.measured
        for edge, documents, characters in _kept(found)
    ]


def measured_rows(figures: Figures) -> list[Row]:
    """One row a threshold in force, with the thresholds near it; that which drops most documents first."""
    return [_row(found) for found in sorted(figures.measured, key=_rank)]


def histogram_charts(figures: Figures) -> str:
    """What was measured by the thresholds that drop most, a chart each."""
    return "".join(_chart(found) for found in sorted(figures.measured, key=_rank)[:MOST_CHARTS] if _dropped(found))


def thresholds_name(generation: int) -> str:
    """Where the rows are published."""
    return file_name("report/thresholds.json", generation)


def thresholds(figures: Figures) -> bytes:
    """The rows of ``threshold_rows`` as JSON."""
    return msgspec.json.format(msgspec.json.encode(threshold_rows(figures)), indent=1) + b"\n"


def _rank(found: Histogram) -> tuple[int, str, int, str]:
    return -_dropped(found), found.source, found.number, found.reason


def _kept(found: Histogram) -> Iterator[tuple[float, int, int]]:
    return zip(found.edges, found.kept(found.documents), found.kept(found.characters), strict=True)


def _dropped(found: Histogram) -> int:
    return sum(found.documents) - found.kept(found.documents)[found.edges.index(found.threshold)]


def _row(found: Histogram) -> Row:
    at = found.edges.index(found.threshold)
    kept = list(zip(found.edges, found.kept(found.documents), strict=True))
    others = [kept[at + step] for step in OTHERS if 0 <= at + step < len(kept)]
    return {
        "source": found.source,
        "rule": found.rule,
        "reason": found.reason,
        "drops": f"{found.drops} {_number(found, found.threshold)}",
        "documents measured": sum(found.documents),
        "kept": kept[at][1],
        "kept at other thresholds": ", ".join(f"{_number(found, edge)}: {count:,}" for edge, count in others),
    }


def _chart(found: Histogram) -> str:
    """Documents by the value measured, empty ends left out; brackets mark the threshold."""
    labels = [f"{_number(found, edge):g}" for edge in found.edges]
    at = found.edges.index(found.threshold)
    labels[at] = f"[{labels[at]}]"
    below = found.drops == "below"  # a value at an edge is in the bin after it, or else in the one before
    labels = [f"< {labels[0]}", *labels] if below else [*labels, f"> {labels[-1]}"]
    mark = at + below
    filled = [place for place, count in enumerate(found.documents) if count]
    first, last = min(mark, filled[0]), max(mark, filled[-1])
    bins = [(labels[place], float(found.documents[place])) for place in range(first, last + 1)]
    name = printable(f"{found.source}, {found.rule}, {found.reason}: {'from' if below else 'up to'}")
    return charts.columns(bins, name, name, "documents", mark - first)


def _number(found: Histogram, edge: float) -> float:
    return int(edge) if found.whole and edge.is_integer() else edge


def _tokens_a_character(figures: Figures, source: str) -> float:
    of_source = figures.encoded.get(source, {})
    return of_source.get("tokens", 0) / max(1, of_source.get("characters", 0))
