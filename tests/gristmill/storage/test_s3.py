"""What every S3 server must give us, on two servers. moto differs where said: it believes any checksum."""

import datetime
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from object_store import Bucket, put, sha256

from gristmill.errors import ConfigError, GristmillError, OccupiedError, StorageError
from gristmill.storage import s3, s3_client

RACERS = 24
NOW = datetime.datetime(2026, 1, 1)

ODD = [
    "a::b",
    "star*",
    "question?mark",
    "question?versionId=x",
    "hash#mark",
    "per%20cent%zz",
    "two words",
    "plus+and&equals=",
    "brackets[1]{x}",
    "quotes'\"<>",
    "caf\u00e9-\u4e2d-\U0001f600",
    "n" * 200,
]
"""Names that some layer between us and the store takes for something else."""


def race(count: int, contender: Any) -> list[Any]:
    """What each of so many threads got: a result or the error."""

    def run(number: int) -> Any:
        try:
            return contender(number)
        except GristmillError as error:
            return error

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_a_part_of_an_object(any_bucket: Bucket):
    """Readers of windows ask for a megabyte out of gigabytes; a short answer would shift every id after it."""
    data = random.Random(2).randbytes((2 << 20) + 5)
    any_bucket.put("x", data)
    uri = f"{any_bucket.uri}/x"
    for start, stop in ((0, 1), (7, 1 << 20), (1 << 20, 2 << 20), (len(data) - 1, len(data)), (0, len(data))):
        assert b"".join(s3.blocks(uri, start, stop)) == data[start:stop]
    for start, stop in ((len(data), len(data) + 1), (len(data) - 1, len(data) + 1)):
        with pytest.raises(StorageError, match=r"/x: .*(has no byte|expected)"):
            list(s3.blocks(uri, start, stop))
    with pytest.raises(ConfigError, match="no such object"):
        list(s3.blocks(f"{any_bucket.uri}/absent", 0, 1))


def test_an_object_is_made_once_and_read_back_whole(any_bucket: Bucket, tmp_path: Path):
    uri, data = f"{any_bucket.uri}/out/shard.bin", random.Random(1).randbytes(3 << 20)
    (tmp_path / "shard").write_bytes(data)
    assert s3.stat(uri) is None
    made = s3.put_new(tmp_path / "shard", uri, sha256(data))
    assert made == s3.stat(uri)
    assert made.nbytes == len(data)
    assert any_bucket.get("out/shard.bin") == data == s3.read(uri)
    assert len(list(s3.blocks(uri))) > 1
    assert any_bucket.client.head_object(Bucket=any_bucket.name, Key="out/shard.bin")["Metadata"] == {
        "sha256": sha256(data)
    }
    s3.remove(uri)
    assert s3.stat(uri) is None
    s3.remove(uri)


@pytest.mark.parametrize("data", [b"", b"x"])
def test_small_objects_are_objects(any_bucket: Bucket, data: bytes):
    """An empty file must not count as absent, and must not replace anything."""
    uri = f"{any_bucket.uri}/small"
    assert put(data, uri).nbytes == len(data)
    assert s3.read(uri) == data
    with pytest.raises(ConfigError, match="exists with other bytes"):
        put(b"other", uri)
    assert s3.read(uri) == data


def test_what_is_there_with_the_same_bytes_is_as_good(any_bucket: Bucket):
    """A put that is repeated because its answer was lost meets itself."""
    uri = f"{any_bucket.uri}/again"
    assert put(b"same", uri) == put(b"same", uri)
    with pytest.raises(ConfigError, match=rf"^{uri} exists with other bytes; choose another output"):
        put(b"diff", uri)
    assert s3.read(uri) == b"same"


def test_one_of_many_equal_puts_is_stored_and_all_succeed(any_bucket: Bucket):
    stored = race(RACERS, lambda _: put(b"equal", f"{any_bucket.uri}/race"))
    assert {type(one) for one in stored} == {s3.Stored}
    assert len({one.etag for one in stored}) == 1


