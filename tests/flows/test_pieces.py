"""One big compressed file under the flow: cleaned while it is read, on every worker, with the library's bytes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from big_file import ONE_PIECE, BigFile, big_file
from busy import busy_worker
from corpora import published, reports, tree
from flow_runs import Run

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.manifest import read_manifest
from gristmill.types import StageReport


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigFile]:
    """With what the library makes of it below ``serial/``."""
    with big_file(tmp_path_factory.mktemp("big")) as made:
        pipeline.prepare(made.asked("serial"))
        yield made


def of_stage(stage: str, config: PrepareConfig) -> list[StageReport]:
    found = [report for report in reports(config) if report.stage == stage]
    return sorted(found, key=lambda report: (report.shard, report.piece))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_pieces_are_the_file_whatever_the_number_of_workers(big: BigFile, workers: int) -> None:
    """A piece left out or taken twice, and the workers that wait for one another: one of them is all there is."""
    config = big.asked(f"workers-{workers}", workers=workers)
    made = Run(config)
    assert made.state.is_completed(), made.state.message
    assert made.bytes == tree(big.folder / "serial" / "out")
    read, cleaned = of_stage("fetch", config), of_stage("clean", config)
    assert [(report.shard, report.piece) for report in cleaned] == [(0, 0), (1, 0), (1, 1)]
    assert sum(report.docs_in for report in cleaned[1:]) == read[1].docs_out == 120 + 6 + ONE_PIECE + 2
    assert sum(report.chars_in for report in cleaned[1:]) == read[1].chars_out
    names = [f"{stage}-shard-00001{piece}" for stage in ("clean", "sign") for piece in ("", "-1")]
    assert made.tasks([*names, "ingest-shard-00001", "ingest-shard-00001-0"])


def test_a_piece_is_done_while_the_file_is_read_and_once_though_its_reader_is_killed(big: BigFile) -> None:
    """Workers that wait for the end of the file; and a piece that is handed out again when the file is read again."""
    work = big.folder / "killed" / "work"
    sent: list[float] = []

    def between() -> None:
        sent.append(time.time())
        if len(sent) == 1:
            until(lambda: len(list(work.glob("sign/[!.]*/report.json"))) == 2)  # the small file and the piece
            psutil.Process(busy_worker(work, "fetch")).kill()

    config = big.asked("killed")
    big.change(between=between)
    made = Run(config)
    big.change()
    assert made.state.is_completed(), made.state.message
    assert made.bytes == tree(big.folder / "serial" / "out")
    assert len(sent) == 2
    piece = of_stage("sign", config)[1]
    assert (piece.shard, piece.piece) == (1, 0)
    assert sent[0] < piece.started + piece.seconds < sent[1]
    names = ["fetch-shard-00001", "ingest-shard-00001-0", "clean-shard-00001", "sign-shard-00001"]
    tasks = made.tasks(names)
    assert [tasks[name].run_count for name in names] == [2, 1, 1, 1]


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "no piece was signed before the end of the file"
        time.sleep(0.01)


def test_a_file_damaged_at_its_end_wastes_its_pieces_and_publishes_none(tmp_path: Path) -> None:
    """Pieces are cleaned before anybody knows that the file is damaged: they must go with it."""
    with big_file(tmp_path) as big:
        big.change(lost=9)
        wanted = pipeline.prepare(big.asked("serial", on_bad_file="quarantine"))
        made = Run(big.asked("flow", on_bad_file="quarantine"))
        assert made.state.is_completed(), made.state.message
        assert made.bytes == tree(tmp_path / "serial" / "out")
        assert [bool(shard.error) for shard in wanted.source_shards] == [False, True]
        assert read_manifest(Path(made.config.destination)).sha256 == wanted.sha256
        assert [report.shard for report in of_stage("clean", made.config)] == [0, 1]
        assert len(published(made.config)) == 2
        assert made.tasks(["ingest-shard-00001-0"])
