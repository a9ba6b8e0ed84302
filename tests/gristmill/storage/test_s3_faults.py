"""Through a proxy that fails: the right bytes, or an error with a name; never other bytes, never "already exists" for
what we wrote ourselves."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest
from fault_proxy import Fault, FaultProxy
from object_store import Bucket, put, reached, sha256

from gristmill.errors import StorageError
from gristmill.storage import s3, s3_client

SHARES: dict[Fault, float] = {"slow_down": 0.3, "error": 0.3, "reset": 0.3, "lost": 0.6, "cut": 0.4, "slow": 0.2}
MIXED: dict[Fault, float] = {"slow_down": 0.05, "error": 0.05, "reset": 0.05, "lost": 0.1, "cut": 0.1, "slow": 0.05}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients wait a second and more between attempts; how long is not what is tested."""
    sleep = time.sleep
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: sleep(min(seconds, 0.01)))


def publish(root: str, folder: Path, number: int, data: bytes) -> None:
    """What a stage does: an object, read back both ways, and a pointer that follows."""
    uri = f"{root}/shard-{number}"
    assert put(data, uri).nbytes == len(data)
    assert s3.read(uri) == data
    s3.download(uri, folder / f"{number}", nbytes=len(data), sha256=sha256(data))
    assert (folder / f"{number}").read_bytes() == data
    there = s3.stat(f"{root}/latest")
    s3.swap(f"{root}/latest", b"%d" % number, there and there.etag)
    assert s3.read(f"{root}/latest") == b"%d" % number
    assert len(s3.names(root)) == number + 2


def repeated(root: str, folder: Path, count: int, attempts: int) -> Counter[str]:
    """Publish so many objects, each repeated as a task is; counts the repetitions. All that is stored is right."""
    met: Counter[str] = Counter()
    for number in range(count):
        data = random.Random(number).randbytes(300_000)
        for _ in range(attempts):
            try:
                publish(root, folder, number, data)
                break
            except StorageError:  # a ConfigError, such as "exists with other bytes", fails the test
                met["repeated"] += 1
        else:
            met["given up"] += 1
    return met


@pytest.mark.parametrize("fault", sorted(SHARES))
def test_one_kind_of_fault(bucket: Bucket, tmp_path: Path, fault: Fault):
    with FaultProxy(bucket.server.endpoint, {fault: SHARES[fault]}, seed=5, pause=0.05) as proxy:
        with reached(proxy.endpoint, attempts=8):
            met = repeated(bucket.uri, tmp_path, 3, attempts=3)
        assert proxy.met[fault] > 2
    assert met["given up"] == 0
    for number in range(3):
        assert bucket.get(f"shard-{number}") == random.Random(number).randbytes(300_000)
    assert bucket.get("latest") == b"2"


def test_all_kinds_of_fault_at_once(any_bucket: Bucket, tmp_path: Path):
    with FaultProxy(any_bucket.server.endpoint, MIXED, seed=7, pause=0.05) as proxy:
        with reached(proxy.endpoint, attempts=4):
            met = repeated(any_bucket.uri, tmp_path, 12, attempts=6)
        assert set(proxy.met) == set(MIXED)
    assert met["given up"] == 0
    for number in range(12):
        assert any_bucket.get(f"shard-{number}") == random.Random(number).randbytes(300_000)


def test_parts_survive_every_kind_of_fault(bucket: Bucket, monkeypatch: pytest.MonkeyPatch):
    """The completion is carried out, its answer is lost, and the repetition finds no such upload."""
    monkeypatch.setattr(s3, "PART_BYTES", 5 << 20)
    data = random.Random(9).randbytes((10 << 20) + 1)
    with FaultProxy(bucket.server.endpoint, {"lost": 0.45}, seed=2) as proxy, reached(proxy.endpoint, attempts=8):
        for number in range(3):
            assert put(data, f"{bucket.uri}/{number}", single_bytes=5 << 20).nbytes == len(data)
        assert proxy.met["lost"] > 5
    assert {sha256(bucket.get(str(number))) for number in range(3)} == {sha256(data)}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("slow_down", "the server answered 503"),
        ("error", "the server answered 500"),
        ("reset", "Connection"),
        ("lost", "Connection"),
    ],
)
def test_a_server_that_never_recovers_is_named(bucket: Bucket, fault: Fault, message: str):
    uri = f"{bucket.uri}/x"
    with FaultProxy(bucket.server.endpoint, {fault: 1.0}) as proxy, reached(proxy.endpoint, attempts=2):
        with pytest.raises(StorageError, match=rf"^{uri}: .*{message}"):
            put(b"x", uri)
        with pytest.raises(StorageError, match=rf"^{uri}: .*{message}"):
            s3.swap(uri, b"y", '"0"')
        assert proxy.requests == 4
    assert (s3.stat(uri) is None) == (fault != "lost")


def test_a_body_that_is_always_cut_still_arrives(bucket: Bucket, tmp_path: Path):
    """Each answer brings half of what is missing; the client itself repeats no body."""
    data = random.Random(4).randbytes(1 << 20)
    put(data, f"{bucket.uri}/x")
    with FaultProxy(bucket.server.endpoint, {"cut": 1.0}) as proxy, reached(proxy.endpoint):
        s3.download(f"{bucket.uri}/x", tmp_path / "x", nbytes=len(data), sha256=sha256(data))
        assert b"".join(s3.blocks(f"{bucket.uri}/x", 1000, 500_000)) == data[1000:500_000]
        assert proxy.met["cut"] > 5
    assert (tmp_path / "x").read_bytes() == data


def test_a_server_that_knows_no_ranges_is_not_believed(bucket: Bucket):
    """The start of an object again, where its rest was asked for, would make bytes of the right length or longer."""
    data = random.Random(6).randbytes(1 << 20)
    put(data, f"{bucket.uri}/x")
    with FaultProxy(bucket.server.endpoint, {"cut": 1.0}) as proxy, reached(proxy.endpoint):
        s3_client.client().meta.events.register(
            "before-sign.s3.GetObject", lambda request, **_: request.headers.__delitem__("Range")
        )
        with pytest.raises(StorageError, match="gave another part"):
            s3.read(f"{bucket.uri}/x")


def test_a_silent_server_is_given_up_in_time(bucket: Bucket):
    proxy = FaultProxy(bucket.server.endpoint, {"slow": 1.0}, pause=5)
    with proxy, reached(proxy.endpoint, attempts=2, read_seconds=0.2):
        began = time.monotonic()
        with pytest.raises(StorageError, match=r"Read timeout"):
            s3.stat(f"{bucket.uri}/x")
        assert time.monotonic() - began < 4


def test_an_object_that_is_replaced_during_a_read_is_never_mixed(any_bucket: Bucket):
    """The rest of another version would make bytes that nobody wrote."""
    old, new = bytes(3 << 20), b"x" * (3 << 20)
    any_bucket.put("x", old)
    with FaultProxy(any_bucket.server.endpoint, {"cut": 1.0}) as proxy, reached(proxy.endpoint):
        blocks = s3.blocks(f"{any_bucket.uri}/x")
        assert set(next(blocks)) == {0}
        any_bucket.put("x", new)
        with pytest.raises(StorageError, match="was replaced while it was read"):
            list(blocks)


def test_a_dead_server_is_not_an_absent_object():
    with reached("http://127.0.0.1:9", attempts=1):
        for ask in (s3.stat, s3.read, s3.names, s3.uploads, s3.remove):
            with pytest.raises(StorageError, match=r"^s3://bucket/x: .*Could not connect"):
                ask("s3://bucket/x")
