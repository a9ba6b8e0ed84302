"""A tokenizer by itself: the flow, its command, and what a later configuration finds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from corpora import request, small_corpus, tree, write_documents

from flows.train_tokenizer import train_tokenizer
from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def asked(folder: Path, name: str, **tokenizer: Any) -> PrepareConfig:
    for number in range(2):
        texts = [text[:2000] for text in small_corpus(60)[number * 30 : number * 30 + 30]]
        write_documents(folder / "in" / f"{number}.jsonl.gz", [*texts, "the same in both"])
    place = {"output": str(folder / name / "out"), "execution": {"work": str(folder / name / "work"), "workers": 2}}
    settings = {"kind": "train", "vocab_size": 500, "special_tokens": ["<pad>"], **tokenizer}
    return request(folder, tokenizer=settings, dedup=[{"kind": "exact"}], **place)


def test_the_flow_publishes_the_tokenizer_of_the_library(tmp_path: Path) -> None:
    """And nothing else: a folder that looked like a data set would be taken for one."""
    config = asked(tmp_path, "flow")
    report = train_tokenizer(config)
    wanted = pipeline.train_tokenizer(asked(tmp_path, "serial"))
    assert report == {**wanted, "folder": str(tmp_path / "flow" / "out" / "tokenizer")}
    found = tree(tmp_path / "flow" / "out")
    assert found == tree(tmp_path / "serial" / "out")
    assert found.keys() == {"tokenizer/tokenizer.json", "tokenizer/gristmill.json", "report/tokenizer.json"}
    assert report["vocab_size"] == 500
    assert report["sources"]["web"]["documents"] == 61
    assert report["sources"]["web"]["changed"] == report["sources"]["web"]["unknown"] == 0

    assert train_tokenizer(config) == report
    with pytest.raises(ConfigError, match="exists with other bytes; choose another --output"):
        pipeline.train_tokenizer(asked(tmp_path, "flow", vocab_size=400))


def test_another_configuration_can_name_it(tmp_path: Path) -> None:
    report = pipeline.train_tokenizer(asked(tmp_path, "serial"))
    tokenizer = {"kind": "huggingface", "path": report["folder"]}
    manifest = pipeline.prepare(request(tmp_path, tokenizer=tokenizer, output=str(tmp_path / "data")))
    assert manifest.tokenizer.sha256 == report["sha256"]
    assert (manifest.tokenizer.vocab_size, manifest.tokenizer.eot_id) == (500, 0)


def test_the_data_set_of_the_same_configuration_has_the_same_tokenizer(tmp_path: Path) -> None:
    """Trained once, for both, from the same work area."""
    report = pipeline.train_tokenizer(asked(tmp_path, "serial"))
    config = asked(tmp_path, "serial").model_copy(update={"output": str(tmp_path / "data")})
    assert pipeline.prepare(config).tokenizer.sha256 == report["sha256"]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "flows" / "train_tokenizer.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def test_help_says_what_comes_out() -> None:
    done = command("--help")
    assert done.returncode == 0
    for part in ("usage: python flows/train_tokenizer.py", "OUTPUT/tokenizer/", "exit status: 0 done", "--workers N"):
        assert part in done.stdout


def test_a_tokenizer_that_is_not_trained_is_refused_before_anything_starts(tmp_path: Path) -> None:
    config = request(tmp_path)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    done = command(str(tmp_path / "config.yaml"))
    assert done.returncode == 2
    assert done.stderr == "error: tokenizer: kind huggingface is not made from documents; give kind: train\n"
    with pytest.raises(ConfigError, match=r"tokenizer\.weights"):
        pipeline.train_tokenizer(asked(tmp_path, "x", weights={"other": 1}))


def test_the_report_is_json_for_a_script(tmp_path: Path) -> None:
    pipeline.train_tokenizer(asked(tmp_path, "serial", algorithm="wordpiece", vocab_size=2000))
    found = json.loads((tmp_path / "serial" / "out" / "report" / "tokenizer.json").read_text())
    assert found["name"] == "trained wordpiece 2000"
    assert 0 <= found["sources"]["web"]["unknown_share"] < 0.01
