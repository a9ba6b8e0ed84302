"""Models that score a text, loaded once a process; their packages are imported only where one is used."""

import hashlib
import importlib
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from gristmill.errors import ConfigError, alternatives

PACKAGES = {"fasttext": "fasttext-community", "kenlm": "kenlm"}
"""By backend, which is also the name of the module: what to install."""

Score = Callable[[str], float]


def package(backend: str) -> Any:
    """The module of a backend; raises ``ConfigError`` that names the package to install."""
    try:
        return importlib.import_module(backend)
    except ImportError as error:
        install = PACKAGES[backend]
        raise ConfigError(f"model_score: {backend} needs a package: pip install {install} ({error})") from None


def check_file(path: str, sha256: str) -> None:
    """Raises ``ConfigError`` where there is no such file, or another one than the digest says (empty: any)."""
    try:
        with Path(path).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest() if sha256 else ""
    except OSError as error:
        raise ConfigError(f"model_score: cannot read the model {path}: {error.strerror}") from None
    if found != sha256:
        raise ConfigError(f"model_score: {path} is not the model that was asked for: its sha256 is {found}")


@cache
def scorer(backend: str, path: str, label: str, sha256: str) -> Score:
    """The function that scores a text; raises ``ConfigError`` for a missing package, file or label."""
    module = package(backend)
    check_file(path, sha256)
    try:
        model = module.load_model(path) if backend == "fasttext" else module.Model(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"model_score: {path} is no model of {backend}: {error}") from None
    if backend == "kenlm":
        return partial(perplexity, model)
    if label not in model.labels:
        raise ConfigError(f"model_score: {path} has no label {label!r}; {alternatives(label, sorted(model.labels))}")
    return partial(probability, model, label)


def probability(model: Any, label: str, text: str) -> float:
    """fastText's probability of a label, 0 to 1. A line break ends a text for fastText: they become spaces."""
    labels, shares = model.predict(text.replace("\n", " "), k=-1)
    found = dict(zip(labels, shares, strict=True))
    return min(1.0, float(found.get(label, 0.0)))  # rounding takes it to 1.00001


def perplexity(model: Any, text: str) -> float:
    """Per word, over the lines that are not empty, each with its end counted as a word, as CCNet does (Wenzek et al.
    2020); infinite for a text without words. KenLM's scores are base 10 logarithms."""
    lines = [line for line in text.split("\n") if line.strip()]
    words = sum(len(line.split()) + 1 for line in lines)
    total = sum(model.score(line) for line in lines)
    return math.inf if words == 0 else 10 ** min(-total / words, 300)
