"""Configurations as a user writes them."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.config import PrepareConfig
from gristmill.config.yaml_file import read
from gristmill.errors import ConfigError

FULL = """
dataset: web-2026
sources:
  - {name: web, kind: files, paths: ["data/**/*.jsonl.gz"], text_key: text, genre: web}
  - {name: books, kind: files, paths: [books], genre: book, cleaning: [{kind: length, min_chars: 500}]}
cleaning:
  - {kind: unicode, form: NFC}
  - {kind: length, min_chars: 200}
dedup: [{kind: exact}]
tokenizer: {kind: train, vocab_size: 1000}
split: {fraction: 0.0005}
ordering: {kind: nanogpt, seed: 2357}
formats: [{kind: nanogpt}]
output: out/web
execution: {workers: 3, work: /big/work}
"""


def written(folder: Path, text: str) -> str:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def from_text(folder: Path, text: str, **settings: Any) -> PrepareConfig:
    return read(written(folder, text), {key.replace("__", "."): value for key, value in settings.items()})


def refusal(folder: Path, text: str, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        from_text(folder, text, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message
