"""One table of what was lost, whoever shows it."""

import json

from manifests import loss, manifest

from gristmill.reporting.card import card
from gristmill.reporting.losses import copy_rows, ledger, loss_rows
from gristmill.reporting.summary import summary
from gristmill.reporting.tables import markdown

MADE = manifest(
    losses=[
        loss(),
        loss(source="books", stage="dedup", rule="exact", reason="duplicate_exact", documents=3, tokens=900),
        loss(rule="gopher_repetition", reason="duplicate_lines", documents=5, tokens=70),
        loss(rule="c4_lines", reason="rewritten", documents=0, tokens=800),
        loss(stage="quarantine", rule="", reason="json_syntax", tokens=70, documents=2, counted=False),
    ]
)


def test_the_rule_that_took_most_tokens_is_first() -> None:
    """Sorted by name, or by documents, the table hid that one rule took most of a corpus."""
    assert [(row["rule"], row["tokens (estimated)"]) for row in loss_rows(MADE)] == [
        ("exact", 900), ("c4_lines", 800), ("gopher_repetition", 70), ("", 70), ("blank", 5),
    ]  # fmt: skip
    assert [row["length"] for row in loss_rows(MADE)] == ["counted"] * 3 + ["mean", "counted"]


def test_all_show_the_same_rows() -> None:
    assert json.loads(ledger(MADE)) == loss_rows(MADE)
    assert markdown(loss_rows(MADE)) in summary(MADE)
    assert markdown(loss_rows(MADE)) in card(MADE).decode()


def test_copies_are_told_from_what_rules_drop() -> None:
    """Gopher's reasons begin with the same word: repeated lines in one document are no copy of another document."""
    assert [row["reason"] for row in copy_rows(MADE)] == ["duplicate_exact"]
