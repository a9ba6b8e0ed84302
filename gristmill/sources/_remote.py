"""Files behind a URI (``s3://``, ``https://``, ``memory://``): whatever fsspec opens.

Listings are never cached: another process may have written since. A key is opened exactly as it was listed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import fsspec

from gristmill import s3_client
from gristmill.errors import ConfigError, GristmillError, InputError, StorageError
from gristmill.sources._found import Found, Glob, nothing_at, nothing_usable, passed_over, wrong_kind
from gristmill.sources._names import kind_of
from gristmill.sources._streams import Raw

_CONTENT_MARKS = ("ETag", "etag", "VersionId", "version_id", "blob_id", "sha256", "md5")
_TIME_MARKS = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "created")


def listed(uri: str) -> list[Found]:
    """The files that a URI of a file, a folder or a glob names; raises ``InputError`` when there are none."""
    with _translated(uri):
        store = _store(uri)
        try:
            info = store.info(_key(store, uri))
        except FileNotFoundError:
            info = None
    if info is not None and info["type"] == "file":
        if kind_of(uri) is None:
            raise wrong_kind(uri)
        return [_found(uri, info)]
    glob = Glob.parse(uri)
    if info is not None:
        glob = Glob(base=uri.rstrip("/"), parts=["**"])
    elif not glob.parts:
        raise nothing_at(uri)
    return _below(store, glob, uri)


def _below(store: Any, glob: Glob, uri: str) -> list[Found]:
    with _translated(uri):
        root = _key(store, glob.base).rstrip("/")
        entries = store.find(_key(store, glob.base), detail=True)
    files = {key[len(root) :].lstrip("/"): info for key, info in entries.items() if not key.endswith("/")}
    matching = [below for below in sorted(files) if glob.matches(below)]
    found = [_found(f"{glob.base}/{below}", files[below]) for below in matching if not passed_over(below)]
    if not found:
        raise nothing_usable(uri, matching)
    return found


def measured(uri: str) -> Found:
    """The file at exactly this URI, of whatever kind; raises ``InputError`` when there is none."""
    with _translated(uri):
        store = _store(uri)
        return _found(uri, store.info(_key(store, uri)))


def opened(uri: str) -> Raw:
    """The file at exactly this URI, for reading from its start."""
    with _translated(uri):
        store = _store(uri)
        return Raw(store.open(_key(store, uri), "rb"), uri, _failures(uri))


def _found(uri: str, info: dict[str, Any]) -> Found:
    size = info.get("size") or 0
    marks = [info[key] for key in _CONTENT_MARKS if info.get(key)] or [
        info[key] for key in _TIME_MARKS if info.get(key)
    ]
    identity = ":".join(str(mark).strip('"') for mark in (size, *marks))
    return Found(uri=uri, size=size, identity=identity, same=uri)


def _store(uri: str) -> Any:
    if _is_s3(uri):
        return s3_client.filesystem()
    scheme = uri.partition("://")[0]
    try:
        return fsspec.filesystem(scheme, use_listings_cache=False)
    except (ImportError, ValueError, TypeError) as error:
        raise ConfigError(f"{uri}: cannot open {scheme}:// addresses: {error}") from None


def _key(store: Any, uri: str) -> str:
    return str(store._strip_protocol(uri))


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    try:
        yield
    except _failures(uri) as error:
        raise _meaning(error, uri) from (None if _is_s3(uri) else error)


def _meaning(error: Exception, uri: str) -> GristmillError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{uri}: cannot be read: {error}")
    if _is_s3(uri):
        return s3_client.meaning(error, uri)
    if isinstance(error, PermissionError):
        return InputError(f"{uri}: cannot be read: {error}")
    return StorageError(f"{uri}: {error}")


def _is_s3(uri: str) -> bool:
    return uri.startswith(("s3://", "s3a://"))


def _failures(uri: str) -> tuple[type[Exception], ...]:
    """What the client of a store raises."""
    return hub_failures() if uri.startswith("hf://") else s3_client.failures()


@cache
def hub_failures() -> tuple[type[Exception], ...]:
    """What the client of the hub raises; its HTTP library is known under this name alone."""
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # declared private, but meant for this

    return (OSError, httpx.HTTPError)
