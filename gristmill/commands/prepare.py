"""``python flows/prepare.py`` and ``gristmill prepare``: read the command line, check the request, show the result."""

import argparse
import datetime
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from rich.table import Table

from gristmill import ledger
from gristmill.commands import Parser, failing_clearly, past_stopping, say, stopped, stopping_in_time
from gristmill.commands.explain import explain
from gristmill.commands.losses import show_losses
from gristmill.commands.planned import planned_for, show_plan
from gristmill.commands.rehearsal import show_rehearsal
from gristmill.commands.samples import windows
from gristmill.config import PrepareConfig, yaml_file
from gristmill.errors import ConfigError
from gristmill.manifest import MANIFEST, read_manifest
from gristmill.reporting.card import index_name
from gristmill.reporting.health import warnings
from gristmill.reporting.tables import passed_over_lines, published_rows
from gristmill.reporting.terminal import Terminal
from gristmill.stages.publish.budget import budget, check_space
from gristmill.stages.publish.rehearse import rehearsed
from gristmill.stages.tokens.tokenizer import check_tokenizer
from gristmill.storage import stores
from gristmill.storage.s3_reached import check_reached, variable
from gristmill.types import Manifest, Plan

DESCRIPTION = """\
Turn raw text into training shards with proof: fetch, clean, dedup, tokenize, pack, publish, recount.

Without CONFIG the documentation of this Python installation is the corpus; it needs no data and no network.
A run that was killed resumes with the same command; a run that is complete finds nothing to do.
"""

EPILOG = """\
examples:
  {prog}
  {prog} web.yaml --dry-run
  {prog} web.yaml --rehearse 1e9
  {prog} web.yaml --workers 8 --output out/web --set ordering.kind=nanogpt --set split.fraction=0.0005

exit status: 0 done, 1 the run failed, 2 the request or the input has to be changed, 3 done, but input files were left
out (on_bad_file: quarantine), 130 stopped by Ctrl-C, 143 by SIGTERM
"""

LEFT_OUT = 3
"""The exit status of a run that made its data set without some input files."""


FLOW = "python flows/prepare.py"


def parser(prog: str = FLOW) -> Parser:
    """The command line of either command."""
    found = Parser(prog=prog, description=DESCRIPTION, epilog=EPILOG.format(prog=prog))
    add_request(found)
    found.add_argument(
        "--strict", action="store_true", help="stop when folders or globs pass files over (on_skipped: fail)"
    )
    found.add_argument(
        "--dry-run", action="store_true", help="show inputs, first documents, disk budget, what is done; run nothing"
    )
    found.add_argument(
        "--explain", action="store_true", help="show each source's rules, every threshold and its origin; run nothing"
    )
    anew = found.add_mutually_exclusive_group()
    anew.add_argument(
        "--rehearse",
        type=float,
        metavar="TOKENS",
        help="sample the input for about so many tokens (1e9), make a data set of its own from them beside the real "
        "one, and say what is good and bad about it",
    )
    anew.add_argument(
        "--rebuild",
        action="store_true",
        help="make the whole data set anew beside a published one, by these rules: <dataset>-<fingerprint>",
    )
    return found


def add_request(parser: Parser) -> None:
    """The arguments that say what to make and where, read by ``configured``."""
    parser.add_argument("config", nargs="?", metavar="CONFIG", help="YAML file that says what to make")
    parser.add_argument("--output", metavar="URI", help="where the result goes (default: out/<dataset>)")
    parser.add_argument("--work", metavar="URI", help="where stages keep what they made, for resuming (default: work)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes at once (default: one a core)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a key of the configuration, dotted for nested ones; VALUE is YAML; may be repeated",
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")


class Command:
    """A checked request; ``show`` gets what the flow returns and the configuration, and gives the exit status."""

    def __init__(self, config: PrepareConfig, debug: bool, show: Callable[[Any, PrepareConfig], int]) -> None:
        self._config = config
        self.debug = debug
        self._show = show

    def run(self, flow: Callable[[PrepareConfig], Any]) -> int:
        """Call the flow, then show what it made; returns the exit status."""
        return failing_clearly(lambda: self._run(flow), debug=self.debug)

    def _run(self, flow: Callable[[PrepareConfig], Any]) -> int:
        stopping_in_time()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, stopped)  # by Prefect, when it has noted that the run was stopped
        try:
            made = flow(self._config)
        finally:
            past_stopping()  # all is made, or has failed; what is left to say takes a second or two
        return self._show(made, self._config)


def checked(arguments: list[str], prog: str = FLOW) -> Command:
    """Everything that can be checked: arguments, configuration, inputs, space, the output's owner.

    Exits with status 2 and one line when something has to be changed, with 0 after ``--help``, ``--dry-run``
    and ``--explain``.
    """
    options = parser(prog).parse_args(arguments)
    status = failing_clearly(lambda: _check(options), debug=options.debug)
    if status or options.dry_run or options.explain:
        sys.exit(status)
    return Command(_asked(options), options.debug, _show_published)


def check(arguments: list[str]) -> Command:
    """The checked request of the flow, with what must be set before Prefect is imported."""
    command = checked(arguments)
    before_prefect(command.debug)
    return command


