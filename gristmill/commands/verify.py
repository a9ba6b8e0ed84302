"""``python flows/verify.py``: prove that published bytes are what was recorded, or name what is not."""

import argparse
import sys

from gristmill.commands import Parser, failing_clearly, say
from gristmill.config import yaml_file
from gristmill.errors import ConfigError
from gristmill.inspection import against, copies
from gristmill.inspection.verify import Verified, verify, verify_bin
from gristmill.storage.s3_reached import check_reached

DESCRIPTION = """\
Check every file of a data set against its manifest: size, sha256, ids in range, end-of-text count = documents,
document starts. Needs nothing but the folder; no Prefect server is started.
"""

EPILOG = """\
examples:
  python flows/verify.py out/web-2026
  python flows/verify.py out/web-2026 --against web.yaml
  python flows/verify.py out/web-2026 --copies
  python flows/verify.py --bin train.bin --vocab-size 50257 --eot 50256

exit status: 0 all is as recorded, 1 something differs (named on stderr), 2 the request cannot be carried out
"""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python flows/verify.py",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    found.add_argument("output", nargs="?", metavar="OUTPUT", help="folder with a manifest.json")
    found.add_argument(
        "--against",
        metavar="CONFIG",
        help="also read the input again and compare every id with the reference tokenizer (uses the temporary folder)",
    )
    found.add_argument(
        "--copies",
        action="store_true",
        help="also decode all documents and look for copies among them (uses the temporary folder)",
    )
    found.add_argument("--bin", metavar="FILE", help="check a bare file of ids instead")
    found.add_argument("--vocab-size", type=int, metavar="N", help="with --bin: ids must be below N")
    found.add_argument("--eot", type=int, metavar="ID", help="with --bin: the end-of-text id to count")
    found.add_argument("--dtype", default="uint16", choices=["uint16", "uint32"], help="with --bin (default: uint16)")
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _verify(options), debug=options.debug)


def _verify(options: argparse.Namespace) -> int:
    if (options.output is None) == (options.bin is None):
        raise ConfigError("give either OUTPUT or --bin FILE")
    if options.bin is not None:
        if options.vocab_size is None:
            raise ConfigError("--bin needs --vocab-size N to know which ids are valid")
        found = verify_bin(options.bin, vocab_size=options.vocab_size, eot_id=options.eot, dtype=options.dtype)
        return _show(found, options.bin, [])
    check_reached(options.output)
    found = verify(options.output)
    differences = []
    if options.against is not None and not found.problems:
        differences = against.compare(options.output, yaml_file.read(options.against, {}))
    if options.copies and not found.problems:
        differences += copies.look(options.output)
    return _show(found, options.output, differences)


def _show(found: Verified, place: str, differences: list[str]) -> int:
    problems = [*found.problems, *differences]
    for problem in problems:
        say(f"error: {problem}", file=sys.stderr)
    verdict = f"{len(problems)} problems" if problems else "all as recorded"
    counts = f"{found.files} files, {found.documents:,} documents, {found.tokens:,} ids, {found.bytes:,} bytes"
    say(f"{place}: {counts}: {verdict}")
    return 1 if problems else 0
