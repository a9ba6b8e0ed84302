"""The verdict on a rehearsal: a row a figure with what is usual and a remedy, and what the whole corpus will take."""

import math
from collections.abc import Callable, Iterable

import msgspec

from gristmill.reporting.tables import Row, escape, gigabytes, markdown
from gristmill.types import PublishedFile, Value, file_name

WINDOW = 1024
"""Ids that a trainer reads at a time."""

SHARD_BYTES = 10**9
"""A file of a whole corpus should have so many bytes at least: opened fast, copied in one go."""


class Findings(Value, frozen=True, kw_only=True):
    """What was counted in one rehearsal; documents and characters as in ``Figures``."""

    share: float
    """Of the input that was sampled, above 0 to 1."""
    documents: dict[str, int]
    characters: dict[str, int]
    quarantined: int
    searched: bool
    """Whether copies were looked for."""
    unknown: int
    """Ids that say "unknown"."""
    tokens: int
    """Published, without EOT."""
    across: int | None
    """Validation documents whose text is in train too; ``None`` where there is no validation."""
    text_bytes: dict[str, int]
    """UTF-8 bytes of the kept text, by source."""
    source_tokens: dict[str, int]
    targets: dict[str, float]
    """What the share of each source in the training tokens should be, where they are mixed."""
    mixed: dict[str, int]
    """Training tokens of each source, where they are mixed."""
    files: list[PublishedFile]
    most_tokens: dict[str, int]
    """Per format: ids a file may have at most, where it has such a limit."""
    work_bytes: int
    """In the work area."""


class Bound(Value, frozen=True, kw_only=True):
    """What a figure should be: good from ``low`` to below ``high``, bad outside ``worst_low`` and ``worst_high``."""

    usual: str
    low: float = -math.inf
    high: float = math.inf
    worst_low: float = -math.inf
    worst_high: float = math.inf
    below: str = ""
    """What helps where the figure is too low."""
    above: str = ""


BOUNDS = {
    "dedup retention": Bound(
        usual="60-85 %", low=0.6, high=0.85, worst_low=0.3,
        below="much repeats: look at report/duplicates, and raise the threshold of minhash where copies are none",
        above="few copies: the corpus was deduplicated before, or dedup misses near copies (add minhash); a sample has "
        "fewer than the whole",
    ),
    "unknown ids": Bound(
        usual="under 0.5 %", high=0.005, worst_high=0.01,
        above="train the tokenizer on this corpus, on more of it, or take a byte-level one",
    ),
    "window filled": Bound(
        usual="80 % or more", low=0.8, worst_low=0.5,
        below=f"the files are short against windows of {WINDOW:,} ids: make fewer and larger ones, or rehearse on more",
    ),
    "share against mix": Bound(
        usual="under 5 % off", high=0.05, worst_high=0.2,
        above="the mixture needs more of a source: more input, a larger max_repetition, fewer total_tokens",
    ),
    "shard size": Bound(
        usual="1-2 GB", low=SHARD_BYTES, high=(2 << 30) + 1, worst_low=SHARD_BYTES / 10,
        below="raise max_tokens of the format: many small files are slow to list and to open",
        above="lower max_tokens of the format, or take one that cuts its files: a failed copy begins again",
    ),
    "characters lost in cleaning": Bound(
        usual="under 50 %", high=0.5, worst_high=0.8,
        above="see which rule takes them in report/summary.md, and its samples in report/rejected; loosen it",
    ),
    "quarantined": Bound(
        usual="under 0.1 %", high=0.001, worst_high=0.01,
        above="see report/quarantine for the reasons; text_key or the encoding may be wrong",
    ),
    "validation also in train": Bound(
        usual="0", high=1, worst_high=0.5,
        above="add {kind: exact} to dedup: training on validation text spoils every loss that is measured on it",
    ),
    "bytes per token": Bound(
        usual="2.5-8", low=2.5, high=8,
        below="the tokenizer knows little of this text: train one on it (bytes and characters have 1 to 3 by nature)",
        above="much of the text repeats itself: look at documents with `inspect`",
    ),
}  # fmt: skip
"""The figures of the table, in its order."""


def verdict(value: float, bound: Bound) -> str:
    """``good``, ``warning`` or ``bad``."""
    if bound.low <= value < bound.high:
        return "good"
    return "bad" if not bound.worst_low <= value <= bound.worst_high else "warning"


