"""``python -m gristmill explain OUTPUT DOC_ID``: what happened to a document, and why."""

import argparse

from rich.table import Table

from gristmill.commands import Parser, failing_clearly
from gristmill.reporting.terminal import Terminal
from gristmill.s3_reached import check_reached
from gristmill.trace import Trace, trace

SHOWN = 2000
"""Characters of each text."""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python -m gristmill explain",
        description="Show what every rule did to a document, and which one it repeats, with both texts side by side. "
        "The input is read again, so it must still be where it was.",
    )
    found.add_argument("output", metavar="OUTPUT", help="folder with a manifest.json")
    found.add_argument("document", metavar="DOC_ID", help="id of an input document")
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _trace(options), debug=options.debug)


def _trace(options: argparse.Namespace) -> int:
    check_reached(options.output)
    return _show(trace(options.output, options.document))


def _show(traces: list[Trace]) -> int:
    console = Terminal()
    for found in traces:
        lines = [found.id, f"of {found.source}, {found.input}: {found.fate}", *found.notes]
        _say(console, lines)
        if found.steps:
            console.print(_steps(found))
        texts = Table(show_lines=True)
        texts.add_column("this document")
        cells = [found.text[:SHOWN]]
        if found.kept_id:
            _say(console, [f"it repeats {found.kept_id}"])
            texts.add_column("kept document")
            cells.append(found.kept_text[:SHOWN])
        texts.add_row(*cells)
        console.print(texts)
    return 0


def _say(console: Terminal, lines: list[str]) -> None:
    """Whole lines as they are: ids and reasons may hold brackets, and are searched for."""
    console.print("\n".join(lines), highlight=False, soft_wrap=True)


def _steps(found: Trace) -> Table:
    steps = Table("rule", "characters", "dropped because")
    for step in found.steps:
        change = f"{step.characters_before:,}"
        if step.characters_after != step.characters_before:
            change += f" -> {step.characters_after:,}"
        steps.add_row(step.rule, change, step.reason)
    return steps
