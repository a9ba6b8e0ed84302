"""The run in one page of Markdown, made from the manifest alone, so that the same data gives the same page."""

import msgspec

from gristmill.reporting.health import health
from gristmill.reporting.tables import escape, input_rows, markdown, published_rows, rule_rows, source_rows
from gristmill.types import Manifest

MOST_ROWS = 50
"""Rows shown per table; the manifest has them all."""


def summary(manifest: Manifest) -> str:
    """Markdown: totals, what was dropped and why, published files, input shards."""
    totals, record = manifest.totals, manifest.tokenizer
    lines = [
        f"# {escape(manifest.dataset)}",
        "",
        f"{totals['input_documents']:,} documents in, {totals['documents']:,} published: {totals['tokens']:,} tokens, "
        f"end-of-text not counted ({_eot_sides(manifest)}).",
        "",
        f"- tokenizer: {escape(record.name)}, {record.vocab_size:,} ids, {manifest.dtype}, sha256 `{record.sha256}`",
        f"- encoded by {escape(record.fast_path)}; {record.documents_compared:,} documents compared with the "
        f"reference, {record.documents_different} different",
        f"- configuration: `{manifest.config_fingerprint}`, gristmill {manifest.code_version}",
        "",
        "## Published files",
        "",
        markdown(published_rows(manifest)[:MOST_ROWS]),
        "",
        "## Sources",
        "",
        markdown(source_rows(manifest)),
        "",
        "## Not published",
        "",
        markdown(_losses(manifest)) if manifest.dropped or manifest.quarantined else "Every document was published.",
        "",
        "## What every rule did",
        "",
        markdown(_rules(manifest)),
        "",
        "Tokens lost are estimated from the characters removed and the tokens per character of what was kept.",
        "",
        *_left_out(manifest),
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


def _left_out(manifest: Manifest) -> list[str]:
    """By name, however many other shards there are."""
    lines = [f"- {escape(shard.uri)}: {escape(shard.error)}" for shard in manifest.source_shards if shard.error]
    return ["## Input shards that were left out", "", *lines, ""] if lines else []


def _eot_sides(manifest: Manifest) -> str:
    said = {"append": "appended to every document", "prepend": "put before every document", "none": "left out"}
    return ", ".join(f"{kind}: {said[side]}" for kind, side in manifest.eot_side.items())


def _rules(manifest: Manifest) -> list[dict[str, object]]:
    judged = [row for rule in manifest.rules for row in health(rule.source, [msgspec.structs.asdict(rule)])]
    return [
        {**row, "kept": verdict["kept"], "warning": verdict["warning"]}
        for row, verdict in zip(rule_rows(manifest), judged, strict=True)
    ]


def warnings(manifest: Manifest) -> list[str]:
    """A line for each rule that takes more than a rule of its kind should, and for ids that were not as proven."""
    judged = [row for rule in manifest.rules for row in health(rule.source, [msgspec.structs.asdict(rule)])]
    found = [f"{row['source']}: {row['rule']} {row['warning']}" for row in judged if row["warning"]]
    if manifest.tokenizer.documents_different:
        found.append(
            f"tokenizer: {manifest.tokenizer.fast_path} and the reference differ on "
            f"{manifest.tokenizer.documents_different:,} documents compared; the reference encoded their shards"
        )
    return found


def _losses(manifest: Manifest) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    read = max(1, manifest.totals["input_documents"])
    for what, reasons in (("dropped", manifest.dropped), ("quarantined", manifest.quarantined)):
        rows += [
            {"what": what, "reason": escape(reason), "documents": count, "of all read": f"{count / read:.2%}"}
            for reason, count in reasons.items()
        ]
    return rows
