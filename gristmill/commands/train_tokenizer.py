"""``python flows/train_tokenizer.py``: check everything that can be checked, train, show what came of it."""

import sys
from typing import Any

from rich.table import Table

from gristmill import ledger
from gristmill.commands import Parser, failing_clearly, say
from gristmill.commands.prepare import Command, add_request, before_prefect, configured
from gristmill.config import PrepareConfig
from gristmill.reporting.terminal import Terminal
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import budget, check_space
from gristmill.stages.publish.publish_tokenizer import check_trained

DESCRIPTION = """\
Train a tokenizer on raw text and publish it alone: fetch, clean, dedup, train, measure.

CONFIG is a configuration as for prepare.py, with tokenizer: {kind: train, ...}; its formats, split and ordering are not
used. The work area is shared with prepare.py: what was cleaned for one is not cleaned again for the other.
"""

EPILOG = """\
examples:
  python flows/train_tokenizer.py web.yaml --output out/tokenizer-32k --set tokenizer.vocab_size=32768
  python flows/train_tokenizer.py web.yaml --set 'tokenizer.weights={web: 2, books: 1}'

The result is OUTPUT/tokenizer/, in other configurations tokenizer: {kind: huggingface, path: OUTPUT/tokenizer};
OUTPUT/report/tokenizer.json has bytes a token, unknown ids and changed documents by source and by language.

exit status: 0 done, 1 the run failed, 2 the request or the input has to be changed, 130 stopped by Ctrl-C
"""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python flows/train_tokenizer.py",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_request(found)
    return found


def check(arguments: list[str]) -> Command:
    """Everything that needs no Prefect; exits with status 2 and one line when something has to be changed."""
    options = parser().parse_args(arguments)
    status = failing_clearly(lambda: _check(configured(options)), debug=options.debug)
    if status:
        sys.exit(status)
    before_prefect(options.debug)
    return Command(configured(options), options.debug, show)


def _check(config: PrepareConfig) -> int:
    check_trained(config)
    needed = budget(plan(config).shards, config)
    config.check_rules()
    for line in check_space(needed, config):
        say(f"warning: {line}", file=sys.stderr)
    ledger.sweep(config.execution.work)
    return 0


def show(report: dict[str, Any], _: PrepareConfig) -> int:
    """What the tokenizer does, by source and by language, and where it is."""
    console = Terminal()
    title = f"{report['name']}: {report['vocab_size']:,} ids, end of text {report['eot_id']}"
    console.print(_table("source", report["sources"], title))
    console.print(_table("language", report["languages"], "sampled documents by language (ISO 639; und: not sure)"))
    for warning in report["warnings"]:
        console.print(f"warning: {warning}", style="yellow")
    console.print(f"tokenizer {report['folder']}  (sha256 {report['sha256'][:16]})", highlight=False)
    return 0


def _table(what: str, rows: dict[str, Any], title: str) -> Table:
    """The largest first."""
    table = Table(title=title)
    for name in (what, "documents", "bytes per token", "unknown", "changed"):
        table.add_column(name, justify="left" if name == what else "right")
    for name, row in sorted(rows.items(), key=lambda item: -item[1]["bytes"]):
        unknown, changed = f"{row['unknown_share']:.2%}", f"{row['changed']:,}"
        table.add_row(name, f"{row['documents']:,}", f"{row['bytes_per_token']:.2f}", unknown, changed)
    return table
