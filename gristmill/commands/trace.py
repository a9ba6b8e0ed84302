"""``python -m gristmill explain OUTPUT DOC_ID``: what happened to a document, and why."""

import argparse

from rich.table import Table

from gristmill.commands import Parser, failing_clearly
from gristmill.commands.word_diff import word_diff
from gristmill.inspection.explain import Trace, trace
from gristmill.reporting.terminal import Terminal
from gristmill.storage.s3_reached import check_reached

CHARACTERS, LINES = 1000, 12
"""Of a text, or of the changes in one."""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python -m gristmill explain",
        description="Show what every rule did to a document, what was measured of one that went, and which one it "
        "repeats, with the words that differ. The input is read again, so it must still be where it was.",
    )
    found.add_argument("output", metavar="OUTPUT", help="folder with a manifest.json")
    found.add_argument("document", metavar="DOC_ID", help="id of an input document")
    found.add_argument("--all", action="store_true", help="whole texts, and what every filter measured")
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _trace(options), debug=options.debug)


def _trace(options: argparse.Namespace) -> int:
    check_reached(options.output)
    for found in trace(options.output, options.document):
        _show(found, every=options.all)
    return 0


def _show(found: Trace, *, every: bool) -> None:
    console = Terminal()
    _say(console, [found.id, f"of {found.source}, {found.input}: {found.fate}", *found.notes])
    if found.steps:
        console.print(_steps(found, every=every))
    if not found.kept_id:
        _say(console, [_head(found.text, every=every)])
        return
    _say(console, [f"it repeats {found.kept_id}", *([found.likeness] if found.likeness else [])])
    if found.fate.startswith("contaminated"):
        _say(console, ["", _head(found.kept_text, every=every), "", "this document", _head(found.text, every=every)])
        return
    changes = (
        word_diff(found.kept_text, found.text) if found.kept_text else "the kept document is not to be had any more"
    )
    _say(
        console,
        ["", "kept document -> this document, [-gone-] {+new+}", _head(changes, every=every) or "the same text"],
    )
    if every:
        texts = Table("kept document", "this document", show_lines=True)
        texts.add_row(found.kept_text, found.text)
        console.print(texts)


def _head(text: str, *, every: bool) -> str:
    """What fits on a screen beside the rest, unless all is asked for."""
    head = "\n".join(text[:CHARACTERS].split("\n")[:LINES])
    return text if every or len(head) == len(text) else f"{head} ... ({len(text) - len(head):,} more characters: --all)"


def _say(console: Terminal, lines: list[str]) -> None:
    """Whole lines as they are: ids and reasons may hold brackets, and are searched for."""
    console.print("\n".join(lines), highlight=False, soft_wrap=True)


def _steps(found: Trace, *, every: bool) -> Table:
    """A row a rule: of filters that keep the document, what they measured is shown where all is asked for."""
    steps = Table("rule", "characters", "dropped because", "measured")
    for step in found.steps:
        change = f"{step.characters_before:,}"
        if step.characters_after != step.characters_before:
            change += f" -> {step.characters_after:,}"
        shown = step.measured if every else {step.reason: step.measured.get(step.reason, "")}
        measured = [f"{reason}: {figure}" if every else figure for reason, figure in shown.items()]
        steps.add_row(step.rule, change, step.reason, "\n".join(measured))
    return steps
