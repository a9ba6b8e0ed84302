"""A big file is cut while it is read: its pieces are usable at once, add up to the file, and outlive a kill."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import killed
import pytest
from corpora import published, request, tree, write_documents
from pieces import cut_small

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.processes import progress
from gristmill.stages.ingest.clean import clean
from gristmill.stages.ingest.fetch import fetch
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import done
from gristmill.types import StageReport

DOCUMENTS = 600
TEXTS = [f"document {number} of one file, {number * number}" for number in range(DOCUMENTS)]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_small(monkeypatch)


def one_file(folder: Path, name: str = "run", **settings: Any) -> PrepareConfig:
    """A configuration over a single compressed file, with a work area and an output of its own."""
    if not (folder / "in").exists():
        write_documents(folder / "in" / "all.jsonl.gz", TEXTS)
    execution = {"work": str(folder / name / "work")}
    place = {"output": str(folder / name / "out"), "execution": execution, "dedup": [{"kind": "exact"}]}
    return request(folder, **{**place, **settings})


@contextmanager
def hearing(announced: Callable[[StageReport], None]) -> Iterator[None]:
    progress.listen(None, announced)
    try:
        yield
    finally:
        progress.listen(None)


def stage_folders(config: PrepareConfig, stage: str) -> list[Path]:
    return sorted(Path(config.execution.work).glob(f"{stage}/[!.]*/report.json"))


def test_a_piece_is_usable_before_the_next_one_is_read(tmp_path: Path) -> None:
    """The other workers would wait while one of them reads a file for an hour."""
    config = one_file(tmp_path)
    shard = plan(config).shards[0]
    early: list[StageReport] = []

    def use(piece: StageReport) -> None:
        assert len(stage_folders(config, "piece")) == len(early) + 1
        assert not stage_folders(config, "fetch")
        early.append(clean(shard, piece, piece.piece, config))

    with hearing(use):
        fetched = fetch(shard, config)
    pieces = fetched.details["pieces"]
    assert [report.piece for report in early] == list(range(pieces - 1))
    assert pieces > 10
    late = [clean(shard, fetched, piece, config) for piece in range(pieces)]
    assert [report.reused for report in late] == [True] * (pieces - 1) + [False]
    assert sum(report.docs_in for report in late) == fetched.docs_out == DOCUMENTS
    assert sum(report.chars_in for report in late) == fetched.chars_out == sum(map(len, TEXTS))


def test_a_file_that_was_read_before_announces_the_same_pieces(tmp_path: Path) -> None:
    """A run that is started again must hand out the pieces too, or it would end without them."""
    config = one_file(tmp_path)
    shard = plan(config).shards[0]
    first: list[StageReport] = []
    again: list[StageReport] = []
    with hearing(first.append):
        fetch(shard, config)
    with hearing(again.append):
        assert fetch(shard, config).reused
    assert len(again) == len(first) > 10
    for one, other in zip(first, again, strict=True):
        assert (one.piece, one.fingerprint) == (other.piece, other.fingerprint)
        assert one.artifacts.items() <= other.artifacts.items()


def test_a_small_file_is_one_output(tmp_path: Path) -> None:
    """A corpus of a million small files must not pay for pieces that it does not have."""
    write_documents(tmp_path / "in" / "a.jsonl.gz", TEXTS[:3])
    config = one_file(tmp_path)
    heard: list[StageReport] = []
    with hearing(heard.append):
        fetched = fetch(plan(config).shards[0], config)
    assert not heard
    assert [path.name for path in Path(config.execution.work).iterdir()] == ["fetch"]
    assert Path(fetched.artifacts["documents-00000"].uri).parent.name == fetched.fingerprint


def test_killed_anywhere_the_pieces_that_stand_are_kept(tmp_path: Path) -> None:
    """A file of a day's reading is read again from its start, but what was made of its pieces is not made again."""
    calm = one_file(tmp_path, "calm")
    pipeline.prepare(calm)
    broken = [one_file(tmp_path, f"killed-{number}") for number in range(4)]
    kills = [[[2 + 3 * number, 0.0], [6 + 4 * number, 0.001]] for number in range(len(broken))]
    runs = [
        {"config": config.model_dump(mode="json"), "kills": moments}
        for config, moments in zip(broken, kills, strict=True)
    ]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(runs))
    subprocess.run([sys.executable, killed.__file__, path, "small-pieces"], timeout=120, check=True)
    within = 0
    for config in broken:
        before = {path: path.stat().st_mtime_ns for path in stage_folders(config, "piece")}
        within += bool(before) and not stage_folders(config, "fetch")
        pipeline.prepare(config)
        assert tree(Path(config.destination)) == tree(Path(calm.destination))
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert len(stage_folders(config, "piece")) == len(stage_folders(calm, "piece"))
    assert within, "some kill must fall while the file is read"


def test_a_file_damaged_at_its_end_is_left_out_with_all_its_pieces(tmp_path: Path) -> None:
    """Half a file in a training set, with a manifest that does not know it."""
    config = one_file(tmp_path, on_bad_file="quarantine")
    bad = tmp_path / "in" / "all.jsonl.gz"
    bad.write_bytes(bad.read_bytes()[:-9])
    write_documents(tmp_path / "in" / "good.jsonl", ["the only one"])
    manifest = pipeline.prepare(config)
    assert len(stage_folders(config, "piece")) > 10
    assert [shard.uri for shard in manifest.source_shards if shard.error] == [str(bad)]
    assert published(config) == ["the only one"]


def test_another_text_under_the_same_name_and_time_is_not_joined_to_pieces_of_the_first(tmp_path: Path) -> None:
    """A file rewritten between a kill and the resume: its front from one version, its end from the other."""

    class Killed(BaseException):
        pass

    def stop(piece: StageReport) -> None:
        if piece.piece == 3:
            raise Killed

    write_documents(tmp_path / "in" / "all.jsonl", TEXTS)
    config = one_file(tmp_path)
    path = tmp_path / "in" / "all.jsonl"
    shard, time = plan(config).shards[0], path.stat().st_mtime_ns
    with hearing(stop), pytest.raises(Killed):
        fetch(shard, config)
    write_documents(path, [text.replace("file", "life") for text in TEXTS])
    os.utime(path, ns=(time, time))
    assert plan(config).shards == [shard]
    with pytest.raises(InputError, match=r"all\.jsonl: its first documents are not those .* touch it"):
        fetch(shard, config)


def test_a_shard_with_some_pieces_cleaned_is_not_done(tmp_path: Path) -> None:
    """The space that the rest needs would not be asked for, and a resumed run would end on a full disk."""
    config = one_file(tmp_path)
    shard = plan(config).shards[0]
    early: list[StageReport] = []
    with hearing(lambda piece: early.append(clean(shard, piece, piece.piece, config))):
        fetched = fetch(shard, config)
    assert early
    assert done([shard], config) == {"fetch": 1, "clean": 0, "sign": 0}
    clean(shard, fetched, fetched.details["pieces"] - 1, config)
    assert done([shard], config) == {"fetch": 1, "clean": 1, "sign": 0}
