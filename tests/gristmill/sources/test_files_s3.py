"""``files`` on an object store that speaks S3: moto's server, exact in keys and listings."""

import json
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import Bucket, Server, reached
from reading import read

from gristmill.errors import ConfigError, InputError, StorageError
from gristmill.sources import _listing
from gristmill.sources.files import Files
from gristmill.storage import s3_client

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


@pytest.fixture(scope="module")
def store(moto: Server) -> Iterator[Bucket]:
    with reached(moto.endpoint):
        yield Bucket(moto, "corpus")


def found(*paths: str) -> list[str]:
    return [shard.uri for shard in Files(paths=list(paths)).shards()]


@pytest.fixture(scope="module")
def odd(store: Bucket) -> list[str]:
    for key in ODD:
        store.put(key, json.dumps({"text": key}))
    for key in ("odd/_SUCCESS", "odd/.hidden.jsonl", "odd/_temporary/x.jsonl", "odd/folder/", "odd/n.csv"):
        store.put(key, "{}")
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


def test_the_identity_is_the_content_and_not_the_time(store: Bucket):
    """Equal bytes that were uploaded again must not redo a shard; other bytes of the same size must."""
    source = Files(paths=["s3://corpus/etag/x.jsonl"])

    def identity(text: str) -> str:
        store.put("etag/x.jsonl", f'{{"text": "{text}"}}\n')
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


def test_an_object_that_goes_away_after_planning_is_named(store: Bucket):
    store.put("gone/x.jsonl", "{}")
    source = Files(paths=["s3://corpus/gone"])
    (shard,) = source.shards()
    store.client.delete_object(Bucket=store.name, Key="gone/x.jsonl")
    with pytest.raises(InputError, match=r"s3://corpus/gone/x.jsonl: cannot be read"):
        list(source.read(shard))


def test_an_object_that_is_replaced_while_it_is_read_is_retried(store: Bucket, monkeypatch: pytest.MonkeyPatch):
    """Half of one version and half of the next would be a document that nobody wrote."""
    monkeypatch.setattr(s3_client.filesystem(), "default_block_size", 1 << 20)
    store.put("replaced/x.jsonl", b"a" * (4 << 20))
    with _listing.opened("s3://corpus/replaced/x.jsonl") as raw:
        assert raw.read(4) == b"aaaa"
        store.put("replaced/x.jsonl", b"b" * (4 << 20))
        with pytest.raises(StorageError, match=r"s3://corpus/replaced/x.jsonl: reading failed at byte"):
            list(iter(lambda: raw.read(1 << 20), b""))


@pytest.mark.usefixtures("odd")
def test_the_same_settings_reach_inputs_and_outputs(store: Bucket, monkeypatch: pytest.MonkeyPatch):
    """fsspec has variables of its own: inputs must not come from another server than outputs go to."""
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", "http://127.0.0.1:9")
    with reached(store.server.endpoint):
        assert s3_client.filesystem().call_s3("head_object", Bucket="corpus", Key="odd/plain.jsonl")
        assert len(found("s3://corpus/odd")) == len(ODD)


@pytest.mark.usefixtures("store")
def test_missing_credentials_are_a_mistake_and_not_retried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3_client.use(None)
    try:
        with pytest.raises(ConfigError, match=r"^s3://corpus/odd: .*credentials"):
            found("s3://corpus/odd")
    finally:
        monkeypatch.undo()
        s3_client.use(None)


def test_refused_keys_are_a_mistake_and_no_bad_file(bucket: Bucket, monkeypatch: pytest.MonkeyPatch):
    """Or ``on_bad_file: quarantine`` would finish without any input."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    s3_client.use(None)
    with pytest.raises(ConfigError, match=rf"^{bucket.uri}/x.jsonl: .*403"):
        found(f"{bucket.uri}/x.jsonl")


def test_row_groups_and_ranges_tile_a_file(store: Bucket, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 4000)
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
    texts = [f"{number} " * 20 for number in range(300)]
    table = BytesIO()
    pq.write_table(pa.table({"text": texts}), table, row_group_size=50)
    store.put("parts/x.parquet", table.getvalue())
    store.put("parts/y.jsonl", "".join(f'{{"text": "{text}"}}\n' for text in texts))
    source = Files(paths=["s3://corpus/parts"])
    shards = source.shards()
    assert len({shard.uri for shard in shards}) == 2
    parts = [shard.part or {} for shard in shards if shard.uri.endswith("parquet")]
    assert (parts[0]["start"], parts[-1]["stop"], len(parts)) == (0, 6, 5)
    assert all(first["stop"] == second["start"] for first, second in pairwise(parts))
    assert len(shards) > 10
    assert read(source).texts == texts * 2
