"""The command that a run prints at its end finds the store, and a store that is not there is told in seconds."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpora import request, write_documents
from object_store import Bucket

from gristmill import pipeline
from gristmill.commands.prepare import show
from gristmill.errors import ConfigError
from gristmill.storage import s3_client
from gristmill.storage.s3_client import S3Settings
from gristmill.storage.s3_reached import check_reached, variable

ROOT = Path(__file__).resolve().parents[3]


def on_a_shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run as printed, from the project's folder, without what this process knows of the store but the keys."""
    known = {name: value for name, value in os.environ.items() if name not in (s3_client.VARIABLE, "AWS_ENDPOINT_URL")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", command], env={**known, "PATH": path}, cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_verify_works_as_it_is_printed(tmp_path: Path, moto_bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    """The endpoint was in the configuration alone: what was printed asked Amazon, for a minute without a word."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    s3 = {"endpoint": moto_bucket.server.endpoint}
    execution = {"work": str(tmp_path / "work"), "workers": 1, "s3": s3}
    config = request(tmp_path, output=f"{moto_bucket.uri}/set", execution=execution)
    show(pipeline.prepare(config), config)
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("verify"))
    done = on_a_shell(printed.removeprefix("verify").strip())
    assert (done.returncode, done.stderr) == (0, "")
    assert "all as recorded" in done.stdout


def test_a_server_that_is_not_there_is_told_in_seconds(moto_bucket: Bucket) -> None:
    began = time.monotonic()
    done = on_a_shell(f"AWS_ENDPOINT_URL=http://127.0.0.1:9 python flows/verify.py {moto_bucket.uri}/set")
    assert done.returncode == 1
    assert "http://127.0.0.1:9" in done.stderr
    assert "set AWS_ENDPOINT_URL" in done.stderr
    assert done.stderr.count("\n") == 1
    assert time.monotonic() - began < 30  # about 3 s, of which 2 to start Python


def test_another_server_is_told_from_one_without_the_data_set(moto_bucket: Bucket) -> None:
    """Amazon answers too, and that it has no such bucket says which server was asked."""
    check_reached(f"{moto_bucket.uri}/set")
    check_reached("out/set")
    with pytest.raises(ConfigError, match=rf"{moto_bucket.server.endpoint}: no bucket 'absent-bucket' there; for"):
        check_reached("s3://absent-bucket/set")
    with pytest.raises(ConfigError, match="no keys in it") as refused:
        check_reached("s3://AKIA0:canary/a+b@bucket/set")
    assert "canary" not in str(refused.value)


def test_only_what_differs_from_the_defaults_is_printed() -> None:
    assert variable(None) == variable(S3Settings()) == ""
    found = variable(S3Settings(endpoint="https://s3.example.com", plain_http="allow"))
    assert found == """GRISTMILL_S3='{"endpoint":"https://s3.example.com","plain_http":"allow"}' """
