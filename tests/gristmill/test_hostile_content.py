"""Text from data stays text wherever a run shows it: on the terminal, in the report, on the server's pages."""

import json
import re
from pathlib import Path

import pytest

from gristmill import pipeline
from gristmill.commands import failing_clearly, inspect, prepare, trace
from gristmill.commands.explain import explain
from gristmill.commands.planned import show_plan
from gristmill.config import PrepareConfig, parse
from gristmill.errors import InputError
from gristmill.reporting.board import Board
from gristmill.reporting.health import warnings
from gristmill.reporting.tables import escape, escaped, input_rows, passed_over_rows, printable, source_rows
from gristmill.reporting.terminal import Terminal
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import budget

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HOSTILE = {
    "markup": "[/b]",
    "styles": "[red]x[/red][link=http://x]y[/link]",
    "unclosed": "[bold",
    "escapes": "\x1b[2J\x1b[31mred\x1b]0;title\x07",
    "carriage": "good\rbad\x08\x7f\x9b31m",
    "bidi": "abc\u202etxt.exe\u2066",
    "emoji": ":smile: :warning:",
    "html": "<script>alert(1)<img src=x onerror=alert(2)>",
    "markdown": "![x](http:x) | `code` | # head",
    "long": "n" * 200,
}


def request(folder: Path, text: str) -> PrepareConfig:
    """Of documents in which every name and text from outside has ``text`` in it."""
    source = folder / "in" / text.replace("/", "\\")
    source.mkdir(parents=True)
    rows = [{"id": f"{text}{n}", "text": f"{text} document {n}"} for n in (1, 2, 2)] + [{"id": text, "text": None}]
    (source / f"{text[:150].replace('/', '_')}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (source / f"{text[:150].replace('/', '_')}.csv").touch()
    return parse(
        {
            "dataset": "hostile",
            "sources": [{"kind": "files", "name": text, "paths": [str(folder / "in")], "id_key": "id"}],
            "dedup": [{"kind": "exact"}],
            "tokenizer": {"kind": "bytes"},
            "split": {"kind": "none"},
            "max_quarantined_share": 1,
            "output": str(folder / "out"),
            "execution": {"work": str(folder / "work"), "workers": 1},
        }
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_plain_text_everywhere(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A source named ``[/b]`` ended the command with a traceback; an escape sequence in a file name cleared the
    screen."""
    text = HOSTILE[name]
    config = request(tmp_path, text)
    planned = plan(config)
    show_plan(planned, budget(planned.shards, config), config)
    manifest = pipeline.prepare(config)
    assert manifest.totals["documents"] == 2
    prepare.show(manifest, config)
    prepare.say("\n".join(explain(config)))
    assert trace.main([config.destination, f"{text}2"]) == 0
    assert inspect.main([config.destination, "--doc", "0"]) == 0
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert not CONTROL.search(printed.out + printed.err)
    if text.isprintable() and len(text) < 30:
        assert text in printed.out, "shown as it is written"
    pages = [(tmp_path / "out" / page).read_text() for page in ("report/index.html", "report/summary.md", "README.md")]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert not CONTROL.search(page)
    rows = [*input_rows(manifest), *source_rows(manifest), *passed_over_rows(manifest.passed_over)]
    for cell in [*(str(cell) for row in escaped(rows) for cell in row.values()), *map(escape, warnings(manifest))]:
        assert not re.search(r"[<>`|\[\]*]", cell)
        assert not CONTROL.search(cell)


@pytest.mark.parametrize("name", HOSTILE)
def test_an_error_is_plain_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Errors name files, and files may be named by anybody."""

    def fail() -> int:
        raise InputError(f"{HOSTILE[name]}: not a regular file")

    assert failing_clearly(fail, debug=False) == 2
    assert not CONTROL.search(capsys.readouterr().err)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_table_on_a_terminal_is_plain_text(name: str) -> None:
    """Cells of the progress display, and lines."""
    board = Board()
    board.begin(HOSTILE[name], 3)
    console = Terminal(width=400)
    with console.capture() as captured:
        console.print(board._table())
        console.print(HOSTILE[name])
    assert not CONTROL.search(captured.get())
    assert captured.get().count(printable(HOSTILE[name])) == 2


def test_a_damaged_output_is_named_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder where a file was gave a traceback of twenty lines."""
    config = request(tmp_path, "plain")
    pipeline.prepare(config)
    path = tmp_path / "out" / "nanogpt" / "train.bin"
    path.unlink()
    path.mkdir()
    assert inspect.main([config.destination]) == 2
    remedy = "a file is where a folder belongs, or the reverse: move it away"
    assert capsys.readouterr().err == f"error: {path}: is a directory; {remedy}\n"