def before_prefect(debug: bool) -> None:
    """What must be set before Prefect is imported, and what the user is told of the wait."""
    os.environ.setdefault("DO_NOT_TRACK", "1")
    # The console shows the board and, at the end, our own line; Prefect would print a failure's traceback. The run's
    # log keeps it all.
    for name in ("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "PREFECT_LOGGING_INTERNAL_LEVEL"):
        os.environ.setdefault(name, "ERROR" if debug else "CRITICAL")
    if not os.environ.get("PREFECT_API_URL"):
        print(
            "Starting Prefect's own server, about 10 s; `prefect server start` and PREFECT_API_URL save this wait.",
            file=sys.stderr,
        )


def _check(options: argparse.Namespace) -> int:
    config = _asked(options)
    if options.explain:
        say("\n".join(explain(config)))
        return 0
    for uri in (config.destination, config.execution.work):
        check_reached(uri)
    if options.config is not None and "sources" not in config.model_fields_set:
        say(f"{options.config} names no sources: the documentation of this Python is the corpus", file=sys.stderr)
    planned = planned_for(config, dry_run=options.dry_run)
    needed = budget(planned.shards, config)
    for line in [] if options.dry_run else passed_over_lines(planned.passed_over):
        say(line, file=sys.stderr)
    for remark in [remark for first in planned.first_rows for remark in first.remarks]:
        say(f"warning: {remark}", file=sys.stderr)
    if planned.removed:
        say(_gone(planned, config), file=sys.stderr)
    if options.dry_run:
        show_plan(planned, needed, config)
    config.check_rules()
    check_tokenizer(config)
    for line in check_space(needed, config):
        say(f"warning: {line}", file=sys.stderr)
    ledger.sweep(config.execution.work)
    return 0


def _gone(planned: Plan, config: PrepareConfig) -> str:
    what = "are listed as tombstones" if config.on_removed == "tombstone" else "stay (see on_removed)"
    return f"{len(planned.removed)} published input shards are gone or were replaced; their documents {what}"


def configured(options: argparse.Namespace, further: dict[str, Any] | None = None) -> PrepareConfig:
    """The configuration that the arguments ask for, and whatever ``further`` keys have a value."""
    settings = dict(_setting(text) for text in options.set)
    settings |= {key: value for key, value in (further or {}).items() if value is not None}
    if options.output is not None:
        settings["output"] = options.output
    if options.work is not None:
        settings["execution.work"] = options.work
    if options.workers is not None:
        settings["execution.workers"] = options.workers
    return yaml_file.read(options.config, settings).dated(datetime.date.today())


def _asked(options: argparse.Namespace) -> PrepareConfig:
    strict = "fail" if options.strict else None
    config = configured(options, {"rehearse.tokens": options.rehearse, "on_skipped": strict})
    config.execution.apply()  # a rehearsal lists the input
    return config.beside() if options.rebuild else rehearsed(config)


def _setting(text: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ConfigError(f"--set {text}: expected KEY=VALUE")
    return key, yaml_file.parsed(value, f"--set {text}")


def _show_published(made: dict[str, Any], config: PrepareConfig) -> int:
    manifest = read_manifest(config.destination)
    show(manifest, config)
    if config.rehearse:
        show_rehearsal(manifest, made["hours"], config)
    return LEFT_OUT if any(shard.error for shard in manifest.source_shards) else 0


def show(manifest: Manifest, config: PrepareConfig) -> None:
    """Where everything is, the published files, and three windows of what a trainer will read."""
    console = Terminal()
    rows = published_rows(manifest)
    table = Table(title=f"{manifest.dataset}: {manifest.totals['documents']:,} documents published")
    for name in ("file", "documents", "tokens", "EOS", "bytes"):
        table.add_column(name, justify="left" if name == "file" else "right")
    for row in rows:
        table.add_row(str(row["file"]), *(f"{row[name]:,}" for name in ("documents", "tokens", "EOS", "bytes")))
    console.print(table)
    show_losses(manifest, config, console)
    for warning in warnings(manifest):
        console.print(f"warning: {warning}", style="yellow")
    left_out = [shard for shard in manifest.source_shards if shard.error]
    for shard in left_out:
        console.print(f"left out: {shard.error}", style="yellow")
    for number, text in enumerate(windows(config.destination, manifest), 1):
        console.print(f"\nwindow {number}", style="bold")
        console.print(text, highlight=False)
    output = stores.at(config.destination)
    console.print(f"\ndata set  {output.uri}", highlight=False)
    console.print(f"manifest  {output.where(MANIFEST)}  (sha256 {manifest.sha256[:16]})", highlight=False)
    console.print(f"tokenizer {output.where('tokenizer')}  ({manifest.tokenizer.vocab_size:,} ids)", highlight=False)
    console.print(f"report    {output.where(index_name(len(manifest.generations)))}", highlight=False)
    reached = variable(config.execution.s3) if stores.is_remote(output.uri) else ""
    console.print(f"verify    {reached}python flows/verify.py {output.uri}", highlight=False, soft_wrap=True)
