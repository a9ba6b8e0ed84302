"""What the two sizes say of growth."""

import pytest
from _corpus import Corpus
from _linearity import Linearity, shown, targets
from _results import Machine, Measured, Run


def corpus(copies: int) -> Corpus:
    return Corpus(
        folder="in", files=copies, documents=10 * copies, text_bytes=10**8 * copies, file_bytes=4 * 10**7 * copies
    )


def measured(name: str, seconds: float, peak: int) -> Measured:
    run = Run(
        seconds=seconds, wall=seconds, cpu=1, whole_cpu=1, peak=peak, documents=1, tokens=1, orchestration=0.2 / seconds
    )
    return Measured(name=name, title=name, job="full", runs=[run])


def grown(many: float) -> Linearity:
    return Linearity(
        date="2026-01-01",
        command="python benchmarks/run.py in --linearity 10",
        machine=Machine(processor="x", cores=2, memory=8 * 10**9, python="3.11"),
        workers=2,
        repeats=1,
        factor=10,
        corpora={"once": corpus(1), "many": corpus(10)},
        programs=[
            measured("once", 5, 10**9),
            measured("one worker", 9, 10**9),
            measured("one core", 9.5, 10**9),
            measured("many", many, 11 * 10**8),
        ],
        warm=[16.0, 14.0, 13.0],
    )


@pytest.mark.parametrize(("many", "met"), [(40, "yes"), (57, "yes"), (58, "no")])
def test_time_may_grow_less_than_the_text_but_not_more(many: float, met: str) -> None:
    """Fixed costs weigh less at ten times the size, which is no fault."""
    (row,) = [goal.row() for goal in targets(grown(many)) if goal.what == "time over linear at 10 times"]
    assert row[-1] == met


def test_the_other_figures_are_of_the_runs_they_name() -> None:
    text = shown(grown(50))
    assert "| 2 workers over 1 | at least 1.8 times | 1.8 times | yes |" in text
    assert "| the same over 1 on 1 core, 2 on 2 | at least 1.8 times | 1.9 times | yes |" in text
    assert "| rerun with nothing to do | under 15.0 s | 14.0 s | yes |" in text
    assert "| the same over that of the corpus once | at most 1.15 times | 1.1 times | yes |" in text
    assert "| orchestration, the larger of both sizes | under 5.0% | 4.0% | yes |" in text
    assert "| 10 times, 2 workers | 1,000.0 | 50.00 | 20.0 |" in text
