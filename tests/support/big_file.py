"""A big compressed file behind a URL, which is cut into two pieces while it is read."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from corpora import request, small_corpus, write_documents

from gristmill.config import PrepareConfig
from gristmill.stages.ingest.fetch import PIECE_CHARACTERS

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
