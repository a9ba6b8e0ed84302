"""Tables that say something else than what was measured are worse than none."""

from pathlib import Path

import _table
import pytest
from _corpus import Corpus
from _results import OURS, Comparison, Machine, Measured, Run
from _targets import shown, targets

CORPUS = Corpus(folder="in", files=2, documents=10, text_bytes=40_000_000, file_bytes=9_000_000)


def run(seconds: float, tokens: int = 1000, documents: int = 10, peak: int = 500_000_000) -> Run:
    return Run(
        seconds=seconds, wall=seconds + 10, cpu=3, whole_cpu=9, peak=peak, documents=documents, tokens=tokens, start=8
    )


def program(name: str, *runs: Run, job: str = "tokens", missing: str = "", differs: str = "") -> Measured:
    return Measured(name=name, title=name, job=job, runs=list(runs), missing=missing, differs=differs)


def compared(*programs: Measured) -> Comparison:
    return Comparison(
        date="2026-01-01",
        command="python benchmarks/run.py in",
        machine=Machine(processor="x", cores=2, memory=8 * 10**9, python="3.11"),
        workers=2,
        repeats=3,
        corpora={"tokens": CORPUS, "dedup": CORPUS, "full": CORPUS},
        programs=list(programs),
    )


def row(text: str, name: str) -> list[str]:
    """The cells of the first row of this name."""
    (line, *_) = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_rates_and_ratios_are_of_the_medians() -> None:
    """One run that met a busy machine must not decide the ratio."""
    ours, peer = program(OURS, run(4), run(40), run(3)), program("peer", run(20), run(19), run(90))
    floor = program("floor", run(2), run(2), run(2))
    text = _table.comparison(compared(ours, floor, peer))
    assert row(text, "peer")[1:5] == ["20.00", "19.00 - 90.00", "2.0", "0.00"]
    assert row(text, "peer")[7:] == ["5.00", "2.14", "10.00"]  # 20 / 4, 30 / 14, 20 / 2
    assert row(text, OURS)[7:] == ["1.00", "1.00", "2.00"]


def test_the_ratio_to_the_floor_is_of_the_faster_one() -> None:
    floors = program("floor", run(3)), program("floor_gigatoken", run(2))
    found = compared(program(OURS, run(6)), *floors)
    assert row(_table.comparison(found), OURS)[-1] == "3.00"
    assert row(shown(targets(found)), "tokens: of the faster floor")[1:] == ["at most 2 times", "3 times", "no"]


@pytest.mark.parametrize(
    ("runs", "differs", "told"),
    [
        ([run(1)], "", "none"),
        ([run(1, tokens=990, documents=9)], "it strips", "-10 ids, -1 documents: it strips"),
        ([run(1, tokens=1010)], "", "+10 ids, +0 documents: UNEXPLAINED"),
        ([run(1), run(1, tokens=999)], "it strips", "RUNS DIFFER: 10 / 999, 10 / 1,000"),
    ],
)
def test_counts_that_differ_are_told_with_the_reason(runs: list[Run], differs: str, told: str) -> None:
    """A program that skips a tenth of the documents is faster; the reader must see it."""
    text = _table.counts([program(OURS, run(1)), program("peer", *runs, differs=differs)])
    assert row(text, "peer")[-1] == told


def test_counts_that_nobody_can_explain_fail_the_command() -> None:
    """Otherwise a table of programs that did different work is published."""
    ours, steady = program(OURS, run(1)), program("steady", run(1))
    known = program("known", run(1, tokens=990), differs="it strips")
    odd, changing = program("odd", run(1, tokens=990)), program("changing", run(1), run(1, tokens=999))
    assert _table.unexplained(compared(ours, steady, known)) == []
    lines = _table.unexplained(compared(ours, steady, known, odd, changing))
    assert [line.split(":")[1].strip() for line in lines] == ["odd", "changing"]


def test_a_program_that_could_not_run_keeps_its_row_with_the_reason() -> None:
    """A peer that silently disappears from the table looks as if it had never been asked."""
    text = _table.comparison(compared(program(OURS, run(1)), program("peer", missing="no wheel")))
    assert row(text, "peer")[1] == "not measured: no wheel"
    widths = {line.count("|") for line in text.splitlines() if line.startswith(("| peer", "| program | s"))}
    assert len(widths) == 1


def test_every_target_says_what_was_reached_or_that_it_was_not_measured() -> None:
    found = compared(
        program(OURS, run(2)),
        program("megatron", run(7)),
        program(OURS, run(4, peak=1_600_000_000), job="full"),
        program("datatrove_filters", run(59), job="full"),
    )
    text = shown(targets(found))
    assert row(text, "tokens: as fast as megatron")[1:] == ["at least 3 times", "3.5 times", "yes"]
    assert row(text, "full: as fast as datatrove_filters")[1:] == ["at least 15 times", "14.8 times", "no"]
    assert row(text, "full: peak memory of all processes")[1:] == ["under 1,500 MB", "1,600 MB", "no"]
    assert row(text, "tokens: as fast as nanogpt")[2] == "not measured"


def test_only_the_marked_region_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- end of a -->\nbetween\n<!-- b -->\n<!-- end of b -->\n")
    for content in ("first", "second"):
        _table.replace(page, "a", content)
    kept = "\nbetween\n<!-- b -->\n<!-- end of b -->\n"
    assert page.read_text() == "before\n<!-- a -->\n\nsecond\n\n<!-- end of a -->" + kept


def test_a_page_without_the_region_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\n")
    with pytest.raises(ValueError, match="marks <!-- a --> and <!-- end of a --> are not there"):
        _table.replace(page, "a", "x")
    assert page.read_text() == "<!-- a -->\n"


def test_the_page_has_the_regions_that_the_command_fills() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "performance.md").read_text()
    for region in ("comparison", "linearity"):
        assert page.index(f"<!-- {region} -->") < page.index(f"<!-- end of {region} -->")
