"""Ids and text together under the flow: the same files as the library makes, one tokenization for all."""

from pathlib import Path

from corpora import request, small_corpus, tree, write_documents
from flow_runs import Run

from gristmill import pipeline
from gristmill.inspection.verify import verify

FORMATS = [{"kind": kind} for kind in ("nanogpt", "olmo", "llmc", "litdata")] + [
    {"kind": "nanochat_text", "world_size": 1},
    {"kind": "mds", "max_length": 128},
]


def test_every_format_of_a_run_is_as_the_library_makes_it(tmp_path: Path) -> None:
    """Text goes through tasks of its own, and a format has pieces of the one or the other."""
    for number in range(2):
        write_documents(tmp_path / "in" / f"{number}.jsonl.gz", small_corpus(60)[number * 30 :][:30])
    place = {"output": str(tmp_path / "out"), "split": {"fraction": 0.2}, "ordering": {"kind": "hashed"}}
    run = Run(request(tmp_path, formats=FORMATS, **place))
    assert run.state.is_completed()
    assert verify(str(tmp_path / "out")).problems == []
    made = tree(tmp_path / "out")
    stages = [path.name for path in (tmp_path / "work").iterdir()]
    assert {"tokenize", "texts"} <= set(stages)
    assert len(list((tmp_path / "work" / "tokenize").iterdir())) == 2
    (tmp_path / "out").rename(tmp_path / "first")
    (tmp_path / "work").rename(tmp_path / "first-work")
    pipeline.prepare(request(tmp_path, formats=FORMATS, **place))
    assert tree(tmp_path / "out") == made
