"""What was lost and why: one table, the same in the terminal, the report, the artifacts and ``report/ledger.json``."""

import msgspec

from gristmill.reporting.tables import Row
from gristmill.types import Loss, Manifest, file_name

EXPLAINED = (
    "Most tokens first. Tokens are estimated: characters times the tokens per character that were measured of the same "
    "source. Reason rewritten: what a rule took out of documents that stay. Length mean: the text was never read, so "
    "the mean length of the source's documents stands for it."
)

REWRITTEN = "rewritten"
"""Reason of characters that a rule took out of documents that stay."""


def loss_rows(manifest: Manifest) -> list[Row]:
    """One row a source, rule and reason, most tokens first."""
    read = max(1, manifest.totals["input_documents"])
    return [
        {
            "source": loss.source,
            "stage": loss.stage,
            "rule": loss.rule,
            "reason": loss.reason,
            "documents": loss.documents,
            "tokens (estimated)": loss.tokens,
            "characters": loss.characters,
            "of all read": f"{loss.documents / read:.2%}",
            "length": "counted" if loss.counted else "mean",
        }
        for loss in sorted(manifest.losses, key=_rank)
    ]


def _rank(loss: Loss) -> tuple[int, int, str, str, str, str]:
    return -loss.tokens, -loss.documents, loss.source, loss.stage, loss.rule, loss.reason


def reasons(rows: list[Row]) -> list[Row]:
    """The rows for a chart: why, in a few words, and the tokens."""
    return [
        {
            "why": f"{row['source']}: {row['rule'] if row['reason'] == REWRITTEN else row['reason']}",
            "tokens": row["tokens (estimated)"],
        }
        for row in rows
    ]


def copy_rows(manifest: Manifest) -> list[Row]:
    """The rows about whole documents that dedup dropped as copies."""
    return [
        row for row in loss_rows(manifest) if row["stage"] == "dedup" and str(row["reason"]).startswith("duplicate_")
    ]


def ledger_name(generation: int) -> str:
    """Where the rows are published."""
    return file_name("report/ledger.json", generation)


def ledger(manifest: Manifest) -> bytes:
    """The rows as JSON."""
    return msgspec.json.format(msgspec.json.encode(loss_rows(manifest)), indent=1) + b"\n"
