"""What ``python flows/train_tokenizer.py`` shows at its end."""

from typing import Any

import pytest

from gristmill.commands.train_tokenizer import show
from gristmill.config import PrepareConfig
from gristmill.stages.tokens._training import Measured, Measurements, training_report
from gristmill.types import TokenizerRecord


def report() -> dict[str, Any]:
    record = TokenizerRecord(
        kind="train", name="trained bpe 300", file="tokenizer.json", sha256="ab" * 32, vocab_size=300, eot_id=0,
        fast_path="fastokens 1",
    )  # fmt: skip
    german = Measured(documents=1, characters=90, bytes=100, tokens=50)
    english = Measured(documents=40, characters=900, bytes=900, tokens=300)
    measured = Measurements(sources={"web": german + english}, languages={"de": german, "en": english})
    return {**training_report(record, measured), "folder": "out/tokenizer", "warnings": ["mind the gap"]}


def test_sources_and_languages_have_their_bytes_per_token(capsys: pytest.CaptureFixture[str]) -> None:
    """A language that is split into letters is seen here first, the largest languages on top."""
    assert show(report(), PrepareConfig()) == 0
    lines = [" ".join(line.replace("\u2502", " ").split()) for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in lines if line.startswith(("web ", "de ", "en "))]
    assert rows == ["web 41 2.86 0.00% 0", "en 40 3.00 0.00% 0", "de 1 2.00 0.00% 0"]
    assert "warning: mind the gap" in lines
    assert any(line.startswith("tokenizer out/tokenizer ") for line in lines)
