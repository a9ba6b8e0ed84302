"""The flow on an output that holds a data set already, and on an object store."""

import sqlite3
from pathlib import Path

import pytest
from corpora import request, small_corpus, tree, write_documents
from flow_runs import Run
from object_store import ACCESS_KEY, SECRET_KEY, Bucket

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.storage import s3, s3_client, stores

CANARY = "canary-7c1e-nobody-must-read-this"


def asked(folder: Path, name: str, output: str = "", work: str = "") -> PrepareConfig:
    place = {
        "output": output or str(folder / name / "out"),
        "execution": {"work": work or str(folder / name / "work"), "workers": 2},
    }
    rest = {"dedup": [{"kind": "exact"}], "ordering": {"kind": "hashed"}, "split": {"fraction": 0.1}}
    return request(folder, **{**rest, **place, "max_quarantined_share": 1.0})


def arrive(folder: Path, night: int) -> None:
    texts = small_corpus(40)
    write_documents(folder / "in" / f"{night}.jsonl.gz", [*texts[10 * night : 10 * night + 12], texts[0]])


def test_the_second_night_runs_only_what_arrived(tmp_path: Path) -> None:
    """A schedule that reads everything again each night stops being nightly after a month; a list of nightly runs with
    one name for all does not say which of them added what."""
    for night in range(2):
        arrive(tmp_path, night)
        made = Run(asked(tmp_path, "flow"))
        assert made.state.is_completed()
        pipeline.prepare(asked(tmp_path, "serial"))
        assert made.bytes == tree(tmp_path / "serial" / "out")
        tasks = made.tasks([f"fetch-shard-{night:05d}", f"upload-nanogpt-{0:05d}", "publish"])
        assert {name for name in tasks if name.startswith("fetch")} == {f"fetch-shard-{night:05d}"}
        assert made.name == f"test-g{night + 1}"
    quiet = Run(asked(tmp_path, "flow"))
    assert quiet.state.is_completed()
    assert set(quiet.tasks(["plan", "stand"])) == {"plan", "stand"}
    assert quiet.name == made.name
    assert quiet.bytes == made.bytes
    assert "corpus-report" in quiet.artifacts()


def test_a_run_on_a_store_gives_the_bytes_of_the_disk_and_no_secret_anywhere(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Keys in a log, a database or an artifact are keys for everybody who can read those."""
    monkeypatch.setenv("HF_TOKEN", CANARY)
    monkeypatch.setenv("GRISTMILL_CANARY", CANARY)
    arrive(tmp_path, 0)
    with (tmp_path / "in" / "0.jsonl").open("w") as bad:
        bad.write('{"text": 7}\n{"text": "a document that is good"}\n')
    made = Run(asked(tmp_path, "store", f"{bucket.uri}/out", f"{bucket.uri}/work"))
    assert made.state.is_completed()
    disk = asked(tmp_path, "disk")
    pipeline.prepare(disk)
    place = stores.at(f"{bucket.uri}/out")
    assert {name: place.read(name) for name in place.names()} == {
        name: (Path(disk.destination) / name).read_bytes() for name in tree(Path(disk.destination))
    }
    assert verify(place.uri).problems == []
    assert read_manifest(place.uri).quarantined == {"non_string_text": 1}
    written = {listed.name: bucket.get(listed.name) for listed in s3.names(bucket.uri)}
    written |= {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    written |= {str(path): path.read_bytes() for path in stores.spool().rglob("*") if path.is_file()}
    written |= {"artifacts": repr(made.artifacts()).encode(), "terminal": repr(capfd.readouterr()).encode()}
    written |= {"database": dumped_database()}
    assert b"upload shard-00000: " in written["database"]
    for place_name, data in written.items():
        for secret in (SECRET_KEY, ACCESS_KEY, CANARY):
            assert secret.encode() not in data, f"{secret} is in {place_name}"


def test_a_refused_bucket_is_named_without_its_keys(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A server repeats parts of a request that it refuses, and a failed run is what people send around."""
    arrive(tmp_path, 0)
    config = asked(tmp_path, "refused", f"{bucket.uri}/out")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    monkeypatch.setenv("PREFECT_LOGGING_EXTRA_LOGGERS", "botocore")
    s3_client.use(None)
    made = Run(config)
    assert made.state.is_failed()
    with pytest.raises(ConfigError, match=f"{bucket.uri}/out.*: the secret key is wrong") as refused:
        made.state.result()
    told = {"error": str(refused.value), "state": repr(made.state), "artifacts": repr(made.artifacts())}
    told |= {"terminal": repr(capfd.readouterr()), "database": dumped_database().decode()}
    assert "the secret key is wrong" in told["database"]
    for where, text in told.items():
        for secret in (CANARY, ACCESS_KEY, "AWS4-HMAC"):
            assert secret not in text, f"{secret} is in {where}"


def dumped_database() -> bytes:
    """Everything that the server of the tests remembers, the logs that are still on their way included."""
    from prefect.logging.handlers import APILogHandler
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL

    APILogHandler().flush()
    url = PREFECT_API_DATABASE_CONNECTION_URL.value()
    assert url is not None
    path = Path(str(url.get_secret_value() if hasattr(url, "get_secret_value") else url).partition("///")[2])
    assert path.is_file(), path
    with sqlite3.connect(path) as database:
        return "\n".join(database.iterdump()).encode()
