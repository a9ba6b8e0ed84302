"""``files`` on an object store that speaks S3: moto's server in a process of its own, exact in keys and listings."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from typing import Any

import botocore.session
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3fs
from botocore.exceptions import ConnectionError as NotYet
from reading import read

from gristmill.errors import InputError, StorageError
from gristmill.sources import _listing
from gristmill.sources.files import Files

ODD = [
    "odd/plain.jsonl",
    "odd/two words.jsonl",
    "odd/hash#mark.jsonl",
    "odd/per%20cent%zz.jsonl",
    "odd/question?mark.jsonl",
    "odd/brackets[1].jsonl",
    "odd/star*.jsonl",
    "odd/a::b.jsonl",
    "odd/plus+and&equals=.jsonl",
    "odd/quotes'\".jsonl",
    "odd/back\\slash.jsonl",
    "odd/caf\u00e9-\u4e2d-\U0001f600.jsonl",
    "odd/deep/er/{date}.jsonl",
    "odd/double//slash.jsonl",
    "odd/ leading.jsonl",
    f"odd/{'n' * 200}.jsonl",
    "odd/UPPER.JSONL",
]
"""Keys that some layer between us and the store takes for something else."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A client of an empty bucket ``corpus``. No AWS setting of whoever runs the tests reaches it, nor the reverse."""
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
            patch.delenv(name)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            patch.setenv(name, "dummy")
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, os.devnull)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        s3fs.S3FileSystem.clear_instance_cache()
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = botocore.session.get_session().create_client("s3")
            _wait_for(client, server)
            yield client
        finally:
            server.terminate()
            server.wait(10)
            s3fs.S3FileSystem.clear_instance_cache()


def _wait_for(client: Any, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            client.create_bucket(Bucket="corpus")
            return
        except NotYet:
            assert server.poll() is None, "moto's server ended"
            assert time.monotonic() < until, "moto's server does not answer"
            time.sleep(0.05)


def put(client: Any, key: str, data: bytes | str) -> None:
    client.put_object(Bucket="corpus", Key=key, Body=data)


def found(*paths: str) -> list[str]:
    return [shard.uri for shard in Files(paths=list(paths)).shards()]


@pytest.fixture(scope="module")
def odd(store: Any) -> list[str]:
    for key in ODD:
        put(store, key, json.dumps({"text": key}))
    for key in ("odd/_SUCCESS", "odd/.hidden.jsonl", "odd/_temporary/x.jsonl", "odd/folder/", "odd/n.csv"):
        put(store, key, "{}")
    return [f"s3://corpus/{key}" for key in ODD]


def test_a_folder_gives_every_key_once_in_the_order_of_bytes(odd: list[str]):
    """Stores list in orders of their own; a key that is read under another name is lost."""
    assert found("s3://corpus/odd") == sorted(odd, key=str.encode)
    assert read(Files(paths=["s3://corpus/odd/"])).texts == sorted(ODD, key=str.encode)


def test_a_key_is_opened_exactly_as_it_was_listed(odd: list[str]):
    for uri in odd:
        assert read(Files(paths=[uri])).ids == [f"{uri.rpartition('/')[2]}:1"]


@pytest.mark.parametrize(
    ("glob", "keys"),
    [
        ("odd/*[[]1].jsonl", ["odd/brackets[1].jsonl"]),
        ("odd/q*k.jsonl", ["odd/question?mark.jsonl"]),
        ("odd/*/*/*.jsonl", ["odd/deep/er/{date}.jsonl", "odd/double//slash.jsonl"]),
        ("odd/**/*{date}*", ["odd/deep/er/{date}.jsonl"]),
        ("odd/per%20*", ["odd/per%20cent%zz.jsonl"]),
        ("*/hash#*.jsonl", ["odd/hash#mark.jsonl"]),
    ],
)
@pytest.mark.usefixtures("odd")
def test_globs_pick_by_the_key_as_stored(glob: str, keys: list[str]):
    assert found(f"s3://corpus/{glob}") == [f"s3://corpus/{key}" for key in keys]


def test_the_identity_is_the_content_and_not_the_time(store: Any):
    """Equal bytes that were uploaded again must not redo a shard; other bytes of the same size must."""
    source = Files(paths=["s3://corpus/etag/x.jsonl"])

    def identity(text: str) -> str:
        put(store, "etag/x.jsonl", f'{{"text": "{text}"}}\n')
        (shard,) = source.shards()
        return shard.identity

    first = identity("one")
    assert identity("one") == first
    assert identity("two") != first
    assert read(source).texts == ["two"]


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("s3://corpus/absent.jsonl", "absent.jsonl: no such file or folder"),
        ("s3://corpus/absent/*.jsonl", "no file to read: empty"),
        ("s3://nosuchbucket/x.jsonl", "nosuchbucket/x.jsonl: no such file or folder"),
        ("s3://corpus/odd/n.csv", "its name does not say what it holds"),
        ("s3://corpus/odd/*.csv", "passed over 1"),
    ],
)
@pytest.mark.usefixtures("odd")
def test_what_is_not_there_is_named(uri: str, message: str):
    with pytest.raises(InputError, match=message):
        found(uri)


def test_an_object_that_goes_away_after_planning_is_named(store: Any):
    put(store, "gone/x.jsonl", "{}")
    source = Files(paths=["s3://corpus/gone"])
    (shard,) = source.shards()
    store.delete_object(Bucket="corpus", Key="gone/x.jsonl")
    with pytest.raises(InputError, match=r"s3://corpus/gone/x.jsonl: cannot be read"):
        list(source.read(shard))


def test_an_object_that_is_replaced_while_it_is_read_is_retried(store: Any, monkeypatch: pytest.MonkeyPatch):
    """Half of one version and half of the next would be a document that nobody wrote."""
    monkeypatch.setattr(s3fs.S3FileSystem, "default_block_size", 1 << 20)
    put(store, "replaced/x.jsonl", b"a" * (4 << 20))
    with _listing.opened("s3://corpus/replaced/x.jsonl") as raw:
        assert raw.read(4) == b"aaaa"
        put(store, "replaced/x.jsonl", b"b" * (4 << 20))
        with pytest.raises(StorageError, match=r"s3://corpus/replaced/x.jsonl: reading failed at byte"):
            list(iter(lambda: raw.read(1 << 20), b""))


def test_row_groups_and_ranges_tile_a_file(store: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 4000)
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
    texts = [f"{number} " * 20 for number in range(300)]
    table = BytesIO()
    pq.write_table(pa.table({"text": texts}), table, row_group_size=50)
    put(store, "parts/x.parquet", table.getvalue())
    put(store, "parts/y.jsonl", "".join(f'{{"text": "{text}"}}\n' for text in texts))
    source = Files(paths=["s3://corpus/parts"])
    shards = source.shards()
    assert len({shard.uri for shard in shards}) == 2
    parts = [shard.part or {} for shard in shards if shard.uri.endswith("parquet")]
    assert (parts[0]["start"], parts[-1]["stop"], len(parts)) == (0, 6, 5)
    assert all(first["stop"] == second["start"] for first, second in pairwise(parts))
    assert len(shards) > 10
    assert read(source).texts == texts * 2
