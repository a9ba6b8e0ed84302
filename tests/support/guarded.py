"""A web server that gives files to who has the password or a signature; what looks for both in the files of a run."""

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pyarrow as pa

USER = "canary-user"
PASSWORD = "canary/pass+word"
SIGNATURES = ("canary%2Fsignature%2B1", "canary%2Fsignature%2B2")
"""As they are in an address: escaped, which a client must leave as it is."""

CANARY = b"canary"
"""In every secret, and in nothing that is public."""


class Guarded:
    """``https`` in all but the encryption. Folders are listed, and a file is given with either proof."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.expired: set[str] = set()
        """Signatures that are valid no more."""
        self.parts = True
        """Whether a file is also given in parts."""

    def with_password(self, path: str) -> str:
        """The address of a file or glob with user and password."""
        return f"http://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self._port}/{path}"

    def signed(self, path: str, number: int = 0, more: str = "") -> str:
        """The address of a file, signed for the first or the second time."""
        query = f"X-Amz-Credential=canary%2F1&X-Amz-Expires=60{more}&X-Amz-Signature={SIGNATURES[number]}"
        return f"http://127.0.0.1:{self._port}/{path}?{query}"

    def admits(self, target: str, authorization: str) -> bool:
        """Whether a request has a proof; the signature is compared letter by letter."""
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        signature = target.rpartition("X-Amz-Signature=")[2]
        return authorization == f"Basic {login}" or (signature in SIGNATURES and signature not in self.expired)


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, guarded: Guarded, directory: str) -> None:
        self._guarded = guarded
        super().__init__(*args, directory=directory)

    def do_HEAD(self) -> None:
        if "Signature" in self.path:  # the method is signed as well
            self.send_error(403)
        elif self._admitted():
            super().do_HEAD()

    def do_GET(self) -> None:
        if not self._admitted():
            return
        path = Path(self.translate_path(self.path))
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not self._guarded.parts or path.is_dir() or not found:
            super().do_GET()
            return
        data = path.read_bytes()
        start, stop = int(found[1]), min(int(found[2]) + 1, path.stat().st_size)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(data[start:stop])

    def _admitted(self) -> bool:
        if not self._guarded.admits(self.path, self.headers.get("Authorization", "")):
            self.send_error(403 if "Signature" in self.path else 401)
            return False
        if version := dict(parse_qsl(urlsplit(self.path).query)).get("version"):
            self.path = f"/{version}{urlsplit(self.path).path}"
        return True

    def log_message(self, *_: object) -> None: ...


@contextmanager
def guarded(folder: Path) -> Iterator[Guarded]:
    """The files of a folder, served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: _Handler(*args, guarded=found, directory=str(folder)))
    found = Guarded(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


def leaks(*folders: Path) -> list[str]:
    """Files that have a secret in name or content, compressed ones opened."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if CANARY in str(path.name).encode() or CANARY in _content(path)]


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    for suffix, codec in ((".zst", "zstd"), (".gz", "gzip")):
        if path.suffix == suffix:
            data += pa.input_stream(pa.py_buffer(data), compression=codec).read()
    return data