def health(found: Findings) -> list[Row]:
    """The table: a row a figure, or one a source or format. A figure that there is none of has no row."""
    documents, characters = found.documents, found.characters
    return [
        _row("dedup retention", _ratio(documents["deduplicated"], documents["cleaned"]), percent)
        | ({} if found.searched else {"verdict": "warning", "remedy": "no copies were looked for: see dedup"}),
        _row("unknown ids", _ratio(found.unknown, found.tokens), percent),
        _row("window filled", filled(found.files), percent),
        *_shares(found),
        *_sizes(found),
        _row("characters lost in cleaning", _lost(characters["usable"], characters["cleaned"]), percent),
        _row("quarantined", _ratio(found.quarantined, documents["read"]), percent),
        *([] if found.across is None else [_row("validation also in train", found.across, "{:,.0f}".format)]),
        *(
            _row("bytes per token", _ratio(nbytes, found.source_tokens[name]), "{:.2f}".format, name)
            for name, nbytes in found.text_bytes.items()
            if found.source_tokens.get(name)
        ),
    ]


def _row(what: str, value: float, shown: Callable[[float], str], of: str = "") -> Row:
    bound = BOUNDS[what]
    judged = verdict(value, bound)
    return {
        "figure": f"{what}: {of}" if of else what,
        "value": shown(value),
        "usual": bound.usual,
        "verdict": judged,
        "remedy": "" if judged == "good" else bound.below if value < bound.low else bound.above,
    }


def filled(files: Iterable[PublishedFile]) -> float:
    """Mean share of a window that is filled where the train files are read in windows of ``WINDOW`` ids; 1 where there
    are none."""
    tokens = [file.tokens for file in files if file.split == "train"]
    return _ratio(sum(tokens), WINDOW * sum(-(-count // WINDOW) for count in tokens), empty=1)


def _shares(found: Findings) -> list[Row]:
    """One row a source of a mixture: by how much of its target its share is off."""
    total = sum(found.mixed.values())
    off = {
        name: abs(_ratio(found.mixed.get(name, 0), total) - target) / target
        for name, target in found.targets.items()
        if target
    }
    return [_row("share against mix", share, percent, name) for name, share in off.items()]


def _sizes(found: Findings) -> list[Row]:
    """One row a format: how large a train file of the whole corpus will be. A corpus that is smaller than one file
    should be has nothing to be joined with."""
    rows = []
    for kind in dict.fromkeys(file.format for file in found.files if file.split == "train"):
        files = [file for file in found.files if (file.format, file.split) == (kind, "train")]
        total = sum(file.bytes for file in files) / found.share
        size = float(max(file.bytes for file in files))
        if len(files) == 1:
            most = found.most_tokens.get(kind, math.inf)
            size = min(total, max(size, most * files[0].bytes / max(1, files[0].tokens)))
        small = {"verdict": "good", "remedy": ""} if total < SHARD_BYTES and len(files) == 1 else {}
        rows.append(_row("shard size", size, gigabytes, kind) | small)
    return rows


def projections(found: Findings) -> list[str]:
    """What the whole corpus will give and take, each line with its arithmetic. Times are not among them: these lines
    are published."""
    output = sum(file.bytes for file in found.files)
    share = f"{found.share:.6g}"
    return [
        f"tokens: {found.tokens:,} / {share} = {found.tokens / found.share:,.0f}",
        f"output: {gigabytes(output)} / {share} = {gigabytes(output / found.share)}",
        f"work area: {gigabytes(found.work_bytes)} / {share} = {gigabytes(found.work_bytes / found.share)}",
    ]


def hours(reading: float, working: float, share: float, workers: int) -> str:
    """How long the whole corpus will take, with the arithmetic. ``reading``: seconds of all workers in which all input
    was read; ``working``: seconds in which the sample was worked on."""
    found = (reading + working / share) / workers / 3600
    one = "1 worker" if workers == 1 else f"{workers} workers"
    return f"hours: ({reading:,.1f} s reading all input + {working:,.1f} s / {share:.6g}) / {one} = {found:,.2f} h"


def rehearsal_name(generation: int) -> str:
    """Where the table of a generation is, for programs; ``.md`` for people."""
    return file_name("report/rehearsal.json", generation)


class Rehearsed(Value, frozen=True, kw_only=True):
    """The published verdict."""

    rows: list[Row]
    projections: list[str]


def encoded(found: Findings) -> bytes:
    """The bytes of the file for programs."""
    made = Rehearsed(rows=health(found), projections=projections(found))
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def decoded(data: bytes) -> Rehearsed:
    """What ``encoded`` has written."""
    return msgspec.json.decode(data, type=Rehearsed)


def page(verdicts: Rehearsed, *more: str) -> str:
    """Markdown: the table, then the projections and whatever lines are given besides."""
    lines = [f"- {escape(line)}" for line in (*verdicts.projections, *more)]
    return "\n".join(["# Rehearsal", "", markdown(verdicts.rows), "", "## The whole corpus", "", *lines, ""])


def percent(share: float) -> str:
    """As read by people; three digits where it is small."""
    return f"{100 * share:.1f} %" if share >= 0.1 or not share else f"{100 * share:.3g} %"


def _ratio(part: float, whole: float, empty: float = 0) -> float:
    return part / whole if whole else empty


def _lost(before: int, after: int) -> float:
    return max(0.0, 1 - _ratio(after, before, empty=1))
