"""``python -m gristmill chat FILE ...``: conversations packed into rows for fine-tuning."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gristmill import plugins
from gristmill.chat.conversations import ChatReport, pack_conversations
from gristmill.chat.sft import Sft
from gristmill.commands import Parser, failing_clearly
from gristmill.errors import ConfigError
from gristmill.manifest import exists, read_manifest
from gristmill.stages.dedup.recall import published_encoder
from gristmill.storage import stores
from gristmill.storage.stores import is_remote
from gristmill.tokenizers.base import Encoder, Tokenizer

DESCRIPTION = """\
Pack conversations into rows of LENGTH + 1 ids: kept whole, padded, with a mask of what the assistant says. The input is
JSON Lines: {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}.
"""

EPILOG = """\
examples:
  python -m gristmill chat talks.jsonl --tokenizer out/web-2026 --output talks.parquet
  python -m gristmill chat talks.jsonl --tokenizer tokenizer.json --template chat.jinja --output talks.parquet
  python -m gristmill chat talks.jsonl --tokenizer out/web-2026 --format olmo --length 2047 --output talks

exit status: 0 the rows are written; 2 the request or the input has to be changed; 1 anything else
"""


def parser() -> Parser:
    """The command line."""
    found = Parser(
        prog="python -m gristmill chat",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    found.add_argument("files", metavar="FILE", nargs="+", type=Path, help="JSON Lines of conversations")
    found.add_argument(
        "--tokenizer", required=True, help="a finished data set whose tokenizer it is, or tokenizer.json"
    )
    found.add_argument("--output", required=True, type=Path, help="the parquet file to write; for olmo, a folder")
    found.add_argument("--format", default="parquet_rows", help="parquet_rows or olmo (default: parquet_rows)")
    found.add_argument("--length", type=int, default=2048, help="ids that the model sees (default: 2048)")
    found.add_argument("--template", default="chatml", help="chatml, or a file with a Jinja template (default: chatml)")
    found.add_argument("--long", default="drop", help="drop or truncate what is longer than a row (default: drop)")
    found.add_argument("--debug", action="store_true", help="show tracebacks")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(arguments)
    return failing_clearly(lambda: _pack(options), debug=options.debug)


def _pack(options: argparse.Namespace) -> int:
    packing = Sft.parse({"length": options.length, "template": _template(options.template), "long": options.long})
    with _tokenizer(options.tokenizer) as (folder, encoder):
        report = pack_conversations(options.files, folder, encoder, packing, options.output, format=options.format)
    for line in _lines(report, options.output):
        print(line)
    return 0


def _template(given: str) -> str:
    path = Path(given)
    return path.read_text(encoding="utf-8") if path.is_file() else given


@contextmanager
def _tokenizer(given: str) -> Iterator[tuple[Path, Encoder]]:
    if is_remote(given) or exists(given):
        yield stores.at(given).folder("tokenizer"), published_encoder(given, read_manifest(given))
        return
    if not Path(given).is_file():
        raise ConfigError(f"--tokenizer {given}: no such file; give tokenizer.json or a finished data set")
    tokenizer = plugins.load("tokenizers", {"kind": "huggingface", "path": given})
    assert isinstance(tokenizer, Tokenizer)
    with tempfile.TemporaryDirectory() as name:
        tokenizer.prepare([], Path(name))
        yield Path(name), tokenizer.load(Path(name))


def _lines(report: ChatReport, output: Path) -> Iterator[str]:
    account = report.account
    places_of_ids = account["placed"] + account["padding"]
    yield f"{output}: {report.packed:,} of {report.conversations:,} conversations in {account['rows']:,} rows"
    padding = account["padding"] / places_of_ids
    yield f"  {report.learned:,} ids to learn, {padding:.1%} padding, {account['cropped']:,} ids cut off"
    for reason, count in report.dropped.items():
        yield f"  {count:,} dropped: {reason}"
    yield from (f"    {sample}" for sample in report.samples)
