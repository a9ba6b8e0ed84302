import hashlib
import math
import sys
from pathlib import Path
from types import ModuleType

import fasttext
import pytest
from texts import documents

from gristmill.cleaning._models import perplexity
from gristmill.cleaning.model_score import ModelScore
from gristmill.errors import ConfigError

GOOD, BAD = "the clear river runs past old houses", "buy cheap pills now click here"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A fastText classifier that tells rivers from pills, trained in a tenth of a second."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "train.txt").write_text(f"__label__good {GOOD}\n__label__bad {BAD}\n" * 200)
    trained = fasttext.train_supervised(str(folder / "train.txt"), dim=5, epoch=5, thread=1, verbose=0)
    trained.save_model(str(folder / "model.bin"))
    return str(folder / "model.bin")


def reasons(rule: ModelScore, *texts: str) -> list[str | None]:
    return rule.reasons(documents(texts)).to_pylist()


def rule(path: str, label: str = "__label__good", **bounds: float | str) -> ModelScore:
    return ModelScore.parse({"backend": "fasttext", "path": path, "label": label, **bounds})


def test_documents_are_kept_by_the_probability_of_the_label(model: str) -> None:
    """The first label of the answer is another one for every document: its probability is not the label's."""
    assert reasons(rule(model, min=0.5), GOOD, BAD) == [None, "score_too_low"]
    assert reasons(rule(model, max=0.5), GOOD, BAD) == ["score_too_high", None]
    assert reasons(rule(model, label="__label__bad", min=0.5), GOOD, BAD) == ["score_too_low", None]
    assert reasons(rule(model, min=0, max=1), GOOD, BAD, "") == [None] * 3


def test_a_text_of_several_lines_is_scored_as_a_whole(model: str) -> None:
    """fastText refuses line breaks; what it is given must not end at the first one."""
    assert reasons(rule(model, min=0.9), GOOD.replace(" ", "\n")) == [None]
    assert reasons(rule(model, min=0.9), f"the\n{BAD}") == ["score_too_low"]


def test_a_wrong_file_or_label_is_named(model: str, tmp_path: Path) -> None:
    (tmp_path / "text.bin").write_text("no model")
    with pytest.raises(ConfigError, match=r"text\.bin is no model of fasttext"):
        reasons(rule(str(tmp_path / "text.bin"), min=0.5), GOOD)
    with pytest.raises(ConfigError, match="no label '__label__hq'; there are: __label__bad, __label__good"):
        reasons(rule(model, label="__label__hq", min=0.5), GOOD)
    for action in (rule("gone.bin", min=0.5).check, lambda: reasons(rule("gone.bin", min=0.5), GOOD)):
        with pytest.raises(ConfigError, match=r"cannot read the model gone\.bin: No such file"):
            action()


def test_another_model_does_not_pass_for_the_one_that_was_asked_for(model: str) -> None:
    """A model replaced under the same name would score half of the shards."""
    digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    rule(model, min=0.5, sha256=digest).check()
    assert reasons(rule(model, min=0.5, sha256=digest), GOOD) == [None]
    with pytest.raises(ConfigError, match=f"its sha256 is {digest}"):
        rule(model, min=0.5, sha256="0" * 64).check()


@pytest.mark.parametrize(("backend", "package"), [("fasttext", "fasttext-community"), ("kenlm", "kenlm")])
def test_a_missing_package_is_named(model: str, monkeypatch: pytest.MonkeyPatch, backend: str, package: str) -> None:
    """An ImportError in the middle of a run does not say what to do."""
    monkeypatch.setitem(sys.modules, backend, None)
    label = {"label": "x"} if backend == "fasttext" else {}
    with pytest.raises(ConfigError, match=f"pip install {package}"):
        ModelScore.parse({"backend": backend, "path": model, "max": 1, **label}).check()


class Lm:
    """Stands in for ``kenlm.Model``, which has no wheel: each word costs 2 decades, the end of a sentence 1."""

    def __init__(self, path: str) -> None:
        assert Path(path).exists()

    def score(self, sentence: str) -> float:
        assert "\n" not in sentence
        return -2.0 * len(sentence.split()) - 1.0


def test_perplexity_is_per_word_over_all_lines(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the ends in the count, or by the last line alone, bounds from the literature would not hold."""
    assert perplexity(Lm(model), "a b c\n\n  \nd") == pytest.approx(10 ** (10 / 6))
    assert perplexity(Lm(model), " \n") == math.inf
    kenlm = ModuleType("kenlm")
    kenlm.Model = Lm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kenlm", kenlm)
    found = ModelScore(backend="kenlm", path=model, max=40)
    found.check()
    assert reasons(found, "a", "a b c d e f g", "") == [None, "score_too_high", "score_too_high"]


@pytest.mark.parametrize(
    "settings",
    [
        {"backend": "fasttext", "min": 0.5},
        {"backend": "kenlm", "label": "x", "max": 5},
        {"backend": "kenlm"},
        {"backend": "kenlm", "min": 2, "max": 1},
        {"backend": "word2vec", "min": 1},
        {"backend": "kenlm", "max": 5, "sha256": "abc"},
    ],
)
def test_settings_that_make_no_score_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="model_score"):
        ModelScore.parse({"path": "m", **settings})
