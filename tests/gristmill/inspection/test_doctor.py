"""What is left behind is found and removed, and nothing else is."""

import os
import shutil
import time
from pathlib import Path

import corpora
import pytest
from corpora import small_corpus, write_documents
from object_store import Bucket

from gristmill import ledger, pipeline
from gristmill.commands import doctor as command
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.inspection import doctor
from gristmill.inspection.verify import verify
from gristmill.storage import disk, stores

GONE = 2**22 + 1
"""No process has this number (Linux has 2**22 at most)."""


@pytest.fixture(params=["disk", "store"])
def config(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PrepareConfig:
    """A finished data set, its work area and spool, on disk and in a store."""
    monkeypatch.setenv(stores.SPOOL, str(tmp_path / "spool"))
    root = str(tmp_path)
    if request.param == "store":
        bucket: Bucket = request.getfixturevalue("bucket")
        root = bucket.uri
    return made(tmp_path, f"{root}/work", f"{root}/out")


def made(folder: Path, work: str, output: str) -> PrepareConfig:
    for number in range(2):
        write_documents(folder / "in" / f"{number}.jsonl", [*small_corpus(20)[number::2], small_corpus(1)[0]])
    settings = {"dedup": [{"kind": "exact"}], "split": {"fraction": 0.2}, "ordering": {"kind": "hashed"}}
    config = corpora.request(folder, **settings, output=output, execution={"work": work})
    pipeline.prepare(config)
    return config


def put(uri: str, name: str, data: bytes = b"x") -> None:
    place = stores.at(uri)
    place.remove(name)
    place.publish(name, [], data)


def kinds(uri: str, hours: float = 0) -> list[tuple[str, str]]:
    found = doctor.examine(uri, hours)
    assert all(finding.uri.startswith(uri) for finding in found)
    return sorted((finding.kind, finding.uri[len(uri) + 1 :]) for finding in found)


def test_what_is_well_gives_nothing(config: PrepareConfig, tmp_path: Path) -> None:
    """A false alarm with --fix behind it would delete a day's work."""
    places_of_run = [config.destination, config.execution.work, str(tmp_path / "spool")]
    for uri in places_of_run:
        assert doctor.examine(uri, 0) == []
        assert command.main([uri, "--older", "0", "--fix"]) == 0
    write_documents(tmp_path / "in" / "2.jsonl", small_corpus(30)[20:])
    pipeline.prepare(config)
    for uri in places_of_run:
        assert doctor.examine(uri, 0) == []
    assert verify(config.destination).problems == []


def test_files_of_others_are_not_ours_to_judge(config: PrepareConfig) -> None:
    """Somebody keeps a note, or the work area itself, in the folder of the data set."""
    for uri in (config.destination, config.execution.work):
        put(uri, "README.txt")
        put(uri, "notes/of/mine.txt")
        assert kinds(uri) == []


def test_a_published_file_that_is_gone_or_that_nobody_lists(config: PrepareConfig) -> None:
    stores.at(config.destination).remove("nanogpt/val.bin")
    put(config.destination, "nanogpt/train-g00007.bin")
    found = [("missing", "nanogpt/val.bin"), ("unlisted", "nanogpt/train-g00007.bin")]
    assert kinds(config.destination) == found
    assert kinds(config.destination, hours=1) == found[:1]
    assert command.main([config.destination, "--older", "0", "--fix"]) == 1
    assert kinds(config.destination) == found[:1]
    pipeline.prepare(config)
    assert kinds(config.destination) == []


def test_a_data_set_that_is_being_made(config: PrepareConfig, capsys: pytest.CaptureFixture[str]) -> None:
    """Its files have no manifest yet: to remove them would take them from the run that is at work."""
    put(config.destination, "unfinished.json", b'{"dataset":"test"}')
    put(config.destination, "nanogpt/train-g00002.bin")
    assert kinds(config.destination) == [("unfinished", "")]
    for name in ("manifest.json", "manifests/g00001.json"):
        stores.at(config.destination).remove(name)
    assert kinds(config.destination) == [("unfinished", "")]
    assert command.main([config.destination, "--older", "0", "--fix"]) == 1
    assert "run the configuration of 'test' again" in capsys.readouterr().out
    assert stores.at(config.destination).has("nanogpt/train.bin")


def test_a_pointer_that_was_not_moved_on(config: PrepareConfig) -> None:
    stores.at(config.destination).remove("manifest.json")
    assert kinds(config.destination) == [("unfinished", "")]
    pipeline.prepare(config)
    assert kinds(config.destination) == []


@pytest.mark.parametrize("stage", ["sign", "decide"])
def test_a_receipt_without_a_file_and_files_without_a_receipt(config: PrepareConfig, stage: str) -> None:
    """Both stand in the way of nothing, for the next run replaces them; but they are kept, and paid for, until then."""
    work, place = config.execution.work, stores.at(config.execution.work)
    names = place.names(stage)
    receipts = [name for name in names if name.endswith(ledger.REPORT)]
    first = receipts[0].removesuffix(ledger.REPORT)
    files = [name for name in names if name.startswith(first) and name not in receipts]
    data = place.read(files[0])
    put(work, files[0], data + b"x")
    wanted = [("incomplete", receipts[0]), *(("unlisted", name) for name in files)]
    assert kinds(work) == wanted
    assert kinds(work, hours=1) == []
    place.remove(receipts[0])
    assert kinds(work) == wanted[1:]
    assert command.main([work, "--older", "0"]) == 1
    assert command.main([work, "--older", "0", "--fix"]) == 0
    assert kinds(work) == []
    assert not set(files) & set(place.names())


def test_a_work_area_that_was_moved_or_is_named_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts hold the names that the run was given: ``work`` means nothing in another folder."""
    monkeypatch.chdir(tmp_path)
    made(tmp_path, "relative", "other")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert doctor.examine("../relative", 0) == []
    shutil.move(tmp_path / "relative", tmp_path / "moved")
    assert doctor.examine(str(tmp_path / "moved"), 0) == []
    shutil.rmtree(tmp_path / "other")
    assert doctor.examine(str(tmp_path / "moved"), 0) == []


def test_files_half_made(tmp_path: Path) -> None:
    """Those of a process that is at work, and those that other programs name alike, stay."""
    config = made(tmp_path, str(tmp_path / "work"), str(tmp_path / "out"))
    gone = Path(config.execution.work) / "clean" / disk.temporary("x", GONE)
    (gone / "inner").mkdir(parents=True)
    (gone / "inner" / disk.temporary("y", GONE)).write_bytes(b"y")
    (Path(config.destination) / disk.temporary("z", GONE)).write_bytes(b"z")
    for name in (disk.temporary("mine"), ".tmp-theirs", ".tmp-77-theirs"):
        (Path(config.execution.work) / name).write_bytes(b"kept")
    assert kinds(config.execution.work) == [("temporary", f"clean/{gone.name}")]
    assert kinds(config.destination) == [("temporary", disk.temporary("z", GONE))]
    assert kinds(config.execution.work, hours=1) == []
    old = time.time() - 7200
    os.utime(gone, (old, old))
    assert len(kinds(config.execution.work, hours=1)) == 1
    for uri in (config.execution.work, config.destination):
        assert command.main([uri, "--older", "0", "--fix"]) == 0
        assert kinds(uri) == []
    assert not gone.exists()
    assert len(list(Path(config.execution.work).glob(".tmp-*"))) == 3


def test_uploads_that_never_became_an_object(bucket: Bucket) -> None:
    """Parts are billed until somebody removes them, and no listing shows them."""
    for key in ("work/stage/x", "elsewhere/x"):
        bucket.client.create_multipart_upload(Bucket=bucket.name, Key=key)
    work = f"{bucket.uri}/work"
    assert kinds(work) == [("upload", "stage/x")]
    assert command.main([work, "--fix"]) == 2  # too young, and nothing else is there
    assert command.main([work, "--older", "0"]) == 1
    assert command.main([work, "--older", "0", "--fix"]) == 0
    assert len(bucket.client.list_multipart_uploads(Bucket=bucket.name)["Uploads"]) == 1


def test_nothing_at_all_is_no_good_news(tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    """A typo in the name would look like a healthy data set."""
    for uri in (str(tmp_path / "typo"), f"{bucket.uri}/typo", "s3://no-such-bucket-0001/out"):
        with pytest.raises(ConfigError, match=uri):
            doctor.examine(uri, 24)
        assert command.main([uri, "--fix"]) == 2
    assert "nothing is there; give an output or a work area" in capsys.readouterr().err
