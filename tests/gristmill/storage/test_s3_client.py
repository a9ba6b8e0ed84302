"""One settings object for every client, no secret anywhere, and what each error of a client means."""

import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from botocore import exceptions as theirs
from object_store import ACCESS_KEY, SECRET_KEY, Bucket, reached

from gristmill import errors
from gristmill.errors import ConfigError, StorageError
from gristmill.processes import pool
from gristmill.storage import s3_client
from gristmill.storage.s3_client import S3Settings

ELSEWHERE = "http://192.0.2.1:8333"


@pytest.fixture(autouse=True)
def _nobody_elses_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with reached("http://127.0.0.1:9"):
        monkeypatch.delenv(s3_client.VARIABLE)
        yield


@pytest.mark.parametrize(
    "endpoint",
    ["http://127.0.0.1:8333", "http://localhost:1", "http://[::1]:8333", "https://s3.example.com", ELSEWHERE],
)
def test_plain_http_goes_no_further_than_this_machine(endpoint: str):
    if endpoint == ELSEWHERE:
        with pytest.raises(ConfigError, match=r"not encrypted; use https://, or allow it with plain_http: allow"):
            S3Settings(endpoint=endpoint)
    assert S3Settings(endpoint=endpoint, plain_http="allow").endpoint == endpoint


@pytest.mark.parametrize("endpoint", ["localhost:8333", "ftp://h", "https://", "http://localhost.evil.example:80"])
def test_what_is_no_endpoint_is_refused(endpoint: str):
    with pytest.raises(ConfigError, match="S3 endpoint"):
        S3Settings(endpoint=endpoint)


def test_a_password_in_the_endpoint_is_refused_and_not_repeated():
    with pytest.raises(ConfigError, match="has a user name or password in it") as refused:
        S3Settings(endpoint="https://user:canary@s3.example.com")
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
@pytest.mark.parametrize("make", [s3_client.client, s3_client.filesystem])
def test_an_endpoint_of_the_environment_follows_the_same_rule(
    monkeypatch: pytest.MonkeyPatch, variable: str, make: Any
):
    monkeypatch.setenv(variable, ELSEWHERE)
    s3_client.use(None)
    with pytest.raises(ConfigError, match="not encrypted"):
        make()
    monkeypatch.setenv(variable, "no url")
    s3_client.use(None)
    with pytest.raises(ConfigError, match="S3 endpoint"):
        make()


def test_an_endpoint_of_a_profile_follows_the_same_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "config").write_text(f"[profile lab]\nendpoint_url = {ELSEWHERE}\nregion = eu-central-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    s3_client.use(S3Settings())
    with pytest.raises(ConfigError, match="not encrypted"):
        s3_client.client()
    s3_client.use(S3Settings(plain_http="allow"))
    assert (s3_client.client().meta.endpoint_url, s3_client.client().meta.region_name) == (ELSEWHERE, "eu-central-1")


def test_both_clients_follow_the_settings(monkeypatch: pytest.MonkeyPatch):
    """A setting that reaches one of two clients sends inputs and outputs to different places."""
    monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", ELSEWHERE)
    chosen = S3Settings(
        endpoint="https://s3.example.com",
        region="eu-west-3",
        addressing_style="path",
        connect_seconds=3,
        read_seconds=4,
        attempts=5,
    )
    s3_client.use(chosen)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"key": "OTHER", "secret": "other"})
    fs = s3_client.filesystem()
    fs.connect()
    assert (fs.key, fs.secret) == (None, None)
    for made in (s3_client.client(), fs.s3):
        config = made.meta.config
        assert (made.meta.endpoint_url, made.meta.region_name) == ("https://s3.example.com", "eu-west-3")
        assert (config.connect_timeout, config.read_timeout) == (3, 4)
        assert config.retries == {"mode": "standard", "total_max_attempts": 5}
        assert config.s3["addressing_style"] == "path"
    assert fs.dircache.use_listings_cache is False
    assert s3_client.client() is s3_client.client()
    assert s3_client.filesystem() is fs


def test_worker_processes_use_the_same_settings():
    chosen = S3Settings(endpoint="https://s3.example.com", attempts=2)
    pool.close()
    s3_client.use(chosen)
    try:
        assert pool.call(s3_client.in_force) == chosen
    finally:
        pool.close()


def test_settings_that_were_not_given_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    assert s3_client.in_force() == S3Settings()
    monkeypatch.setenv(s3_client.VARIABLE, S3Settings(attempts=2).model_dump_json())
    assert s3_client.in_force().attempts == 2
    s3_client.use(S3Settings(attempts=4))
    assert s3_client.environment() == {s3_client.VARIABLE: S3Settings(attempts=4).model_dump_json()}
    s3_client.use(None)
    assert s3_client.in_force().attempts == 2
    monkeypatch.setenv(s3_client.VARIABLE, '{"secret": "canary"}')
    with pytest.raises(ConfigError, match="GRISTMILL_S3: secret: ") as refused:
        s3_client.in_force()
    assert "canary" not in str(refused.value)


