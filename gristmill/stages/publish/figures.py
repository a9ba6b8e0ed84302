"""The figures of a run, counted from what its stages left in the work area."""

from collections import Counter

import msgspec
import numpy as np

from gristmill.config import PrepareConfig
from gristmill.reporting.figures import Figures
from gristmill.reporting.histograms import Histogram, added
from gristmill.stages.dedup.decide import NO_PLACE, VERDICT
from gristmill.stages.dedup.records import mapped
from gristmill.stages.publish.results import Results
from gristmill.stages.tokens.mix import published_pieces
from gristmill.types import DOCUMENT, StageReport


def figures(results: Results, config: PrepareConfig) -> Figures:
    """Count what the reports add up to and what the files hold. Groups of copies take 8 bytes a copy while they are
    counted."""
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
        **results.surveyed.details,
        packing=_packing(results, config),
        measured=_measured(results),
        encoded=_encoded(results),
    )


def _measured(results: Results) -> list[Histogram]:
    sources = {shard.index: shard.source for shard in results.shards}
    return added(
        msgspec.structs.replace(
            msgspec.convert(found, Histogram), source=sources[report.shard], number=number, rule=row["rule"]
        )
        for report in results.cleaned
        for number, row in enumerate(report.details["rules"])
        for found in row["measured"]
    )


def _encoded(results: Results) -> dict[str, dict[str, int]]:
    sources = {shard.index: shard.source for shard in results.shards}
    found: dict[str, dict[str, int]] = {}
    for report in results.tokenized:
        row = found.setdefault(sources[report.shard], {"characters": 0, "tokens": 0})
        row["characters"] += report.chars_out
        row["tokens"] += report.tokens
    return dict(sorted(found.items()))


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


def _packing(results: Results, config: PrepareConfig) -> dict[str, dict[str, int]]:
    """Of every format of ids: where they went."""
    found: dict[str, dict[str, int]] = {}
    for format in config.formats:
        kind = format.kind()
        if format.holds == "rows":
            account: Counter[str] = Counter()
            for row in results.rows(kind):
                account.update(row)
            found[kind] = dict(account)
        elif format.holds == "tokens":
            placed = sum(file.tokens for file in results.layout.files if file.format == kind)
            left = results.layout.rest[kind]
            found[kind] = {"ids": placed + left, "placed": placed, "left": left}
    return found
