"""The command that shows published documents."""

from pathlib import Path

import pytest
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.commands.inspect import main

ESCAPES = "\x1b[31mred\x1b[0m \u202eevil \x07bell"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("inspect")
    write_documents(
        folder / "in" / "a.jsonl", ["first text", "second text\nof two lines", f"third {ESCAPES}", "x" * 900]
    )
    config = request(folder)
    pipeline.prepare(config)
    return config.destination


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def test_without_an_option_it_says_what_there_is(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, output)
    assert lines[0] == "test, generation 1"
    assert lines[1].startswith("  --format nanogpt --split train: 1 files, 4 documents, ")
    assert lines[-1] == "first text"


def test_a_document_stands_below_its_border(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    border, *text = shown(capsys, output, "--doc", "1")
    origin = Path(output).parent / "in" / "a.jsonl"
    assert border == f"---- document 1: 24 ids from nanogpt/train.bin[11], of web, {origin}, id a.jsonl:2 ----"
    assert text == ["second text", "of two lines"]


def test_a_window_shows_the_borders_in_it(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, output, "--window", "1", "--length", "9")
    assert lines[0].startswith("---- document 0: 1 of 10 ids")
    assert lines[1] == "t"
    assert lines[2].startswith("---- document 1: 7 of 24 ids")
    assert lines[3] == "second "


def test_every_view_has_the_ids_of_documents(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``explain`` asks for an id, and whoever looked at published text had none to give."""
    views = [[], ["--doc", "3"], ["--window", "0", "--length", "40"], ["--search", "of two"]]
    borders = [[line for line in shown(capsys, output, *view) if ", id " in line] for view in views]
    ids = [[line.split(", id ")[1].split()[0] for line in lines] for lines in borders]
    assert ids == [["a.jsonl:1"], ["a.jsonl:4"], ["a.jsonl:1", "a.jsonl:2", "a.jsonl:3"], ["a.jsonl:2"]]


def test_a_search_stops_where_it_was_told(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, output, "--search", "text", "--most", "1")
    assert lines[1:] == ["first text"]
    assert main([output, "--search", "absent"]) == 1
    assert "'absent': in none of the 4 documents" in capsys.readouterr().out


def test_documents_do_not_write_to_the_terminal(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Web text holds escape sequences: one of them can retitle, recolour or clear the terminal of whoever looks."""
    (text,) = shown(capsys, output, "--doc", "2")[1:]
    assert text == "third ?[31mred?[0m ?evil ?bell"


def test_a_long_text_is_cut_where_asked(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, output, "--doc", "3", "--characters", "5")[1:] == ["xxxxx", "(895 more characters)"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--doc", "4"], "has the documents 0 to 3"),
        (["--split", "val"], "there are: train"),
        (["--search", ""], "expected some text"),
        (["--search", "a", "--most", "0"], "expected 1 or more"),
        (["--window", "0", "--length", "0"], "at least one id"),
    ],
)
def test_a_request_that_cannot_be_met(
    output: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([output, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "give the folder of a finished data set" in capsys.readouterr().err
