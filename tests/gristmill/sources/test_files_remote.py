"""``files`` behind URIs: listings, exact keys, byte ranges."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import read

from gristmill.errors import ConfigError, InputError
from gristmill.sources.files import Files


def found(*paths: str) -> list[str]:
    return [shard.uri for shard in Files(paths=list(paths)).shards()]


@pytest.fixture
def store() -> Iterator[str]:
    """A folder in fsspec's memory, the plainest of object stores."""
    memory = fsspec.filesystem("memory")
    root = "memory://corpus"
    for name in ("b/2.jsonl", "b/1.jsonl.gz", "a b#[1].jsonl", "_SUCCESS", ".hidden/x.jsonl", "t.txt", "n.csv"):
        memory.pipe(f"/corpus/{name}", f'{{"text": "{name}"}}\n'.encode())
    yield root
    memory.rm("/corpus", recursive=True)


def test_remote_folders_globs_and_keys(store: str):
    assert found(store) == [f"{store}/{name}" for name in ("a b#[1].jsonl", "b/1.jsonl.gz", "b/2.jsonl", "t.txt")]
    assert found(f"{store}/*/*.jsonl", f"{store}/b/2.jsonl") == [f"{store}/b/2.jsonl"]
    assert found(f"{store}/**/1*") == [f"{store}/b/1.jsonl.gz"]
    assert read(Files(paths=[f"{store}/a b#[1].jsonl"])).texts == ["a b#[1].jsonl"]
    assert read(Files(paths=[f"{store}/b"])).ids == ["1.jsonl.gz:1", "2.jsonl:1"]


def test_remote_files_passed_over_are_counted(store: str):
    """A prefix holds markers and half-done uploads as a folder does."""
    for name in ("e.jsonl", "u.jsonl.tmp"):
        fsspec.filesystem("memory").pipe(f"/corpus/{name}", b"" if name == "e.jsonl" else b"{}")
    rows = Files(paths=[store]).inputs().passed_over
    assert {(row.reason, row.suffix): row.examples for row in rows} == {
        ("empty", ".jsonl"): ["e.jsonl"],
        ("hidden", ".jsonl"): [".hidden/x.jsonl"],
        ("success marker", ""): ["_SUCCESS"],
        ("unfinished", ".tmp"): ["u.jsonl.tmp"],
        ("unknown suffix", ".csv"): ["n.csv"],
    }


def test_remote_listings_are_not_cached(store: str):
    """Another process uploads between two plans."""
    assert len(found(f"{store}/b")) == 2
    fsspec.filesystem("memory").pipe("/corpus/b/3.jsonl", b"{}")
    assert len(found(f"{store}/b")) == 3


def test_remote_parquet_and_ranges(store: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 100)
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
    texts = [str(n) * 20 for n in range(30)]
    with fsspec.open(f"{store}/p/x.parquet", "wb") as file:
        pq.write_table(pa.table({"text": texts}), file, row_group_size=5)
    with fsspec.open(f"{store}/p/y.jsonl", "w") as file:
        file.writelines(f'{{"text": "{text}"}}\n' for text in texts)
    source = Files(paths=[f"{store}/p"])
    assert len(source.shards()) > 10
    assert read(source).texts == texts * 2


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("memory://corpus/absent.jsonl", "no such file or folder"),
        ("memory://corpus/n.csv", "its name does not say"),
        ("memory://corpus/*.csv", "no file to read: passed over 1"),
        ("memory://corpus/*.parquet", "no file to read: empty"),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_uri_that_leads_to_nothing_is_named(path: str, message: str):
    with pytest.raises(InputError, match=message):
        found(path)


def test_an_unknown_scheme_is_a_mistake_in_the_configuration():
    with pytest.raises(ConfigError, match=r"cannot open nosuch:// addresses"):
        found("nosuch://bucket/x.jsonl")


def test_files_on_a_web_server(tmp_path: Path):
    """A server without byte ranges, a query in the address, a missing file."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    (tmp_path / "x.jsonl").write_text('{"text": "x.jsonl"}\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "y.jsonl").write_text('{"text": "y.jsonl"}\n')
    (tmp_path / "sub" / "index.html").write_text('<a href="y.jsonl">y</a> <a href="/x.jsonl">x</a>')
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        source = Files(paths=[f"{address}/x.jsonl?download=true"])
        assert (read(source).texts, read(source).ids) == (["x.jsonl"], ["x.jsonl:1"])
        with pytest.raises(InputError, match="no such file"):
            found(f"{address}/absent.jsonl")
        assert found(f"{address}/sub/*.jsonl") == [f"{address}/sub/y.jsonl"]  # not the link out of the folder
    finally:
        server.shutdown()
        server.server_close()
