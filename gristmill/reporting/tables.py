"""Rows for people: of published files, input shards, sources, rules. Strings in them are as the data has them; whoever
shows a row makes it harmless: ``escaped`` for the pages of the server, ``markdown``, the template of the report."""

import json
from collections.abc import Sequence

from gristmill.types import FirstRows, Manifest, PassedOver, ShardRef, SourceShard, StageReport

Row = dict[str, object]

SPECIAL = str.maketrans({mark: f"&#{ord(mark)};" for mark in "&<>`|[]*\\!#"} | {"\n": " ", "\r": " "})
MIXED = ("train_documents", "train_characters", "train_tokens", "target_tokens")
"""Counts of a mixed source that are shown as shares of all sources."""

SHOWN = 3
"""Names in a line about many files."""

LONGEST = 200
LONGEST_CELL = 1000
"""A cell may hold many reasons with their counts."""


SPARED = "\n\t\u200c\u200d"
"""Line ends, tabs and the two joiners, without which Persian and Hindi words read wrongly."""


def printable(text: str, spared: str = "") -> str:
    """The text with a question mark for every control, format and bidirectional character that is not ``spared``."""
    return "".join(mark if mark.isprintable() or mark in spared else "?" for mark in text)


def escape(text: str, longest: int = LONGEST) -> str:
    """Text from data, safe in a Markdown table: markup as entities, no links, one line, at most ``longest``
    characters."""
    line = printable(text.replace("\n", " "))[:longest]
    return line.translate(SPECIAL).replace("://", "&#58;//").replace("www.", "www&#46;")


def escaped(rows: list[Row]) -> list[Row]:
    """The rows with every text escaped, for a table that the server shows."""
    return [
        {name: escape(value, LONGEST_CELL) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]


def published_rows(manifest: Manifest) -> list[Row]:
    """One row a published file; how many ids its label mask hides, where any file has one."""
    masked = any(file.mask for file in manifest.files)
    return [
        {
            "file": file.path,
            "split": file.split,
            "documents": file.documents,
            "tokens": file.tokens,
            "EOS": file.eos,
            **({"hidden": file.mask.hidden if file.mask else 0} if masked else {}),
            "bytes": file.bytes,
            "sha256": file.sha256,
        }
        for file in manifest.files
    ]


def transfer_rows(manifest: Manifest, uploaded: list[StageReport]) -> list[Row]:
    """``published_rows``, and how each file got to its place; ``None`` for those of earlier generations."""
    put = {report.details["file"]["path"]: report.details["transfer"] for report in uploaded}
    return [{**row, **_transfer(put.get(str(row["file"])))} for row in published_rows(manifest)]


def _transfer(put: dict[str, float] | None) -> Row:
    if put is None:
        return {"seconds": None, "MB/s": None, "retries": None}
    speed = put["bytes"] / 1e6 / max(put["seconds"], 1e-6)
    return {"seconds": round(put["seconds"], 3), "MB/s": round(speed, 1), "retries": put["retries"]}


def input_rows(manifest: Manifest) -> list[Row]:
    """One row an input shard."""
    return [
        {
            "shard": shard.index,
            "source": shard.source,
            "input": _place(f"{shard.uri} -> {shard.link}" if shard.link else shard.uri, shard.part),
            "documents": shard.documents,
            "kept": shard.kept,
            "tokens": shard.tokens,
            "dropped": _reasons(shard.dropped),
            "quarantined": _reasons(shard.quarantined),
            "error": shard.error,
        }
        for shard in manifest.source_shards
    ]


def passed_over_rows(passed: Sequence[PassedOver]) -> list[Row]:
    """One row a source, reason and suffix of files that were not read."""
    return [
        {
            "source": row.source,
            "reason": row.reason,
            "suffix": row.suffix or "none",
            "files": row.files,
            "examples": ", ".join(row.examples),
        }
        for row in passed
    ]


def passed_over_lines(passed: Sequence[PassedOver]) -> list[str]:
    """One line a source: how many files were not read, by reason and suffix, and the names of some."""
    return [
        _passed_over(name, [row for row in passed if row.source == name]) for name in {row.source: 0 for row in passed}
    ]


def first_rows_lines(first: FirstRows) -> list[str]:
    """The file, and a line for each of its first documents: the id and how the text begins."""
    shown = [
        f"  {printable(row.id)}: {printable(json.dumps(row.text, ensure_ascii=False))}"
        f"{f' ... {row.characters:,} characters' if row.characters > len(row.text) else ''}"
        for row in first.documents
    ]
    return [f"{first.source}: {first.uri} begins with", *(shown or ["  no document"])]


def _passed_over(source: str, rows: list[PassedOver]) -> str:
    total = sum(row.files for row in rows)
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.reason, []).append(f"{row.suffix or 'no suffix'} {row.files:,}")
    named = ", ".join(f"{reason} ({', '.join(counts)})" for reason, counts in reasons.items())
    examples = [name for row in rows for name in row.examples]
    shown = ", ".join(examples[:SHOWN]) + (", ..." if total > SHOWN else "")
    return f"{source}: {total:,} file{'s' * (total != 1)} passed over: {named}: {shown}"


