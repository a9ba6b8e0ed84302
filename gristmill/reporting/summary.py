"""The run in one page of Markdown, made from the manifest alone, so that the same data gives the same page."""

from gristmill.reporting.health import dominant, judged_rows, undivided
from gristmill.reporting.losses import EXPLAINED, loss_rows
from gristmill.reporting.tables import (
    LONGEST_CELL,
    escape,
    input_rows,
    markdown,
    mix_rows,
    passed_over_rows,
    published_rows,
    repetitions,
    source_rows,
)
from gristmill.types import Manifest

MOST_ROWS = 50
"""Rows shown per table; the manifest has them all."""


def summary(manifest: Manifest, digits: int = 64) -> str:
    """Markdown: totals, what was dropped and why, published files, input shards; ``digits`` of each sha256."""
    totals, record = manifest.totals, manifest.tokenizer
    lines = [
        f"# {escape(manifest.dataset)}",
        "",
        f"{totals['input_documents']:,} documents in, {totals['documents']:,} published: {totals['tokens']:,} tokens, "
        f"end-of-text not counted ({_eot_sides(manifest)}).",
        "",
        f"- tokenizer: {escape(record.name)}, {record.vocab_size:,} ids, {manifest.dtype}, "
        f"sha256 `{record.sha256[:digits]}`",
        f"- encoded by {escape(record.fast_path)}; {record.documents_compared:,} documents compared with the "
        f"reference, {record.documents_different} different",
        f"- configuration: `{manifest.config_fingerprint}`, gristmill {manifest.code_version}",
        "",
        "## Published files",
        "",
        markdown([{**row, "sha256": str(row["sha256"])[:digits]} for row in published_rows(manifest)[:MOST_ROWS]]),
        "",
        "## Sources",
        "",
        *_warned(undivided(manifest)),
        markdown(source_rows(manifest)),
        "",
        *_mixture(manifest),
        "## What was lost",
        "",
        *_losses(manifest),
        "",
        "## What every rule did",
        "",
        markdown(judged_rows(manifest)),
        "",
        "Tokens lost are estimated from the characters removed and the tokens per character of what was kept.",
        "",
        *_left_out(manifest),
        *_passed_over(manifest),
        "## Input shards",
        "",
        markdown(input_rows(manifest)[:MOST_ROWS]),
    ]
    hidden = len(manifest.source_shards) - MOST_ROWS
    if hidden > 0:
        lines += ["", f"{hidden:,} more input shards are in manifest.json."]
    if manifest.config["split"]["kind"] != "none" and not any(file.split == "val" for file in manifest.files):
        lines += ["", "There is no validation file: no document fell in the held-out part; raise split.fraction."]
    return "\n".join(lines) + "\n"


def _losses(manifest: Manifest) -> list[str]:
    rows = loss_rows(manifest)
    more = [f"{len(rows) - MOST_ROWS:,} more rows are in report/ledger.json.", ""] if len(rows) > MOST_ROWS else []
    told = [markdown(rows[:MOST_ROWS]), "", *more, EXPLAINED]
    return told if rows else ["Every document was published, and no rule took anything out."]


def _mixture(manifest: Manifest) -> list[str]:
    rows = mix_rows(manifest)
    warned = _warned(dominant(manifest))
    return ["## Mixture", "", repetitions(manifest), "", *warned, "", markdown(rows), ""] if rows else []


def _warned(warnings: list[str]) -> list[str]:
    return [line for warning in warnings for line in (f"**Warning**: {escape(warning, LONGEST_CELL)}.", "")]


def _left_out(manifest: Manifest) -> list[str]:
    """By name, however many other shards there are."""
    lines = [f"- {escape(shard.uri)}: {escape(shard.error)}" for shard in manifest.source_shards if shard.error]
    return ["## Input shards that were left out", "", *lines, ""] if lines else []


def _passed_over(manifest: Manifest) -> list[str]:
    rows = passed_over_rows(manifest.passed_over)
    return ["## Files passed over", "", markdown(rows[:MOST_ROWS]), ""] if rows else []


def _eot_sides(manifest: Manifest) -> str:
    said = {"append": "appended to every document", "prepend": "put before every document", "none": "left out"}
    return ", ".join(f"{kind}: {said[side]}" for kind, side in manifest.eot_side.items())
