"""The verdict on a rehearsal, on the terminal."""

from rich.table import Table

from gristmill.config import PrepareConfig
from gristmill.reporting.terminal import Terminal
from gristmill.stages.publish.rehearse import verdicts_of
from gristmill.types import Manifest

STYLES = {"good": "green", "warning": "yellow", "bad": "red"}


def show_rehearsal(manifest: Manifest, hours: list[str], config: PrepareConfig) -> None:
    """The table, coloured where there is a terminal, and what the whole corpus will give and take. ``hours``: the line
    on time, which only a run that did something has."""
    found = verdicts_of(manifest, config)
    assert found is not None, "every rehearsal publishes its verdict"
    console = Terminal()
    table = Table(title="rehearsal")
    for name in found.rows[0]:
        table.add_column(name)
    for row in found.rows:
        table.add_row(*(str(value) for value in row.values()), style=STYLES[str(row["verdict"])])
    console.print()
    console.print(table)
    for line in [*found.projections, *hours]:
        console.print(line, highlight=False, soft_wrap=True)
