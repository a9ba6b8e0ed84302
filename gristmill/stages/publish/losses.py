"""What was not published, by source and reason: in documents, characters and tokens."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gristmill.config import PrepareConfig
from gristmill.manifest import identity
from gristmill.reporting.losses import REWRITTEN
from gristmill.stages.dedup.list_duplicates import LITTLE_LEFT, TRIMMED
from gristmill.stages.dedup.spans import kinds
from gristmill.stages.publish.results import Results
from gristmill.stages.tokens.mix import NOT_MIXED, published_pieces
from gristmill.types import Loss

WITHOUT_TEXT = ("missing_text", "null_text", "empty_text")
"""Reasons of documents that have no text to lose."""


class _Key(NamedTuple):
    source: str
    stage: str
    rule: str
    reason: str


def losses(results: Results, config: PrepareConfig) -> list[Loss]:
    """One a source, rule and reason, by name.

    Tokens are characters times the tokens per character that were measured of what was encoded of the source, or of all
    sources where nothing was. Documents whose text was never read are taken to be as long as those of the source that
    were: ``counted`` is false.
    """
    sources = {shard.index: shard.source for shard in results.shards}
    ratios = _Ratios(results, sources)
    documents: Counter[_Key] = Counter()
    characters: Counter[_Key] = Counter()
    for key, count, size in [
        *_cleaned(results, sources),
        *_copies(results, sources, config),
        *_mixed(results, sources),
    ]:
        documents[key] += count
        characters[key] += size
    found = [
        _loss(key, documents[key], characters[key], ratios, counted=True)
        for key in documents
        if documents[key] or characters[key] > 0
    ]
    unread: Counter[_Key] = Counter()
    for key, count in _unread(results, sources):
        unread[key] += count
    found += [
        _loss(key, count, 0, ratios, counted=True)
        if key.reason in WITHOUT_TEXT
        else _loss(key, count, round(count * ratios.characters(key.source)), ratios, counted=False)
        for key, count in unread.items()
    ]
    return sorted(found, key=identity)


class _Ratios:
    """Characters a document and tokens a character, by source."""

    def __init__(self, results: Results, sources: dict[int, str]) -> None:
        self._read = _Means()
        self._encoded = _Means()
        for report in results.fetched:
            self._read.add(sources[report.shard], report.chars_out, report.docs_out)
        for report in results.tokenized:
            self._encoded.add(sources[report.shard], report.tokens, report.chars_out)

    def characters(self, source: str) -> float:
        return self._read.of(source)

    def tokens(self, source: str) -> float:
        return self._encoded.of(source)


class _Means:
    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def add(self, source: str, amount: int, count: int) -> None:
        self._sums[source] += amount
        self._counts[source] += count

    def of(self, source: str) -> float:
        """Of all sources together where there is nothing of this one."""
        if self._counts[source]:
            return self._sums[source] / self._counts[source]
        return self._sums.total() / max(1, self._counts.total())


def _loss(key: _Key, documents: int, characters: int, ratios: _Ratios, *, counted: bool) -> Loss:
    tokens = round(characters * ratios.tokens(key.source))
    return Loss(**key._asdict(), documents=documents, characters=characters, tokens=tokens, counted=counted)


def _unread(results: Results, sources: dict[int, str]) -> Iterator[tuple[_Key, int]]:
    for report in results.fetched:
        for stage, reasons in (("read", report.dropped), ("quarantine", report.quarantine_reasons)):
            for reason, count in reasons.items():
                yield _Key(sources[report.shard], stage, "", reason), count


def _cleaned(results: Results, sources: dict[int, str]) -> Iterator[tuple[_Key, int, int]]:
    for report in results.cleaned:
        for row in report.details["rules"]:
            lost = row["dropped_characters"]
            for reason, count in row["dropped"].items():
                yield _Key(sources[report.shard], "cleaning", row["rule"], reason), count, lost[reason]
            rewritten = row["characters_in"] - row["characters_out"] - sum(lost.values())
            yield _Key(sources[report.shard], "cleaning", row["rule"], REWRITTEN), 0, rewritten


def _copies(results: Results, sources: dict[int, str], config: PrepareConfig) -> Iterator[tuple[_Key, int, int]]:
    rules = {kind.reason: kind.kind() for kind in config.dedup}
    details = results.decided.details
    for report, dropped, lost in zip(results.cleaned, details["dropped"], details["dropped_characters"], strict=True):
        for reason, count in dropped.items():
            yield _Key(sources[report.shard], "dedup", rules[reason], reason), count, lost[reason]
    parts = ", ".join(kind.kind() for kind in kinds(config))
    for report in results.trimmed:
        short = report.details["little_left_characters"]
        yield _Key(sources[report.shard], "dedup", parts, LITTLE_LEFT), report.docs_in - report.docs_out, short
        yield _Key(sources[report.shard], "dedup", parts, TRIMMED), 0, report.chars_in - report.chars_out - short


def _mixed(results: Results, sources: dict[int, str]) -> Iterator[tuple[_Key, int, int]]:
    for report, piece in zip(results.tokenized, published_pieces(results.tokenized, results.mixed), strict=True):
        for reason, count in report.dropped.items():  # they have no tokens, so none is lost
            yield _Key(sources[report.shard], "tokens", "", reason), count, 0
        if left := piece.get(NOT_MIXED, 0):
            yield _Key(sources[report.shard], "mix", "", NOT_MIXED), left, report.chars_out - piece["characters"]