def link_lines(shards: Sequence[ShardRef | SourceShard]) -> list[str]:
    """A line of how many files are read through links out of their folders; none where there are none."""
    links = {shard.uri: shard.link for shard in shards if shard.link}
    if not links:
        return []
    shown = ", ".join(f"{uri} -> {target}" for uri, target in [*links.items()][:SHOWN])
    more = ", ..." if len(links) > SHOWN else ""
    return [f"{len(links):,} input files are links that lead out of their folder: {shown}{more}"]


def source_rows(manifest: Manifest) -> list[Row]:
    """One row a source: what was published of it."""
    tokens = max(1, manifest.totals["tokens"])
    return [
        {
            "source": name,
            "documents": counts["documents"],
            "tokens": counts["tokens"],
            "share of tokens": f"{counts['tokens'] / tokens:.2%}",
        }
        for name, counts in manifest.sources.items()
    ]


def mix_rows(manifest: Manifest) -> list[Row]:
    """One row a source that is mixed: what of it is in the train files, every document as often as it is there."""
    mixed = {name: counts for name, counts in manifest.sources.items() if "target_tokens" in counts}
    sums = {name: max(1, sum(counts[name] for counts in mixed.values())) for name in MIXED}
    return [
        {
            "source": name,
            "documents": counts["train_documents"],
            "characters": counts["train_characters"],
            "tokens": counts["train_tokens"],
            **{f"of {key[6:]}": f"{counts[key] / sums[key]:.2%}" for key in MIXED[:3]},
            "target tokens": counts["target_tokens"],
            "target": f"{counts['target_tokens'] / sums['target_tokens']:.2%}",
            "deviation": f"{counts['deviation_tokens'] / max(1, counts['target_tokens']):+.3%}",
            "repeated documents": counts["repeated_documents"],
            "repeated tokens": counts["repeated_tokens"],
        }
        for name, counts in mixed.items()
    ]


def repetitions(manifest: Manifest) -> str:
    """A sentence on what the totals, which count a document once, leave out; empty where nothing is mixed."""
    if "repeated_documents" not in manifest.totals:
        return ""
    documents, tokens = manifest.totals["repeated_documents"], manifest.totals["repeated_tokens"]
    return (
        f"Train files only, every document as often as it is in them; validation is not mixed. Repetitions, which the "
        f"totals do not count: {documents:,} documents, {tokens:,} tokens."
    )


def rule_rows(manifest: Manifest) -> list[Row]:
    """The ledger of cleaning: one row a source and rule."""
    return [
        {
            "source": rule.source,
            "rule": rule.rule,
            "documents in": rule.documents_in,
            "dropped": rule.documents_in - rule.documents_out,
            "characters in": rule.characters_in,
            "characters removed": rule.characters_in - rule.characters_out,
            "tokens lost (estimated)": rule.tokens_lost,
            "reasons": _reasons(rule.dropped),
        }
        for rule in manifest.rules
    ]


def _place(uri: str, part: dict[str, int] | None) -> str:
    return uri if part is None else f"{uri} ({part['start']} to {part['stop']})"


def _reasons(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())


def markdown(rows: list[Row]) -> str:
    """A Markdown table, texts escaped; numbers with thousands separators. ``None.`` where there are no rows."""
    if not rows:
        return "None."
    names = list(rows[0])
    rows = escaped(rows)
    head = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return "\n".join(head + [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows])


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def gigabytes(nbytes: float) -> str:
    """In decimal units that people read sizes in."""
    return f"{nbytes / 1e9:,.2f} GB" if nbytes >= 1e8 else f"{nbytes / 1e6:,.3g} MB"
