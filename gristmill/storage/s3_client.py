"""How this process reaches S3: one settings object, the two clients built from it, and what their errors mean.

Credentials come from the usual AWS sources (environment, profile, role of the machine) and pass through nothing here.
"""

import ipaddress
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, ValidationError, model_validator

from gristmill.errors import ConfigError, GristmillError, StorageError
from gristmill.settings import Settings

VARIABLE = "GRISTMILL_S3"
"""Environment variable that hands the settings to child processes, as JSON."""

CONNECTIONS = 64
"""Most requests of one process at once; more wait for a connection."""


class S3Settings(Settings):
    """How S3 is reached. Nothing here changes a byte of the output, and no secret has a place here."""

    model_config = ConfigDict(title="S3")

    endpoint: str | None = Field(
        None,
        description="URL of the server; none: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's, or Amazon's own.",
    )
    region: str | None = Field(None, description="Region; none: AWS_REGION, AWS_DEFAULT_REGION or the profile's.")
    addressing_style: Literal["auto", "path", "virtual"] = Field(
        "auto", description="Where the bucket's name goes: the path or the host name of the URL; auto: what fits."
    )
    connect_seconds: float = Field(10, gt=0, le=600, description="Longest wait for a connection.")
    read_seconds: float = Field(60, gt=0, le=3600, description="Longest wait for the next bytes of an answer.")
    attempts: int = Field(8, ge=1, le=50, description="How often one request is sent before it counts as failed.")
    plain_http: Literal["refuse", "allow"] = Field(
        "refuse", description="What http:// to another machine does: anyone between sees and changes the data."
    )
    recheck: Literal["etag", "sha256"] = Field(
        "etag",
        description="By what a rerun knows that an object of the work area is as it was put: its size and ETag, or its "
        "bytes, read again.",
    )
    lease_seconds: float = Field(
        60,
        ge=1,
        le=3600,
        description="How long an output stays claimed by a run that was killed and no longer renews its claim; then "
        "another run takes over.",
    )

    @model_validator(mode="after")
    def _endpoint_allowed(self) -> Self:
        if self.endpoint is not None:
            self.check(self.endpoint)
        return self

    def check(self, endpoint: str) -> None:
        """Raises ``ConfigError`` unless these settings allow this URL of a server, wherever it came from."""
        parts = urlsplit(endpoint)
        if parts.username or parts.password:
            raise ConfigError("the S3 endpoint has a user name or password in it; give the keys as AWS_ variables")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"S3 endpoint {endpoint!r}: expected https://HOST or http://127.0.0.1:PORT")
        if parts.scheme == "http" and self.plain_http == "refuse" and not _is_loopback(parts.hostname):
            raise ConfigError(
                f"S3 endpoint {endpoint}: http to another machine is not encrypted; use https://, or allow it with "
                "plain_http: allow"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


_used: S3Settings | None = None
_lock = threading.Lock()


def use(settings: S3Settings | None) -> None:
    """Put settings in force in this process and, through ``environment``, in those it starts from now on.

    ``None`` returns to what the environment says. Clients are built anew, so changed AWS variables count as well.
    """
    global _used
    with _lock:
        _used = settings
        _client.cache_clear()
        _filesystem.cache_clear()


def in_force() -> S3Settings:
    """The settings given to ``use``, else those in ``GRISTMILL_S3``, else the defaults."""
    if _used is not None:
        return _used
    try:
        return S3Settings.model_validate_json(os.environ.get(VARIABLE, "{}"))
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise ConfigError(f"environment variable {VARIABLE}: {place}: {problem['msg']}") from None


def environment() -> dict[str, str]:
    """What the environment of a child process needs for it to use the same settings."""
    return {VARIABLE: in_force().model_dump_json()}


def client() -> Any:
    """The botocore client of this process, for publishing; threads share it. Raises ``ConfigError``.

    Built in the process that uses it: start children by spawning, never by forking.
    """
    with _lock:
        return _client(in_force())


def once(settings: S3Settings, seconds: float) -> Any:
    """A client that sends every request once and waits no longer than this for an answer."""
    patience = {"connect_seconds": min(seconds, settings.connect_seconds), "read_seconds": seconds, "attempts": 1}
    with _lock:
        return _client(settings.model_copy(update=patience))


def filesystem() -> Any:
    """The ``s3fs.S3FileSystem`` of this process, for listing and reading inputs; it remembers no listing, since
    another process may have written. Raises ``ConfigError``."""
    client()  # names a wrong or refused endpoint, which both resolve from the same sources
    with _lock:
        return _filesystem(in_force())


@cache
def _client(settings: S3Settings) -> Any:
    import botocore.session  # type: ignore[import-untyped]  # imported here: half a second that local runs save
    from botocore.config import Config  # type: ignore[import-untyped]

    _quieten("botocore")
    config = Config(max_pool_connections=CONNECTIONS, **_config(settings))
    try:
        with translated("S3"):
            made = botocore.session.get_session().create_client(
                "s3", region_name=settings.region, endpoint_url=settings.endpoint, config=config
            )
    except ValueError as error:  # of a URL in the environment
        raise ConfigError(f"S3 endpoint: {error}") from None
    settings.check(made.meta.endpoint_url)
    made.meta.events.register("after-call.s3", _count_retries)
    return made


_retried = threading.local()


def retries() -> int:
    """How many requests of this thread's ``client`` calls had to be sent again so far."""
    return getattr(_retried, "count", 0)


def _count_retries(parsed: dict[str, Any], **_: Any) -> None:
    _retried.count = retries() + parsed.get("ResponseMetadata", {}).get("RetryAttempts", 0)


@cache
def _filesystem(settings: S3Settings) -> Any:
    import s3fs

    _quieten("botocore", "aiobotocore", "s3fs")
    # None is said where fsspec would otherwise take FSSPEC_S3_ variables, which the other client does not know
    return s3fs.S3FileSystem(
        endpoint_url=settings.endpoint,
        key=None,
        secret=None,
        token=None,
        client_kwargs={"region_name": settings.region},
        config_kwargs=_config(settings),
        use_listings_cache=False,
        skip_instance_cache=True,
    )


def _config(settings: S3Settings) -> dict[str, Any]:
    return {
        "connect_timeout": settings.connect_seconds,
        "read_timeout": settings.read_seconds,
        "retries": {"mode": "standard", "total_max_attempts": settings.attempts},
        "s3": {"addressing_style": settings.addressing_style},
    }


def _quieten(*libraries: str) -> None:
    """At debug level these log access keys and signatures, so they never get there."""
    for name in libraries:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def failures() -> tuple[type[Exception], ...]:
    """What either client raises."""
    from aiohttp import ClientError as HttpError
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
    from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]  # of a listing that was cut

    return (BotoCoreError, ClientError, ResponseParserError, HttpError, OSError)


