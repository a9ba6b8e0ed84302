"""``--rehearse``: what it asks for, what it leaves alone, what it shows."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from corpora import byte_tokenizer, small_corpus, write_documents

from gristmill import pipeline
from gristmill.commands.prepare import check as command
from gristmill.commands.prepare import configured, parser
from gristmill.commands.rehearsal import show_rehearsal
from gristmill.config import PrepareConfig
from gristmill.stages.publish.rehearse import rehearsed


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A configuration in ``config.yaml``; relative paths are below ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
    write_documents(tmp_path / "in" / "a.jsonl", [text[:500] for text in small_corpus(100)])
    byte_tokenizer(tmp_path / "tokenizer.json")
    found = {
        "dataset": "test",
        "sources": [{"kind": "files", "name": "web", "paths": ["in"]}],
        "tokenizer": {"kind": "huggingface", "path": "tokenizer.json"},
        "split": {"fraction": 0.2},
        "execution": {"work": "work"},
    }
    Path("config.yaml").write_text(yaml.safe_dump(found))
    return found


def ended(*options: str) -> object:
    """The status of a command that ends before Prefect is needed."""
    with pytest.raises(SystemExit) as stopped:
        command(["config.yaml", *options])
    return stopped.value.code


@pytest.mark.usefixtures("config")
def test_a_dry_run_speaks_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    """Who looks before a rehearsal must see its budget and its place, not those of the real run."""
    assert ended("--dry-run", "--rehearse", "2e3") == 0
    shown = capsys.readouterr().out
    assert "out/test-rehearsal-" in shown
    assert "8.0 kB" in shown or "0.008 MB" in shown
    assert not Path("out").exists()


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("options", [["--rehearse", "0"], ["--rehearse", "-5"]])
def test_no_tokens_is_no_rehearsal(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A rate of nothing would publish nothing and call it good."""
    assert ended(*options) == 2
    assert "rehearse.tokens" in capsys.readouterr().err


@pytest.mark.usefixtures("config")
def test_a_rehearsal_rebuilds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Two ways to another data set at once: which of them was meant cannot be known."""
    assert ended("--rehearse", "10", "--rebuild") == 2
    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.usefixtures("config")
def test_the_terminal_shows_every_figure_and_projection(capsys: pytest.CaptureFixture[str]) -> None:
    """What is in the file alone is not seen."""
    asked = rehearsed(configured(parser().parse_args(["config.yaml", "--set", "rehearse.tokens=1e4"])))
    manifest = pipeline.prepare(asked)
    show_rehearsal(manifest, ["hours: so many"], asked)
    shown = capsys.readouterr().out
    for part in ("dedup retention", "validation", "bytes per", "tokens: ", "output: ", "work area: ", "hours: so many"):
        assert part in shown
    assert Path(asked.destination).is_dir()
    assert [place.name for place in Path("out").iterdir()] == [Path(asked.destination).name]


def test_a_configuration_may_ask_for_it_itself(config: dict[str, Any]) -> None:
    """The form of a server has no command line."""
    form = PrepareConfig.model_json_schema()["properties"]["rehearse"]
    assert form["title"] == "Rehearsal"
    Path("config.yaml").write_text(yaml.safe_dump(config | {"rehearse": {"tokens": "1e3"}}))
    asked = configured(parser().parse_args(["config.yaml"]))
    assert "-rehearsal-" in rehearsed(asked).dataset