def test_one_of_many_different_puts_is_stored_and_the_others_are_told(any_bucket: Bucket):
    uri = f"{any_bucket.uri}/race"
    got = race(RACERS, lambda number: put(b"number %d" % number, uri))
    winners = [number for number, one in enumerate(got) if isinstance(one, s3.Stored)]
    assert s3.read(uri) == b"number %d" % winners[0]
    assert len(winners) == 1
    assert {type(one) for one in got} == {s3.Stored, OccupiedError}


def test_bytes_that_are_not_those_announced_are_refused(bucket: Bucket):
    """A file that rotted between its hash and the put; moto would store it, so only a real server shows this."""
    with pytest.raises(StorageError, match=r"BadDigest|XAmzContentSHA256Mismatch|sha256"):
        s3.put_new(b"rotten", f"{bucket.uri}/rotten", sha256(b"fresh"))
    assert s3.names(bucket.uri) == []


def test_bytes_that_a_trusting_server_stored_are_found_by_reading_them_back(moto_bucket: Bucket):
    with pytest.raises(StorageError, match=rf"expected 6 with sha256 {sha256(b'fresh')}"):
        s3.put_new(b"rotten", f"{moto_bucket.uri}/rotten", sha256(b"fresh"))


def test_a_key_means_itself(any_bucket: Bucket, tmp_path: Path):
    root = f"{any_bucket.uri}/odd"
    for name in ODD:
        put(name.encode(), f"{root}/{name}")
    listed = s3.names(root)
    assert [one.name for one in listed] == sorted(ODD, key=str.encode)
    for one in listed:
        uri, data = f"{root}/{one.name}", one.name.encode()
        assert any_bucket.get(f"odd/{one.name}") == data == s3.read(uri)
        s3.download(uri, tmp_path / "x", nbytes=len(data), sha256=sha256(data))
        assert s3.stat(uri) == s3.Stored(nbytes=one.nbytes, etag=one.etag)
        assert s3.swap(uri, b"next", one.etag).nbytes == 4
        assert s3.read(uri) == b"next"
        s3.remove(uri)
    assert s3.names(any_bucket.uri) == []


@pytest.mark.parametrize(
    "key", ["", "a//b", "/a", "a/", "../a", "a/../b", "a/./b", "a\0b", "a\nb", "a\u202eb", "n" * 1025]
)
def test_a_key_that_means_another_place_elsewhere_is_not_made(key: str):
    with pytest.raises(ConfigError, match="key"):
        put(b"x", f"s3://bucket/{key}")
    with pytest.raises(ConfigError, match="key"):
        s3.swap(f"s3://bucket/{key}", b"x", None)


@pytest.mark.parametrize("uri", ["bucket/key", "s3:///key", "https://bucket/key", "s3://"])
def test_what_is_no_uri_of_an_object_is_named(uri: str):
    with pytest.raises(ConfigError, match="expected s3://BUCKET/KEY"):
        s3.stat(uri)


def test_a_listing_is_ordered_by_bytes_and_complete(any_bucket: Bucket):
    """SeaweedFS lists a/b before a!; AWS gives at most 1,000 keys an answer."""
    keys = ["a/b", "a!", "a", "ab", "a/b/c", "B", "\u00e9", "z/" + "y" * 100]
    for key in [f"ord/{key}" for key in keys] + ["order", "orders/x"]:
        any_bucket.put(key, key)
    assert [listed.name for listed in s3.names(f"{any_bucket.uri}/ord")] == sorted(keys, key=str.encode)
    assert s3.names(f"{any_bucket.uri}/ord/") == s3.names(f"{any_bucket.uri}/ord")
    assert len(s3.names(any_bucket.uri)) == len(keys) + 2
    assert s3.names(f"{any_bucket.uri}/nothing") == []


def test_a_listing_goes_on_after_a_thousand_names(moto_bucket: Bucket):
    keys = [f"many/{number:05d}" for number in range(1001)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: moto_bucket.put(key, b""), keys))
    assert [f"many/{listed.name}" for listed in s3.names(f"{moto_bucket.uri}/many")] == keys