@contextmanager
def translated(uri: str) -> Iterator[None]:
    """The clients' errors within become ours, with the URI named. The cause is left out of the traceback: servers
    repeat parts of a refused request in their answers, keys among them."""
    try:
        yield
    except failures() as error:
        raise meaning(error, uri) from None


_REFUSED = {
    "403": "the keys in use may not do this; without s3:ListBucket an absent object also counts as forbidden",
    "InvalidAccessKeyId": "the server does not know this access key; check AWS_ACCESS_KEY_ID or AWS_PROFILE",
    "SignatureDoesNotMatch": "the secret key is wrong, or a proxy changes requests; check AWS_SECRET_ACCESS_KEY",
    "ExpiredToken": "the credentials have expired; sign in again",
    "RequestTimeTooSkewed": "the clock of this machine is wrong by more than 15 minutes; set it",
    "NoSuchKey": "there is no such object",
    "NoSuchBucket": "there is no such bucket; create it, or check the endpoint and the name",
    "PermanentRedirect": "the bucket is in another region; set region",
    "AuthorizationHeaderMalformed": "the bucket is in another region; set region",
    "NotImplemented": "the server cannot do this; gristmill needs conditional writes (If-None-Match, If-Match)",
    "EntityTooLarge": "the server takes no object of this size",
    "KeyTooLongError": "the name is longer than 1,024 bytes",
}
"""Codes that no repetition cures, with what would."""

_PASSING = ("BadDigest", "XAmzContentSHA256Mismatch", "RequestTimeout", "SlowDown")
"""Codes that come with a status below 500 and yet are worth another attempt."""


def meaning(error: Exception, uri: str) -> GristmillError:
    """Our error for one of a client's. ``StorageError``, retried: any 5xx, throttling, a digest that did not arrive
    as it was sent, timeouts, resets, bodies that end early. ``ConfigError``, never retried: missing or wrong
    credentials, 403, no such bucket, an endpoint that is none, any other 4xx."""
    from botocore import exceptions as theirs

    if isinstance(error.__cause__, theirs.ClientError):  # s3fs wraps it in an OSError
        error = error.__cause__
    if isinstance(error, theirs.ClientError):
        return _answered(error, uri)
    if isinstance(error, theirs.NoCredentialsError | theirs.PartialCredentialsError | theirs.ProfileNotFound):
        return ConfigError(f"{uri}: no S3 credentials: {error}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if isinstance(error, theirs.NoRegionError):
        return ConfigError(f"{uri}: no region; set region, or AWS_DEFAULT_REGION")
    passing = (
        theirs.ConnectionError,
        theirs.HTTPClientError,
        theirs.IncompleteReadError,
        theirs.FlexibleChecksumError,
    )
    if isinstance(error, theirs.BotoCoreError) and not isinstance(error, passing):
        return ConfigError(f"{uri}: {error}")
    return StorageError(f"{uri}: {str(error) or type(error).__name__}")


def _answered(error: Any, uri: str) -> GristmillError:
    code, status = code_of(error), status_of(error)
    said = f"{uri}: {error.operation_name}: the server answered {status} {code}"
    remedy = _REFUSED.get(code) or _REFUSED.get(str(status))
    if remedy is None and (status >= 500 or status < 300 or status == 429 or code in _PASSING):
        return StorageError(said)
    return ConfigError(f"{said}: {remedy or 'check the name and the endpoint'}")


def code_of(error: Exception) -> str:
    """The server's word for what went wrong, as ``NoSuchKey``; the status where its answer had no body."""
    return str(_response(error).get("Error", {}).get("Code", "Unknown"))


def status_of(error: Exception) -> int:
    """HTTP status of the server's answer; 0 where none arrived."""
    return int(_response(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _response(error: Exception) -> dict[str, Any]:
    # errors of connections have the attribute as well, and nothing in it
    return getattr(error, "response", None) or {}
