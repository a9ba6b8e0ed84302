"""A training that takes an hour says how far it is."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from gristmill.processes import progress
from gristmill.tokenizers._bars import trained

TEXTS = [f"{number} and {number * 7919} make {number * 104729}" for number in range(1000)]
TRAINERS = {
    "bpe": (models.BPE(), trainers.BpeTrainer(vocab_size=600), "compute merges"),
    "wordpiece": (models.WordPiece(), trainers.WordPieceTrainer(vocab_size=600), "compute merges"),
    "unigram": (models.Unigram(), trainers.UnigramTrainer(vocab_size=300), "em training"),
}


@pytest.fixture
def steps() -> list[tuple[str, int, int]]:
    seen: list[tuple[str, int, int]] = []
    progress.listen(None, None, lambda *step: seen.append(step))
    yield seen
    progress.listen(None)


@pytest.mark.parametrize(("algorithm", "term"), [("bpe", None), ("wordpiece", "dumb"), ("unigram", "xterm")])
def test_the_steps_of_every_training_are_told(
    steps: list[tuple[str, int, int]],
    algorithm: str,
    term: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The longest one goes through no document, and nothing moved for it on the terminal."""
    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    model, trainer, longest = TRAINERS[algorithm]
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    trained(lambda: made.train_from_iterator(TEXTS, trainer))
    assert made.get_vocab_size() > 100
    assert longest in {name for name, _, _ in steps}
    assert steps[-1][1] == steps[-1][2] > 0
    assert capfd.readouterr() == ("", "")


def test_other_output_goes_where_it_went(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning or a panic of the library must not vanish."""
    trained(lambda: os.write(2, b"a warning\n[00:00:01] Count pairs   1 / 2\rmore\n") and None)
    print("after")
    assert capfd.readouterr() == ("after\n", "a warning\nmore\n")


def test_a_failure_is_that_of_the_training() -> None:
    def fail() -> None:
        raise ValueError("not so")

    with pytest.raises(ValueError, match="not so"):
        trained(fail)


ENDLESS = """
import sys
from tokenizers import Tokenizer, models, trainers
from gristmill.tokenizers._bars import trained
def texts():
    print("reading", file=sys.stderr, flush=True)
    yield from (f"{number * 7919} {number * 104729}" for number in range(400_000))
made = Tokenizer(models.Unigram())
trained(lambda: made.train_from_iterator(texts(), trainers.UnigramTrainer(vocab_size=300)))
"""


def test_ctrl_c_ends_a_training() -> None:
    """The library looks at no signal: a notebook could only be killed, with all that it held."""
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    assert child.stderr.readline() == "reading\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert "KeyboardInterrupt" in child.communicate(timeout=30)[1]
    assert time.monotonic() - began < 10
    assert child.returncode