def test_debug_logging_shows_no_keys(bucket: Bucket):
    """At debug level the clients' libraries log credentials and signatures, whoever asked for that level."""
    program = (
        "import logging; logging.basicConfig(level=logging.DEBUG)\n"
        "from gristmill.storage import s3, s3_client; import hashlib\n"
        f"s3.put_new(b'x', '{bucket.uri}/x', hashlib.sha256(b'x').hexdigest())\n"
        f"print(s3.read('{bucket.uri}/x'), s3_client.filesystem().cat_file('{bucket.uri}/x'))\n"
        "logging.getLogger('gristmill').debug('still here')\n"
    )
    with reached(bucket.server.endpoint):
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "b'x' b'x'\n"
    assert "still here" in ran.stderr
    for secret in (ACCESS_KEY, SECRET_KEY, "Signature"):
        assert secret not in ran.stderr


def test_settings_and_clients_hold_no_secret(bucket: Bucket):
    """fsspec keeps the keys that it was given where they are shown and pickled; so it is given none."""
    with reached(bucket.server.endpoint):
        fs = s3_client.filesystem()
        assert fs.exists(bucket.uri)
        for text in (repr(fs.storage_options), str(s3_client.environment()), repr(s3_client.in_force())):
            assert SECRET_KEY not in text
            assert ACCESS_KEY not in text


def answered(status: int, code: str) -> theirs.ClientError:
    response = {"Error": {"Code": code, "Message": "canary"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return theirs.ClientError(response, "PutObject")


def wrapped(error: Exception) -> OSError:
    outer = OSError(22, "Invalid argument")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (answered(503, "SlowDown"), StorageError, "503 SlowDown"),
        (answered(500, "InternalError"), StorageError, "500 InternalError"),
        (answered(429, "TooManyRequests"), StorageError, "429"),
        (answered(400, "RequestTimeout"), StorageError, "RequestTimeout"),
        (answered(400, "BadDigest"), StorageError, "BadDigest"),
        (answered(200, "InternalError"), StorageError, "200 InternalError"),
        (wrapped(answered(503, "SlowDown")), StorageError, "503 SlowDown"),
        (wrapped(answered(403, "AccessDenied")), ConfigError, "may not do this"),
        (answered(403, "403"), ConfigError, "may not do this"),
        (answered(403, "SignatureDoesNotMatch"), ConfigError, "the secret key is wrong"),
        (answered(400, "ExpiredToken"), ConfigError, "sign in again"),
        (answered(403, "RequestTimeTooSkewed"), ConfigError, "the clock"),
        (answered(404, "NoSuchBucket"), ConfigError, "create it"),
        (answered(301, "PermanentRedirect"), ConfigError, "set region"),
        (answered(501, "NotImplemented"), ConfigError, "needs conditional writes"),
        (answered(400, "InvalidArgument"), ConfigError, "400 InvalidArgument: check the name"),
        (theirs.NoCredentialsError(), ConfigError, "set AWS_ACCESS_KEY_ID"),
        (theirs.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"), ConfigError, "Partial"),
        (theirs.ProfileNotFound(profile="lab"), ConfigError, "lab"),
        (theirs.NoRegionError(), ConfigError, "set region"),
        (theirs.ParamValidationError(report="Invalid bucket name"), ConfigError, "Invalid bucket name"),
        (theirs.EndpointConnectionError(endpoint_url="http://h"), StorageError, "Could not connect"),
        (theirs.ReadTimeoutError(endpoint_url="http://h"), StorageError, "timeout"),
        (theirs.ConnectionClosedError(endpoint_url="http://h"), StorageError, "closed"),
        (theirs.IncompleteReadError(actual_bytes=1, expected_bytes=2), StorageError, "1 read"),
        (theirs.FlexibleChecksumError(error_msg="Expected checksum"), StorageError, "checksum"),
        (ConnectionResetError(104, "Connection reset by peer"), StorageError, "reset by peer"),
        (TimeoutError(), StorageError, "TimeoutError"),
    ],
)
def test_what_an_error_means(error: Exception, expected: type[errors.GristmillError], message: str):
    found = s3_client.meaning(error, "s3://bucket/key")
    assert type(found) is expected
    assert str(found).startswith("s3://bucket/key: ")
    assert message in str(found)
    assert "canary" not in str(found)


def test_the_traceback_of_a_refusal_does_not_repeat_the_servers_words():
    with pytest.raises(ConfigError) as refused, s3_client.translated("s3://bucket/key"):
        raise answered(403, "AccessDenied")
    assert "canary" not in "".join(traceback.format_exception(refused.value))
