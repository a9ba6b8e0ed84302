"""The figures of a run, counted from what its stages left in the work area."""

from collections import Counter
from itertools import islice

import numpy as np
import pyarrow.compute as pc

from gristmill.columns import numbers, strings
from gristmill.config import PrepareConfig
from gristmill.reporting.figures import Figures
from gristmill.stages._arrow import batches
from gristmill.stages.decide import NO_PLACE, VERDICT
from gristmill.stages.mix import published_pieces
from gristmill.stages.records import mapped
from gristmill.stages.results import Results
from gristmill.types import DOCUMENT, StageReport

SCRIPTS = (
    "Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Gujarati", "Gurmukhi",
    "Han", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Lao", "Latin", "Malayalam", "Mongolian",
    "Myanmar", "Oriya", "Sinhala", "Tamil", "Telugu", "Thaana", "Thai", "Tibetan",
)  # fmt: skip
"""Names of Unicode scripts as RE2 has them; letters of all others are counted as ``Other``."""

SAMPLED_PIECES = 16
SAMPLED_DOCUMENTS = 64
SAMPLED_CHARACTERS = 2000
"""Pieces, documents in each of them and characters of each document whose letters are counted: 2 million at most."""


def figures(results: Results, config: PrepareConfig) -> Figures:
    """Count what the reports add up to and what the files hold. Groups of copies take 8 bytes a copy while they are
    counted."""
    sampled, scripts = _scripts(results.cleaned)
    trimmed = results.trimmed or [results.decided]
    steps = {
        "usable": results.fetched,
        "cleaned": results.cleaned,
        "deduplicated": trimmed,
    }
    published = published_pieces(results.tokenized, results.mixed)
    return Figures(
        documents={"read": sum(report.docs_in for report in results.fetched)}
        | {step: sum(report.docs_out for report in reports) for step, reports in steps.items()}
        | {"published": sum(piece["documents"] for piece in published)},
        characters={step: sum(report.chars_out for report in reports) for step, reports in steps.items()}
        | {"published": sum(piece["characters"] for piece in published)},
        lengths=_lengths(results, config),
        clusters=_clusters(results.decided),
        scripts=scripts,
        sampled=sampled,
    )


def _lengths(results: Results, config: PrepareConfig) -> dict[int, int]:
    """Of the first format that holds ids, or of the first: the others hold the same documents."""
    kinds = sorted(config.formats, key=lambda format: format.holds != "tokens")
    found: Counter[int] = Counter()
    for file in results.layout.files:
        if file.format == kinds[0].kind():
            for number in file.pieces:
                found.update(_doubling(mapped(results.packed[number], "documents", DOCUMENT)["length"]))
    return dict(sorted(found.items()))


def _clusters(decided: StageReport) -> dict[int, int]:
    rows = mapped(decided, "verdicts", VERDICT)
    copies = rows[rows["kept_place"] != NO_PLACE]
    nodes = copies["kept_place"].astype(np.uint64) << np.uint64(32) | copies["kept_row"]
    return _doubling(np.unique(nodes, return_counts=True)[1] + 1)


def _doubling(values: np.ndarray) -> dict[int, int]:
    """How many of the values are in 1, 2 to 3, 4 to 7 and so on, by the first of each; every value is 1 or more."""
    counts = np.bincount(np.frexp(values)[1] - 1) if len(values) else np.zeros(0, np.int64)
    return {1 << place: count for place, count in enumerate(counts.tolist()) if count}


def _scripts(cleaned: list[StageReport]) -> tuple[int, dict[str, int]]:
    """How many documents were sampled, and their letters by script."""
    filled = [report for report in cleaned if report.docs_out]
    letters: Counter[str] = Counter()
    sampled = 0
    for place in _spread(len(filled), SAMPLED_PIECES):
        for text in _sample(filled[place]):
            letters.update(text)
            sampled += 1
    counts = {name: sum(letters[mark] for mark in marks) for name, marks in _by_script(sorted(letters)).items()}
    return sampled, {name: count for name, count in counts.items() if count}


def _sample(cleaned: StageReport) -> list[str]:
    """The beginnings of documents of one piece, evenly spaced."""
    found: list[str] = []
    wanted = _spread(cleaned.docs_out, SAMPLED_DOCUMENTS)
    first = 0
    for batch in batches(cleaned.artifacts["documents"]):
        here = [row - first for row in wanted if first <= row < first + len(batch)]
        texts = batch.column("text").take(numbers(np.array(here, np.int64)))
        found += [text[:SAMPLED_CHARACTERS] for text in texts.to_pylist()]
        first += len(batch)
    return found


def _spread(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly spaced, 0 among them."""
    return list(islice(range(0, count, max(1, -(-count // most))), most))


def _by_script(marks: list[str]) -> dict[str, list[str]]:
    """The letters among the characters, by script."""
    column = strings([mark for mark in marks if mark.isalpha()])
    found: dict[str, list[str]] = {}
    rest = column
    for script in SCRIPTS:
        inside = pc.match_substring_regex(rest, rf"\p{{{script}}}")
        found[script] = rest.filter(inside).to_pylist()
        rest = rest.filter(pc.invert(inside))
    return found | {"Other": rest.to_pylist()}
