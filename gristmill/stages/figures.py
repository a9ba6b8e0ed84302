"""The figures of a run, counted from what its stages left in the work area."""

from collections import Counter

import numpy as np
import pyarrow.compute as pc

from gristmill.columns import strings
from gristmill.config import PrepareConfig
from gristmill.languages import SHOWN, language, middle
from gristmill.reporting.figures import Figures
from gristmill.stages._sampled import sampled
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


def figures(results: Results, config: PrepareConfig) -> Figures:
    """Count what the reports add up to and what the files hold. Groups of copies take 8 bytes a copy while they are
    counted. Languages take 0.7 s of CPU, however large the corpus is: 0.4 for loading the identifier."""
    texts = [(middle(text, SHOWN), len(text)) for text in sampled(results.cleaned)]
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
        scripts=_scripts([text for text, _ in texts]),
        sampled=len(texts),
        languages=_languages(texts),
        packing=_packing(results, config),
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


def _scripts(excerpts: list[str]) -> dict[str, int]:
    """Letters by script."""
    letters: Counter[str] = Counter()
    for text in excerpts:
        letters.update(text)
    counts = {name: sum(letters[mark] for mark in marks) for name, marks in _by_script(sorted(letters)).items()}
    return {name: count for name, count in counts.items() if count}


def _languages(texts: list[tuple[str, int]]) -> dict[str, dict[str, int]]:
    """Documents and characters by language, of excerpts and the lengths of their documents."""
    found: dict[str, dict[str, int]] = {}
    for text, characters in texts:
        row = found.setdefault(language(text), {"documents": 0, "characters": 0})
        row["documents"] += 1
        row["characters"] += characters
    return dict(sorted(found.items()))


def _packing(results: Results, config: PrepareConfig) -> dict[str, dict[str, int]]:
    """Of every format of ids: where they went."""
    found: dict[str, dict[str, int]] = {}
    for format in config.formats:
        kind = format.kind()
        files = [
            (file, report)
            for file, report in zip(results.layout.files, results.uploaded, strict=True)
            if file.format == kind
        ]
        if format.holds == "rows":
            account: Counter[str] = Counter()
            for _, report in files:
                account.update(report.details["rows"])
            found[kind] = dict(account)
        elif format.holds == "tokens":
            placed, left = sum(file.tokens for file, _ in files), results.layout.rest[kind]
            found[kind] = {"ids": placed + left, "placed": placed, "left": left}
    return found


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
