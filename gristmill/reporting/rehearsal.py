"""The verdict on a rehearsal: a row a figure with what is usual and a remedy, and what the whole corpus will take."""

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from gristmill.reporting.forecast import Sampled, projections
from gristmill.reporting.tables import Row, escape, gigabytes, markdown
from gristmill.types import PublishedFile, Value, file_name

WINDOW = 1024
"""Ids that a trainer reads at a time."""

FAR = 10
"""How many times smaller or larger than usual a file may be before that is bad."""


class Cut(Value, frozen=True, kw_only=True):
    """Where a format cuts its files."""

    key: str
    """In the configuration."""
    most: int
    """Ids of a file."""
    usual: int
    """The same as its trainer's own tools have it."""


class Findings(Value, frozen=True, kw_only=True):
    """What was counted in one rehearsal; documents and characters as in ``Figures``."""

    documents: dict[str, int]
    characters: dict[str, int]
    quarantined: int
    unknown: int
    """Ids that say "unknown"."""
    sampled: Sampled
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
    cuts: dict[str, Cut]
    """Per format: those that make several files of a split."""
    in_force: list[str]
    """Kinds of dedup and tokenizer: what need not be advised."""
    work_bytes: int
    """In the work area."""
    searched: bool
    """Whether copies were looked for."""


class Advice(Value, frozen=True, kw_only=True):
    """Something that helps, but for those who have it already."""

    text: str
    unless: str = ""
    """Not said where this is in force: see ``Findings.in_force``."""
    where: str = ""
    """Said only where this is."""


def _advice(text: str, unless: str = "", where: str = "") -> Advice:
    return Advice(text=text, unless=unless, where=where)


class Bound(Value, frozen=True, kw_only=True):
    """What a figure should be: good from ``low`` to below ``high``, bad outside ``worst_low`` and ``worst_high``."""

    usual: str
    low: float = -math.inf
    high: float = math.inf
    worst_low: float = -math.inf
    worst_high: float = math.inf
    below: list[Advice] = msgspec.field(default_factory=list)
    """What helps where the figure is too low."""
    above: list[Advice] = msgspec.field(default_factory=list)


SAMPLED = "a sample"
"""In force where not all input was sampled."""