def test_a_pointer_moves_only_from_where_it_was_seen(any_bucket: Bucket):
    uri = f"{any_bucket.uri}/latest"
    first = s3.swap(uri, b"1", None)
    with pytest.raises(StorageError, match=rf"^{uri}: changed by another run"):
        s3.swap(uri, b"2", None)
    second = s3.swap(uri, b"2", first.etag)
    assert (second, s3.read(uri)) == (s3.stat(uri), b"2")
    with pytest.raises(StorageError, match="changed by another run"):
        s3.swap(uri, b"3", first.etag)
    assert s3.swap(uri, b"2", first.etag) == second, "a repeated swap whose answer was lost"
    s3.remove(uri)
    with pytest.raises(StorageError, match="changed by another run"):
        s3.swap(uri, b"3", second.etag)
    assert s3.stat(uri) is None


@pytest.mark.parametrize("begun", [True, False])
def test_one_of_racing_swaps_wins(any_bucket: Bucket, begun: bool):
    uri = f"{any_bucket.uri}/latest"
    expected = s3.swap(uri, b"start", None).etag if begun else None
    got = race(8, lambda number: s3.swap(uri, b"run %d" % number, expected))
    (winner,) = [number for number, one in enumerate(got) if isinstance(one, s3.Stored)]
    assert s3.read(uri) == b"run %d" % winner
    assert {type(one) for one in got} == {s3.Stored, StorageError}


def test_a_download_is_whole_or_not_there(any_bucket: Bucket, tmp_path: Path):
    uri, data = f"{any_bucket.uri}/x", random.Random(2).randbytes(1 << 20)
    put(data, uri)
    for nbytes, digest in ((len(data) + 1, sha256(data)), (len(data), sha256(b"other"))):
        with pytest.raises(StorageError, match=rf"^{uri}: has 1,048,576 bytes"):
            s3.download(uri, tmp_path / "x", nbytes=nbytes, sha256=digest)
        assert list(tmp_path.iterdir()) == []
    s3.download(uri, tmp_path / "x", nbytes=len(data), sha256=sha256(data))
    assert (tmp_path / "x").read_bytes() == data


def test_what_is_absent_is_named(any_bucket: Bucket, tmp_path: Path):
    uri = f"{any_bucket.uri}/absent"
    with pytest.raises(ConfigError, match=rf"^{uri}: .*there is no such object"):
        s3.read(uri)
    with pytest.raises(ConfigError, match="no such object"):
        s3.download(uri, tmp_path / "x", nbytes=0, sha256=sha256(b""))
    assert list(tmp_path.iterdir()) == []


NO_BUCKET = "s3://no-such-bucket-here/x"


@pytest.mark.parametrize("ask", [s3.read, s3.uploads, lambda uri: s3.abort(s3.Upload(uri=uri, id="x", initiated=NOW))])
@pytest.mark.usefixtures("any_bucket")
def test_a_missing_bucket_is_named(ask: Callable[[str], object]):
    with pytest.raises(ConfigError, match=rf"^{NO_BUCKET}: .*no such bucket; create it"):
        ask(NO_BUCKET)


@pytest.mark.parametrize("ask", [s3.names, lambda uri: put(b"x", uri), lambda uri: s3.swap(uri, b"x", "tag")])
@pytest.mark.usefixtures("moto_bucket")
def test_writing_to_a_missing_bucket_is_named(ask: Callable[[str], object]):
    """As AWS does; SeaweedFS makes a bucket for whoever may, and takes one that is missing for an empty one."""
    with pytest.raises(ConfigError, match=rf"^{NO_BUCKET}: .*no such bucket; create it"):
        ask(NO_BUCKET)
    assert s3.stat(NO_BUCKET) is None


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AWS_SECRET_ACCESS_KEY", "canary/secret", "the secret key is wrong"),
        ("AWS_ACCESS_KEY_ID", "CANARYKEY", "does not know this access key"),
    ],
)
def test_refused_keys_are_named_by_what_to_do_and_never_shown(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
):
    """moto lets everybody in, so only a real server shows this."""
    monkeypatch.setenv(variable, value)
    s3_client.use(None)
    for ask in (lambda: s3.read(f"{bucket.uri}/x"), lambda: put(b"x", f"{bucket.uri}/x")):
        with pytest.raises(ConfigError, match=message) as refused:
            ask()
        assert refused.value.__suppress_context__
        assert "canary" not in str(refused.value).lower()
    with pytest.raises(ConfigError, match="403"):
        s3.stat(f"{bucket.uri}/x")
