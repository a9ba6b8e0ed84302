"""Work area and output in an object store: the same bytes, and nothing trusted that is not there."""

from pathlib import Path

import corpora
import msgspec
import pytest
from corpora import small_corpus, write_documents
from object_store import Bucket, reached

from gristmill import ledger, pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, StorageError
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.storage import stores


@pytest.fixture(autouse=True)
def _own_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stores.SPOOL, str(tmp_path / "spool"))


def request(folder: Path, work: str, output: str) -> PrepareConfig:
    texts = small_corpus(60)
    for number in range(3):
        write_documents(folder / "in" / f"{number}.jsonl", texts[number::3] + texts[:2])
    settings = {"dedup": [{"kind": "exact"}], "split": {"fraction": 0.2}, "ordering": {"kind": "hashed"}}
    return corpora.request(folder, **settings, output=output, execution={"work": work})


def unpublish(config: PrepareConfig) -> None:
    """Take back the last step, so that the next run has to look at all the others."""
    place = stores.at(config.destination)
    for name in ("manifest.json", "manifests/g00001.json"):
        place.remove(name)
    place.publish("unfinished.json", [], b'{"dataset":"test"}')


def published(output: str) -> dict[str, bytes]:
    place = stores.at(output)
    return {name: place.read(name) for name in place.names()}


def test_the_data_set_in_a_store_has_the_bytes_of_the_one_on_disk(tmp_path: Path, bucket: Bucket) -> None:
    """A lab moves its nightly job to S3 and the tokens change."""
    disk = request(tmp_path, str(tmp_path / "work"), str(tmp_path / "out"))
    store = request(tmp_path, f"{bucket.uri}/a b/work", f"{bucket.uri}/out")
    pipeline.prepare(disk)
    pipeline.prepare(store)
    found = published(store.destination)
    assert found == published(disk.destination)
    assert len(found) > 5
    assert verify(store.destination).problems == []
    again = pipeline.prepare(store)
    assert again == read_manifest(disk.destination)


