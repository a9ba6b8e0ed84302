"""Objects too large for one put, on two servers."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from object_store import Bucket, put, sha256

from gristmill.errors import ConfigError, StorageError
from gristmill.storage import s3

PART = 5 << 20
"""The smallest part that S3 takes unless it is the last."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Twelve megabytes that go in three parts."""
    monkeypatch.setattr(s3, "PART_BYTES", PART)
    return random.Random(3).randbytes(2 * PART + 99)


def test_a_large_object_goes_in_parts(any_bucket: Bucket, small_parts: bytes, tmp_path: Path):
    uri = f"{any_bucket.uri}/large"
    (tmp_path / "large").write_bytes(small_parts)
    for _ in range(2):  # the second one meets the first
        made = s3.put_new(tmp_path / "large", uri, sha256(small_parts), single_bytes=PART)
        assert made == s3.stat(uri)
    assert s3.read(uri) == small_parts
    with pytest.raises(ConfigError, match="exists with other bytes"):
        put(small_parts[::-1], uri, single_bytes=PART)
    assert s3.read(uri) == small_parts
    assert s3.uploads(any_bucket.uri) == []


def test_parts_that_are_not_what_was_announced_never_become_an_object(any_bucket: Bucket, small_parts: bytes):
    """Each part's checksum is right, and the whole is not what was hashed: no server can tell."""
    with pytest.raises(StorageError, match="the file to send has sha256"):
        s3.put_new(small_parts, f"{any_bucket.uri}/large", sha256(b"other"), single_bytes=PART)
    assert (s3.names(any_bucket.uri), s3.uploads(any_bucket.uri)) == ([], [])


KILLED = """
import hashlib, os, signal, sys
from gristmill.storage import s3
from gristmill.storage import s3_client
client = s3_client.client()
send = client.upload_part
def last(**arguments):
    answer = send(**arguments)
    if arguments["PartNumber"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
client.upload_part = last
s3.PART_BYTES = 5 << 20
data = bytes(11 << 20)
s3.put_new(data, sys.argv[1], hashlib.sha256(data).hexdigest(), single_bytes=5 << 20)
"""


def test_an_upload_that_was_killed_is_listed_and_removed(any_bucket: Bucket):
    """Parts of a killed process are kept, and billed, for ever unless somebody looks."""
    uri = f"{any_bucket.uri}/out/killed *?.bin"
    assert subprocess.run([sys.executable, "-c", KILLED, uri], check=False).returncode == -9
    assert s3.stat(uri) is None
    (upload,) = s3.uploads(f"{any_bucket.uri}/out")
    assert (upload.uri, s3.uploads(any_bucket.uri), s3.uploads(f"{any_bucket.uri}/ou")) == (uri, [upload], [])
    s3.abort(upload)
    assert s3.uploads(any_bucket.uri) == []
    s3.abort(upload)
