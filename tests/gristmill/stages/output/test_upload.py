"""What arrives at the output is counted there, and never put in the place of something else."""

import shutil
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from corpora import EOT, documents_of, reports, request, tree, write_documents
from fault_proxy import FaultProxy
from object_store import Bucket, reached

from gristmill import ledger, pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, VerificationError
from gristmill.storage import disk


@pytest.fixture
def config(tmp_path: Path) -> PrepareConfig:
    """A data set that was made once, its output removed again: stages up to pack stand."""
    write_documents(tmp_path / "in" / "a.jsonl", [f"document {number}" for number in range(50)])
    asked = request(tmp_path)
    pipeline.prepare(asked)
    shutil.rmtree(asked.destination)
    return asked


def reseal(packed: Path) -> None:
    """Record the changed file as what the stage wrote, as a fault in the stage itself would."""
    report = ledger.present(packed.parent)
    assert report is not None
    tokens = msgspec.structs.replace(report.artifacts["tokens"], sha256=disk.digest(packed))
    changed = msgspec.structs.replace(report, artifacts={**report.artifacts, "tokens": tokens})
    (packed.parent / ledger.REPORT).write_bytes(ledger.sealed(changed))


@pytest.mark.parametrize(("old", "new"), [(EOT, 1), (1, EOT)])
def test_an_end_of_text_too_few_or_too_many_fails_the_run(config: PrepareConfig, old: int, new: int) -> None:
    """Counts summed up in memory would say that all is well; the published bytes say otherwise."""
    packed = next(Path(config.execution.work).glob("pack/*/tokens"))
    ids = np.fromfile(packed, "<u2")
    ids[np.flatnonzero(ids != EOT)[3] if old == 1 else np.flatnonzero(ids == EOT)[3]] = new
    ids.tofile(packed)
    reseal(packed)
    with pytest.raises(VerificationError, match=r"train\.bin: counted .*'EOS': (49|51).*the reports say .*'EOS': 50"):
        pipeline.prepare(config)
    assert not (Path(config.destination) / "manifest.json").exists()


def test_a_file_of_another_origin_is_left_alone(config: PrepareConfig) -> None:
    """A train.bin that somebody put there is not ours to replace, however equal its name and size."""
    target = Path(config.destination) / "nanogpt" / "train.bin"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"theirs")
    with pytest.raises(ConfigError, match=r"train\.bin belongs to no finished data set; .*choose another --output"):
        pipeline.prepare(config)
    assert target.read_bytes() == b"theirs"
    assert sorted(path.name for path in Path(config.destination).rglob("*")) == ["nanogpt", "train.bin"]


def test_an_output_that_was_removed_is_made_again(config: PrepareConfig) -> None:
    """A receipt in the work area must not stand for a file that is gone."""
    manifest = pipeline.prepare(config)
    before = tree(Path(config.destination))
    (Path(config.destination) / "nanogpt" / "train.bin").unlink()
    assert pipeline.prepare(config) == manifest
    assert tree(Path(config.destination)) == before


def test_addresses_of_local_files_are_paths(tmp_path: Path) -> None:
    """``file:///data/out`` taken for a relative path ends up below the current folder."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    work = {"work": f"file://{tmp_path}/elsewhere/work"}
    pipeline.prepare(request(tmp_path, output=f"file://{tmp_path}/elsewhere/out", execution=work))
    assert documents_of(tmp_path / "elsewhere" / "out" / "nanogpt" / "train.bin") == ["one", "two"]
    assert (tmp_path / "elsewhere" / "work" / "pack").is_dir()


def test_the_report_says_how_the_file_got_there(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload that takes hours because every second request is refused must not look like a slow one."""
    sleep = time.sleep
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: sleep(min(seconds, 0.01)))
    write_documents(tmp_path / "in" / "a.jsonl", [f"document {number}" for number in range(50)])
    calm = request(tmp_path, output=f"{bucket.uri}/calm")
    pipeline.prepare(calm)
    with FaultProxy(bucket.server.endpoint, {"slow_down": 0.3}, seed=3) as proxy:
        with reached(proxy.endpoint, attempts=12):
            pipeline.prepare(request(tmp_path, output=f"{bucket.uri}/busy"))
        assert proxy.met["slow_down"] > 3
    uploaded = [report for report in reports(calm) if report.stage == "upload"]
    transfers = {report.artifacts["file"].uri: report.details["transfer"] for report in uploaded}
    quiet, busy = (transfers[f"{bucket.uri}/{name}/nanogpt/train.bin"] for name in ("calm", "busy"))
    assert quiet["retries"] == 0 < busy["retries"] <= proxy.met["slow_down"]
    assert quiet["bytes"] == busy["bytes"] == uploaded[0].artifacts["file"].nbytes
    assert min(quiet["seconds"], busy["seconds"]) > 0


def test_a_damaged_claim_is_named(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "a.jsonl", ["one"])
    config = request(tmp_path)
    disk.write(Path(config.destination) / "unfinished.json", b"\xff{")
    with pytest.raises(VerificationError, match=r"unfinished\.json: damaged .*; remove it"):
        pipeline.prepare(config)
