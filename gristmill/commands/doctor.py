"""``python -m gristmill doctor URI``: what is left over in an output or a work area."""

import argparse
import sys

from gristmill.commands import Parser, failing_clearly, say
from gristmill.inspection.doctor import examine, mend
from gristmill.storage.s3_reached import check_reached

DESCRIPTION = """\
List what runs that were killed and faults of a store left behind: unfinished uploads, temporary files, files without a
receipt, receipts without their files, published files that are missing.
"""

EPILOG = """\
examples:
  python -m gristmill doctor out/web-2026
  python -m gristmill doctor s3://bucket/work --older 6 --fix

exit status: 0 nothing was found, or all of it was removed; 1 something is left; 2 the request cannot be carried out
"""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python -m gristmill doctor",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    found.add_argument("uri", metavar="URI", help="an output or a work area: a folder, or s3://bucket/prefix")
    found.add_argument("--fix", action="store_true", help="remove what no manifest and no receipt needs")
    found.add_argument(
        "--older",
        type=float,
        default=24.0,
        metavar="HOURS",
        help="pass over uploads and temporary files younger than this: a run may be at work on them (default: 24)",
    )
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _examine(options), debug=options.debug)


def _examine(options: argparse.Namespace) -> int:
    check_reached(options.uri)
    findings = examine(options.uri, options.older)
    for finding in findings:
        say(f"{finding.kind:10} {finding.uri}: {finding.remedy}")
    removed = mend(findings) if options.fix else 0
    left = len(findings) - removed
    verdict = f"{removed} removed, {left} left" if removed else f"{left} found"
    hint = "; --fix removes" if any(finding.removable for finding in findings) and not options.fix else ""
    say(f"{options.uri}: {verdict}{hint}", file=sys.stderr if left else sys.stdout)
    return 1 if left else 0