BOUNDS = {
    "dedup retention": Bound(
        usual="60-85 %", low=0.6, high=0.85, worst_low=0.3,
        below=[
            _advice("much repeats: look at report/duplicates"),
            _advice("raise the threshold of minhash where copies are none", where="minhash"),
        ],
        above=[
            _advice("few copies: the corpus was deduplicated before, or dedup misses near copies"),
            _advice("add {kind: minhash} to dedup", unless="minhash"),
            _advice("lower the threshold of minhash", where="minhash"),
            _advice("a sample has fewer than the whole", where=SAMPLED),
        ],
    ),
    "unknown ids": Bound(
        usual="under 0.5 %", high=0.005, worst_high=0.01,
        above=[
            _advice("train the tokenizer on this corpus", unless="train"),
            _advice("train it on more of the corpus", where="train"),
            _advice("take a byte-level one"),
        ],
    ),
    "window filled": Bound(
        usual="80 % or more", low=0.8, worst_low=0.5,
        below=[
            _advice(f"the files are short against windows of {WINDOW:,} ids: make fewer and larger ones"),
            _advice("rehearse on more", where=SAMPLED),
        ],
    ),
    "share against mix": Bound(
        usual="under 5 % off", high=0.05, worst_high=0.2,
        above=[_advice("the mixture needs more of a source: more input, a larger max_repetition, fewer total_tokens")],
    ),
    "shard size": Bound(usual="one file"),
    "characters lost in cleaning": Bound(
        usual="under 50 %", high=0.5, worst_high=0.8,
        above=[_advice("see which rule takes them in report/summary.md, its samples in report/rejected; loosen it")],
    ),
    "quarantined": Bound(
        usual="under 0.1 %", high=0.001, worst_high=0.01,
        above=[_advice("see report/quarantine for the reasons; text_key or the encoding may be wrong")],
    ),
    "validation also in train": Bound(
        usual="0", high=1, worst_high=0.5,
        above=[
            _advice(
                "add {kind: exact} to dedup: training on validation text spoils every loss that is measured on it",
                unless="exact",
            ),
            _advice("documents became copies when parts of them were removed: give their sources less of that, or "
                    "run dedup on the output", where="exact"),
        ],
    ),
    "bytes per token": Bound(
        usual="2.5-8", low=2.5, high=8,
        below=[
            _advice("characters and bytes have 1 to 3 by nature", where="bytes"),
            _advice("characters and bytes have 1 to 3 by nature", where="characters"),
            _advice("the tokenizer knows little of this text: train one on it", unless="train"),
            _advice("raise tokenizer.vocab_size", where="train"),
        ],
        above=[_advice("much of the text repeats itself: look at documents with `inspect`")],
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
    documents, characters, has = found.documents, found.characters, found.in_force
    copied = {"verdict": "warning", "remedy": "no copies were looked for: add {kind: exact} to dedup"}
    return [
        _row("dedup retention", _ratio(documents["deduplicated"], documents["cleaned"]), percent, has)
        | ({} if found.searched else copied),
        _row("unknown ids", _ratio(found.unknown, found.sampled.tokens), percent, has),
        _row("window filled", filled(found.files), percent, has),
        *_shares(found),
        *_sizes(found),
        _row("characters lost in cleaning", _lost(characters["usable"], characters["cleaned"]), percent, has),
        _row("quarantined", _ratio(found.quarantined, documents["read"]), percent, has),
        *([] if found.across is None else [_row("validation also in train", found.across, "{:,.0f}".format, has)]),
        *(
            _row("bytes per token", _ratio(nbytes, found.source_tokens[name]), "{:.2f}".format, has, name)
            for name, nbytes in found.text_bytes.items()
            if found.source_tokens.get(name)
        ),
    ]


def _row(what: str, value: float, shown: Callable[[float], str], has: Sequence[str], of: str = "") -> Row:
    return _judged(what, value, shown(value), BOUNDS[what], has, of)


def _judged(what: str, value: float, shown: str, bound: Bound, has: Sequence[str], of: str) -> Row:
    judged = verdict(value, bound)
    helps = [] if judged == "good" else bound.below if value < bound.low else bound.above
    remedies = [advice.text for advice in helps if advice.unless not in has and advice.where in ("", *has)]
    return {
        "figure": f"{what}: {of}" if of else what,
        "value": shown,
        "usual": bound.usual,
        "verdict": judged,
        "remedy": "; ".join(remedies),
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
    return [_row("share against mix", share, percent, found.in_force, name) for name, share in off.items()]


def _sizes(found: Findings) -> list[Row]:
    """One row a format: how large a train file of the whole corpus will be."""
    rows = []
    for kind in dict.fromkeys(file.format for file in found.files if file.split == "train"):
        files = [file for file in found.files if (file.format, file.split) == (kind, "train")]
        nbytes, ids = (sum(column) for column in zip(*((file.bytes, file.tokens) for file in files), strict=True))
        whole, bound = nbytes / found.sampled.share, BOUNDS["shard size"]
        cut = found.cuts.get(kind)
        if cut is not None:
            an_id = nbytes / max(1, ids)
            bound = _size_bound(cut, an_id, whole)
            whole = min(whole, max(cut.most * an_id, *(file.bytes for file in files)))
        rows.append(_judged("shard size", whole, gigabytes(whole), bound, found.in_force, kind))
    return rows


def _size_bound(cut: Cut, an_id: float, whole: float) -> Bound:
    """Around what is usual for the format; ``an_id``: bytes of one, ``whole``: of all files of the corpus, which has
    nothing to be joined with where it is smaller than one."""
    usual = cut.usual * an_id
    if whole <= usual and whole <= cut.most * an_id:
        return Bound(usual=f"one file, below {gigabytes(usual)}")
    return Bound(
        usual=f"about {gigabytes(usual)}",
        low=usual / 2,
        high=usual * 2,
        worst_low=usual / FAR,
        worst_high=usual * FAR,
        below=[_advice(f"raise {cut.key} of the format: many small files are slow to list and to open")],
        above=[_advice(f"lower {cut.key} of the format: a failed copy begins again")],
    )


def rehearsal_name(generation: int) -> str:
    """Where the table of a generation is, for programs; ``.md`` for people."""
    return file_name("report/rehearsal.json", generation)


class Rehearsed(Value, frozen=True, kw_only=True):
    """The published verdict."""

    rows: list[Row]
    projections: list[str]


def encoded(found: Findings) -> bytes:
    """The bytes of the file for programs."""
    lines = projections(found.sampled, sum(file.bytes for file in found.files), found.work_bytes, not found.targets)
    made = Rehearsed(rows=health(found), projections=lines)
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
