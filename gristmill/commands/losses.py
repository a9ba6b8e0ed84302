"""What was lost and why, on the terminal."""

from rich.table import Table

from gristmill.config import PrepareConfig
from gristmill.reporting.losses import ledger_name, loss_rows
from gristmill.reporting.terminal import Terminal
from gristmill.storage import stores
from gristmill.types import Manifest

MOST_ROWS = 15


def show_losses(manifest: Manifest, config: PrepareConfig, console: Terminal) -> None:
    """The first rows, and where all are."""
    rows = loss_rows(manifest)
    if not rows:
        return
    table = Table(title="what was lost, most tokens first")
    for name in ("source", "why"):
        table.add_column(name, overflow="fold")
    for name in ("documents", "characters", "tokens, about"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows[:MOST_ROWS]:
        about = "" if row["length"] == "counted" else "about "
        numbers = f"{row['documents']:,}", f"{about}{row['characters']:,}", f"{row['tokens (estimated)']:,}"
        table.add_row(str(row["source"]), f"{row['rule'] or row['stage']}: {row['reason']}", *numbers)
    console.print(table)
    if len(rows) > MOST_ROWS:
        where = stores.at(config.destination).where(ledger_name(len(manifest.generations)))
        console.print(f"{len(rows) - MOST_ROWS:,} more rows are in {where}", soft_wrap=True)
