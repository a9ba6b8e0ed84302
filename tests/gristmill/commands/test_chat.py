"""``python -m gristmill chat``: what is asked for is done, what is wrong is named."""

import json
from pathlib import Path

import pytest
from corpora import byte_tokenizer, request, write_documents

from gristmill import pipeline
from gristmill.commands.chat import main
from gristmill.readers.rows import Rows

TALK = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("talks.jsonl").write_text(2 * (json.dumps(TALK) + "\n"))
    byte_tokenizer(tmp_path / "tokenizer.json")
    return tmp_path


@pytest.mark.usefixtures("talks")
def test_conversations_become_rows(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["talks.jsonl", "--tokenizer", "tokenizer.json", "--length", "200", "--output", "t.parquet"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("t.parquet: 2 of 2 conversations in 1 rows\n")
    assert Rows("t.parquet").length == 200


def test_the_tokenizer_of_a_data_set(talks: Path) -> None:
    """Fine-tuning with another tokenizer than the model's teaches it noise."""
    write_documents(talks / "in" / "a.jsonl", ["text"])
    config = request(talks)
    pipeline.prepare(config)
    Path("own.jinja").write_text("{% generation %}{{ messages[1].content }}{% endgeneration %}")
    options = ["--template", "own.jinja", "--length", "9", "--output", "t.parquet"]
    assert main(["talks.jsonl", "--tokenizer", config.destination, *options]) == 0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (["--tokenizer", "gone.json"], "gone.json: no such file; give tokenizer.json or"),
        (["--template", "llama9"], "choose one of: chatml"),
        (["--long", "keep"], "'drop' or 'truncate'"),
    ],
)
@pytest.mark.usefixtures("talks")
def test_what_is_wrong_is_named(changed: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["talks.jsonl", "--tokenizer", "tokenizer.json", "--output", "t.parquet", *changed]) == 2
    assert reason in capsys.readouterr().err
    assert not Path("t.parquet").exists()
