"""``python -m gristmill inspect OUTPUT``: published documents as text."""

import argparse
from itertools import islice

from gristmill.commands import Parser, failing_clearly
from gristmill.errors import ConfigError
from gristmill.inspection.browse import Browser, Part
from gristmill.reporting.tables import SPARED, printable
from gristmill.storage.s3_reached import check_reached

DESCRIPTION = """\
Show what a trainer will read: published ids decoded as text, with the borders of documents and, of each, input file and
id. Published files hold no ids of documents: each is found by its text in the input file, where that is still there.
Documents and windows are numbered from 0, over all files of a split in the order of the manifest. Without an option:
what there is, and the first document.
"""

EPILOG = """\
examples:
  python -m gristmill inspect out/web-2026
  python -m gristmill inspect out/web-2026 --doc 41
  python -m gristmill inspect out/web-2026 --window 7 --length 2048 --split val
  python -m gristmill inspect s3://bucket/web-2026 --search "in other words" --most 3

exit status: 0 something was shown, 1 nothing was found, 2 the request cannot be carried out
"""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python -m gristmill inspect",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    found.add_argument("output", metavar="OUTPUT", help="a finished data set: a folder, or s3://bucket/prefix")
    what = found.add_mutually_exclusive_group()
    what.add_argument("--doc", type=int, metavar="N", help="show document N")
    what.add_argument("--window", type=int, metavar="N", help="show the ids N * LENGTH to (N + 1) * LENGTH - 1")
    what.add_argument("--search", metavar="TEXT", help="show documents that contain TEXT; decodes one after another")
    found.add_argument("--length", type=int, default=512, metavar="IDS", help="ids in a window (default: 512)")
    found.add_argument("--most", type=int, default=5, metavar="N", help="stop a search after N documents (default: 5)")
    found.add_argument("--split", metavar="NAME", help="split to look at (default: the first in the manifest)")
    found.add_argument("--format", metavar="KIND", help="format to look at (default: the first in the manifest)")
    found.add_argument("--characters", type=int, metavar="N", help="show at most N characters of a text (default: all)")
    found.add_argument(
        "--ids", action="store_true", help="look up ids in remote input as well: it is downloaded for that"
    )
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _inspect(options), debug=options.debug)


def _inspect(options: argparse.Namespace) -> int:
    for name in ("most", "characters"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} {value}: expected 1 or more")
    if options.search == "":
        raise ConfigError("--search: expected some text")
    check_reached(options.output)
    browser = Browser(options.output, split=options.split, format=options.format)
    if options.doc is not None:
        return _show(browser, [browser.document(options.doc)], options)
    if options.window is not None:
        return _show(browser, browser.window(options.window, options.length), options)
    if options.search is not None:
        return _search(browser, options)
    _overview(browser, options.length)
    return _show(browser, [browser.document(0)] if browser.documents else [], options)


def _search(browser: Browser, options: argparse.Namespace) -> int:
    found = 0
    for part in islice(browser.search(options.search), options.most):
        found += 1
        _show(browser, [part], options)
    if not found:
        print(f"{options.search!r}: in none of the {browser.documents:,} documents of split {browser.split}")
    return 0 if found else 1


def _overview(browser: Browser, length: int) -> None:
    manifest = browser.manifest
    print(f"{manifest.dataset}, generation {len(manifest.generations)}")
    table: dict[tuple[str, str], list[int]] = {}
    for file in manifest.files:
        row = table.setdefault((file.format, file.split), [0, 0, 0])
        for place, count in enumerate((1, file.documents, file.tokens)):
            row[place] += count
    for (format, split), (files, documents, ids) in table.items():
        windows = f"{-(-ids // length):,} windows of {length}"
        print(f"  --format {format} --split {split}: {files:,} files, {documents:,} documents, {ids:,} ids, {windows}")
    print()


def _show(browser: Browser, parts: list[Part], options: argparse.Namespace) -> int:
    most: int | None = options.characters
    for part, name in zip(parts, browser.names(parts, remote=options.ids), strict=True):
        print(_border(part, name))
        text = printable(part.text, SPARED)
        hidden = 0 if most is None else max(0, len(text) - most)
        print(text[:most])
        if hidden:
            print(f"({hidden:,} more characters)")
    return 0 if parts else 1


def _border(part: Part, name: str) -> str:
    """What stands above a text; a part that is not whole says so. ``name``: the id of the document."""
    whole = f"{part.ids:,} ids" if part.ids == part.length else f"{part.ids:,} of {part.length:,} ids"
    origin = printable(f"{part.source}, {part.input}, id {name or 'unknown'}")
    return f"---- document {part.document}: {whole} from {part.file}[{part.start}], of {origin} ----"
