"""One big compressed file under the flow: cleaned while it is read, on every worker, with the library's bytes."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from corpora import published, reports, request, small_corpus, tree, write_documents
from flow_runs import Run, busy_worker

from gristmill import serial
from gristmill.config import PrepareConfig
from gristmill.manifest import read_manifest
from gristmill.stages.ingest.fetch import PIECE_CHARACTERS
from gristmill.types import StageReport

LONG = 1_000_000
ONE_PIECE = PIECE_CHARACTERS // LONG + 10
"""So many long documents are a piece and more: the cut is made between two blocks of some of them."""

DRAWN_OUT = "".join(small_corpus(40))[:20_000] * (LONG // 20_000)


class Store(BaseHTTPRequestHandler):
    """Sends a file in two halves; what happens between them is the test's."""

    halves: list[bytes]
    between: Callable[[], None] = staticmethod(lambda: None)

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(sum(map(len, self.halves))))
        self.send_header("Accept-Ranges", "none")
        self.send_header("ETag", "v1")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        with suppress(ConnectionError):  # the reader was killed
            self.wfile.write(self.halves[0])
            self.between()
            self.wfile.write(self.halves[1])

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


class BigFile:
    """A file behind a URL, and how to read it."""

    def __init__(self, folder: Path, server: ThreadingHTTPServer, handler: type[Store]) -> None:
        self.folder, self._handler = folder, handler
        self.url = f"http://127.0.0.1:{server.server_port}/big.jsonl.gz"

    def asked(self, name: str, *, workers: int = 2, **more: Any) -> PrepareConfig:
        """A configuration over the file and a small one; the long documents are dropped, which saves time."""
        paths = [self.url, str(self.folder / "in")]
        settings: dict[str, Any] = {
            "sources": [{"kind": "files", "name": "web", "paths": paths}],
            "cleaning": [{"kind": "length", "min_chars": 1, "max_chars": LONG - 1}],
            "dedup": [{"kind": "exact"}],
            "output": str(self.folder / name / "out"),
            "execution": {"work": str(self.folder / name / "work"), "workers": workers},
        }
        return request(self.folder, **{**settings, **more})

    def change(self, *, between: Callable[[], None] = lambda: None, lost: int = 0) -> None:
        """Call ``between`` from now on, and leave out the last bytes of the file."""
        self._handler.between = staticmethod(between)
        self._handler.halves[1] = self._handler.halves[1][: len(self._handler.halves[1]) - lost]


def packed(texts: list[str], long: int) -> bytes:
    """A gzip member with long documents between the others."""
    lines = [json.dumps({"text": text}) + "\n" for text in texts]
    drawn_out = json.dumps({"text": DRAWN_OUT}) + "\n"
    return gzip.compress("".join([*lines, *([drawn_out] * long), *lines[:3]]).encode(), 1, mtime=0)


@contextmanager
def big_file(folder: Path) -> Iterator[BigFile]:
    texts = small_corpus(120)
    halves = [packed(texts[:60], ONE_PIECE), packed(texts[60:], 2)]
    handler = type("Handler", (Store,), {"halves": halves})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    write_documents(folder / "in" / "a.jsonl", ["a small file beside it", texts[0]])
    yield BigFile(folder, server, handler)
    server.shutdown()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigFile]:
    """With what the library makes of it below ``serial/``."""
    with big_file(tmp_path_factory.mktemp("big")) as made:
        serial.prepare(made.asked("serial"))
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
        wanted = serial.prepare(big.asked("serial", on_bad_file="quarantine"))
        made = Run(big.asked("flow", on_bad_file="quarantine"))
        assert made.state.is_completed(), made.state.message
        assert made.bytes == tree(tmp_path / "serial" / "out")
        assert [bool(shard.error) for shard in wanted.source_shards] == [False, True]
        assert read_manifest(Path(made.config.destination)).sha256 == wanted.sha256
        assert [report.shard for report in of_stage("clean", made.config)] == [0, 1]
        assert len(published(made.config)) == 2
        assert made.tasks(["ingest-shard-00001-0"])
