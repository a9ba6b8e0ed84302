"""The few answers of a data set hub that reading one needs, from folders, on a local port."""

import hashlib
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from gristmill.sources.base import Source
from gristmill.types import PassedOver, ShardRef

_API = re.compile(r"/api/datasets/(?P<name>[^/]+/[^/]+)(/(?P<verb>revision|tree|paths-info|refs)(/(?P<rest>.*))?)?")
_FILE = re.compile(r"/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


class Hub:
    """A server with one data set. ``commits`` maps 40 hex digits to the folder with that commit's files, ``branches``
    a name to a commit; both may change while it runs. A path in ``refused`` is answered with 403 that many times."""

    def __init__(self, name: str, commits: dict[str, Path], branches: dict[str, str]) -> None:
        self.name, self.commits, self.branches = name, commits, branches
        self.refused: dict[str, int] = {}
        self.silent = False
        """Break off every request without an answer."""
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"hub": self}))
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def folder(self, revision: str) -> Path | None:
        return self.commits.get(self.branches.get(revision, revision))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def rows_by_library(path: str, split: str) -> list[dict[str, Any]]:
    """What the ``datasets`` library itself makes of a folder."""
    import datasets

    return list(datasets.load_dataset(path, split=split, streaming=True))


def passed_over(source: Source) -> list[PassedOver]:
    """The files that a source names and does not read."""
    return source.inputs().passed_over


def without_waiting(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function while the hub's client tries again at once instead of after 23 seconds in all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.sleep", lambda _: None)
        return function(*args)


def shards_of_small_parts(source: Source) -> list[ShardRef]:
    """The shards of a source as if its files were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gristmill.sources.files.SHARD_BYTES", 100)
        patch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
        return source.shards()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._route()

    def do_HEAD(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def _route(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.hub.silent:
            self.close_connection = True
            return
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if found := _API.fullmatch(path):
            self._api(found, body)
        elif found := _FILE.fullmatch(path):
            self._file(found)
        else:
            self._fail(404, "EntryNotFound")

    def _api(self, found: re.Match[str], body: bytes) -> None:
        if found["name"] != self.hub.name:
            self._fail(404, "RepoNotFound")
            return
        if found["verb"] == "refs":
            refs = [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": c} for n, c in self.hub.branches.items()]
            self._json({"branches": refs, "tags": [], "converts": []})
            return
        revision, _, below = (found["rest"] or "main").partition("/")
        folder = self.hub.folder(revision)
        if folder is None:
            self._fail(404, "RevisionNotFound")
        elif found["verb"] == "tree":
            recursive = "recursive" in self.path and "recursive=False" not in self.path
            paths = (folder / below).rglob("*") if recursive else (folder / below).glob("*")
            self._json([_entry(path, folder) for path in sorted(paths)])
        elif found["verb"] == "paths-info":
            wanted = parse_qs(body.decode()).get("paths") or json.loads(body)["paths"]
            self._json([_entry(folder / name, folder) for name in wanted if (folder / name).exists()])
        else:
            sha = self.hub.branches.get(revision, revision)
            self._json({"id": self.hub.name, "sha": sha, "siblings": [], "private": False, "tags": []})

    def _file(self, found: re.Match[str]) -> None:
        folder = self.hub.folder(found["revision"])
        path = folder / found["path"] if folder is not None else None
        if path is None or not path.is_file():
            self._fail(404, "EntryNotFound")
            return
        if self.command == "GET" and self.hub.refused.get(found["path"], 0):
            self.hub.refused[found["path"]] -= 1
            self._fail(403, "")
            return
        data = path.read_bytes()
        start, stop, status = 0, len(data), 200
        if asked := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, stop, status = int(asked[1]), min(int(asked[2] or len(data)) + 1, len(data)), 206
        sha = self.hub.branches.get(found["revision"], found["revision"])
        marks = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        if status == 206:
            marks["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
        self._answer(status, data[start:stop], marks)

    def _json(self, value: Any) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _fail(self, status: int, code: str) -> None:
        self._answer(status, b"{}", {"X-Error-Code": code, "Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _entry(path: Path, root: Path) -> dict[str, Any]:
    name = path.relative_to(root).as_posix()
    oid = hashlib.sha1(path.read_bytes() if path.is_file() else name.encode()).hexdigest()
    kind = "file" if path.is_file() else "directory"
    return {"type": kind, "path": name, "oid": oid, "size": path.stat().st_size if path.is_file() else 0}
