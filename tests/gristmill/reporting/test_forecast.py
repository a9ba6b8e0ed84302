"""The bounds of the forecast of tokens hold on corpora of many forms."""

from collections import Counter

import numpy as np
import pytest

from gristmill.reporting.forecast import Sampled, tokens_of

CHANCE = np.random.default_rng(3)
SAMPLES = 60


def sizes(mean: float, spread: float, count: int) -> np.ndarray:
    """Tokens of documents: most short, some very long, as in text."""
    return np.maximum(1, CHANCE.lognormal(np.log(mean), spread, count)).astype(np.int64)


def corpus(*parts: tuple[np.ndarray, int]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and content of each document, for documents that are there so many times."""
    tokens = np.concatenate([np.repeat(part, times) for part, times in parts])
    firsts = np.cumsum([0, *(len(part) for part, _ in parts)])
    content = [
        np.repeat(np.arange(len(part)) + first, times) for (part, times), first in zip(parts, firsts, strict=False)
    ]
    return tokens, np.concatenate(content)


CORPORA = {
    "web": corpus((sizes(500, 1.0, 40_000), 1)),
    "web, heavy tail": corpus((sizes(400, 1.5, 40_000), 1)),
    "books": corpus((sizes(90_000, 0.8, 2_000), 1)),
    "books among web": corpus((sizes(500, 1.0, 30_000), 1), (sizes(90_000, 0.5, 300), 1)),
    "lines": corpus((sizes(12, 0.4, 100_000), 1)),
    "a few files": corpus((sizes(3_000, 1.2, 1_500), 1)),
    "a third twice": corpus((sizes(500, 1.0, 20_000), 1), (sizes(500, 1.0, 5_000), 2)),
    "all twice": corpus((sizes(500, 1.0, 20_000), 2)),
    "boilerplate": corpus((sizes(500, 1.0, 20_000), 1), (sizes(300, 0.5, 20), 1_000)),
    "copies of every number": corpus(*((sizes(500, 1.0, 6_000 // times), times) for times in range(1, 12))),
}


def sampled(tokens: np.ndarray, content: np.ndarray, share: float) -> Sampled:
    """What a sample of a corpus tells, its copies dropped."""
    chosen = CHANCE.random(len(tokens)) < share
    kept, first, copies = np.unique(content[chosen], return_index=True, return_counts=True)
    lengths = tokens[chosen][first].astype(np.float64)
    counts = Counter(copies.tolist())
    return Sampled(
        share=share,
        documents=len(kept),
        tokens=int(lengths.sum()),
        squares=float(lengths @ lengths),
        twice=counts[2],
        oftener=len(kept) - counts[1] - counts[2],
    )


@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize("name", CORPORA)
def test_the_bounds_hold(name: str, share: float) -> None:
    """A forecast without bounds was bought disks and hours by, and was off by more than anybody expected."""
    tokens, content = CORPORA[name]
    _, first = np.unique(content, return_index=True)
    true = int(tokens[first].sum())
    found = [tokens_of(sampled(tokens, content, share)) for _ in range(SAMPLES)]
    held = sum(bounds.low <= true <= bounds.high for bounds in found)
    assert held >= 0.95 * SAMPLES, (name, share, held)


def test_bounds_that_hold_are_narrow_where_nothing_is_doubtful() -> None:
    """From nothing to everything always holds."""
    tokens, content = CORPORA["web"]
    found = tokens_of(sampled(tokens, content, 0.2))
    assert found.high - found.low < 0.1 * tokens.sum()
    assert tokens_of(sampled(tokens, content, 1.0)).low == tokens_of(sampled(tokens, content, 1.0)).high == tokens.sum()
    assert tokens_of(Sampled(share=0.1, documents=0, tokens=0, squares=0)).high == 0