def test_another_machine_resumes_from_the_store_alone(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new machine with an empty spool must reuse what stands in the work area, and fetch only what it reads."""
    config = request(tmp_path, f"{bucket.uri}/work", f"{bucket.uri}/out")
    pipeline.prepare(config)
    unpublish(config)
    monkeypatch.setenv(stores.SPOOL, str(tmp_path / "other machine"))
    before = {entry.name: entry.etag for entry in stores.s3.names(f"{bucket.uri}/work")}
    pipeline.prepare(config)
    assert {entry.name: entry.etag for entry in stores.s3.names(f"{bucket.uri}/work")} == before
    assert verify(config.destination).problems == []


@pytest.mark.parametrize("harm", ["remove", "change"])
def test_a_work_file_that_is_gone_or_changed_is_made_again(tmp_path: Path, bucket: Bucket, harm: str) -> None:
    """A receipt without its object, or with another one in its place, must not be trusted."""
    config = request(tmp_path, f"{bucket.uri}/work", f"{bucket.uri}/out")
    pipeline.prepare(config)
    wanted = published(config.destination)
    (victim,) = [name for name in stores.at(config.execution.work).names("decide") if name.endswith("verdicts")]
    place = stores.at(config.execution.work)
    data = place.read(victim)
    place.remove(victim)
    if harm == "change":
        bucket.put(f"work/{victim}", bytes([data[0] ^ 1]) + data[1:])
    folder = place.where(victim.rpartition("/")[0])
    assert ledger.standing(folder) is None
    unpublish(config)
    pipeline.prepare(config)
    assert ledger.standing(folder) is not None
    assert place.read(victim) == data
    assert published(config.destination) == wanted


def test_a_damaged_copy_in_the_spool_is_fetched_again(tmp_path: Path, bucket: Bucket) -> None:
    """The spool is a cache: a disk that loses a bit there must not change what is published."""
    config = request(tmp_path, f"{bucket.uri}/work", f"{bucket.uri}/out")
    pipeline.prepare(config)
    place = stores.at(config.execution.work)
    report = next(
        found for name in place.names("tokenize") if (found := ledger.present(place.where(name.rpartition("/")[0])))
    )
    artifact = report.artifacts["tokens"]
    path = stores.here(artifact)
    whole = path.read_bytes()
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    assert stores.here(artifact).read_bytes() == whole
    path.unlink()
    assert stores.here(artifact).read_bytes() == whole


def test_a_verified_file_is_read_from_the_store_and_not_from_a_copy(tmp_path: Path, bucket: Bucket) -> None:
    """``verify`` must find what the store lost, though a good copy is at hand."""
    config = request(tmp_path, str(tmp_path / "work"), f"{bucket.uri}/out")
    pipeline.prepare(config)
    data = bytearray(bucket.get("out/nanogpt/train.bin"))
    data[11] ^= 4
    bucket.put("out/nanogpt/train.bin", bytes(data))
    problem, *_ = verify(config.destination).problems
    assert "nanogpt/train.bin: first difference in bytes 0 to" in problem


@pytest.mark.parametrize("store", [False, True])
def test_a_swap_replaces_what_was_seen_and_nothing_else(tmp_path: Path, bucket: Bucket, store: bool) -> None:
    """Two runs that end at once: the pointer must not go back to the older data set."""
    place = stores.at(f"{bucket.uri}/x" if store else tmp_path / "x")
    place.swap("latest", b"one", None)
    place.swap("latest", b"two", b"one")
    place.swap("latest", b"two", b"one")  # an answer that was lost: it is what we wanted
    with pytest.raises(StorageError, match="another run"):
        place.swap("latest", b"three", b"one")
    with pytest.raises(StorageError, match="another run"):
        place.swap("latest", b"three", None)
    assert place.read("latest") == b"two"


@pytest.mark.parametrize("store", [False, True])
def test_what_is_published_is_never_replaced(tmp_path: Path, bucket: Bucket, store: bool) -> None:
    """A second data set under the same name must not overwrite the first."""
    place = stores.at(f"{bucket.uri}/x" if store else tmp_path / "x")
    part = tmp_path / "part"
    part.write_bytes(b"23")
    first = place.publish("a/b", [part], b"1")
    assert place.publish("a/b", [part], b"1").sha256 == first.sha256
    with pytest.raises(ConfigError, match="other bytes"):
        place.publish("a/b", [part], b"0")
    assert place.read("a/b") == b"123"
    assert place.names() == place.names("a") == ["a/b"]
    assert (place.has("a/b"), place.has("a")) == (True, False)
    with place.fresh("a/b") as path:
        assert path.read_bytes() == b"123"


def test_a_listing_passes_over_what_is_being_made(tmp_path: Path) -> None:
    """The folder of a stage at work changes while it is listed, and nothing in it has its name yet."""
    for name in ("a/b", ".tmp-77-0123abcd-x/inner/y", "a/.tmp-77-0123abcd-z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12")
    place = stores.at(tmp_path)
    assert place.names() == place.names("a") == ["a/b"]
    assert {name: entry.nbytes for name, entry in place.entries().items()} == {"a/b": 2}
    assert place.names("nothing") == []


def resealed(config: PrepareConfig, stage: str, **changes: str) -> tuple[str, str]:
    """Change what the receipt of a stage says of its first file; returns the names of its folder and of the file."""
    place = stores.at(config.execution.work)
    folder = next(name for name in place.names(stage) if name.endswith(ledger.REPORT)).rpartition("/")[0]
    report = ledger.present(place.where(folder))
    assert report is not None
    name, artifact = next(iter(report.artifacts.items()))
    changed = msgspec.structs.replace(artifact, **changes)
    data = ledger.sealed(msgspec.structs.replace(report, artifacts={**report.artifacts, name: changed}))
    place.remove(f"{folder}/{ledger.REPORT}")
    place.publish(f"{folder}/{ledger.REPORT}", [], data)
    return place.where(folder), artifact.uri.removeprefix(f"{place.uri}/")


def test_objects_are_read_again_where_the_etag_is_not_trusted(tmp_path: Path, bucket: Bucket) -> None:
    """A store that loses a bit and keeps the ETag: by default its word counts, on demand the bytes do."""
    config = request(tmp_path, f"{bucket.uri}/work", f"{bucket.uri}/out")
    pipeline.prepare(config)
    wanted, place = published(config.destination), stores.at(config.execution.work)
    folder, name = resealed(config, "clean", etag='"0"')
    assert ledger.standing(folder) is None
    with reached(bucket.server.endpoint, recheck="sha256"):
        assert ledger.standing(folder) is not None
    data = place.read(name)
    bucket.put(f"work/{name}", bytes([data[0] ^ 1]) + data[1:])
    etag = {entry.name: entry.etag for entry in stores.s3.names(f"{bucket.uri}/work")}[name]
    assert resealed(config, "clean", etag=etag) == (folder, name)
    assert ledger.standing(folder) is not None
    with reached(bucket.server.endpoint, recheck="sha256"):
        assert ledger.standing(folder) is None
        unpublish(config)
        pipeline.prepare(config)
        assert ledger.standing(folder) is not None
    assert place.read(name) == data
    assert published(config.destination) == wanted
