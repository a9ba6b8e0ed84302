"""A rehearsal by the flow: the bytes of the library for any number of workers, and hours on the server alone."""

from pathlib import Path

import pytest
from corpora import request, small_corpus, tree, write_documents
from flow_runs import Run

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.stages.publish.rehearse import rehearsed


def asked(folder: Path, name: str, workers: int) -> PrepareConfig:
    return request(
        folder,
        dedup=[{"kind": "exact"}, {"kind": "minhash"}],
        split={"fraction": 0.2},
        ordering={"kind": "hashed"},
        output=str(folder / name / "out"),
        execution={"work": str(folder / name / "work"), "workers": workers},
        rehearse={"tokens": 2e4},
    )


def only(folder: Path) -> Path:
    """The one data set in a folder, which is not the real output."""
    places = [place for place in folder.iterdir() if place.name != "work"]
    assert [place.name.partition("-rehearsal-")[0] for place in places] == ["out"]
    assert places[0].name != "out"
    return places[0]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_sample_is_the_same_for_any_number_of_workers(tmp_path: Path, workers: int) -> None:
    """A sample that depends on the machine cannot be compared with the next one."""
    for number in range(3):
        texts = [text[:800] for text in small_corpus(180)[number::3]]
        write_documents(tmp_path / "in" / f"{number}.jsonl", texts)
    run = Run(asked(tmp_path, "flow", workers))
    assert run.state.is_completed()
    pipeline.prepare(asked(tmp_path, "serial", 1))
    made = tree(only(tmp_path / "flow"))
    assert made == tree(only(tmp_path / "serial"))
    page = run.artifacts()["rehearsal-report"]
    assert "| dedup retention |" in page
    assert "s reading all input + " in page
    assert run.state.result()["hours"][0].startswith("hours: (")
    again = Run(rehearsed(asked(tmp_path, "flow", workers)))
    assert again.state.result()["hours"] == []
    assert tree(only(tmp_path / "flow")) == made
