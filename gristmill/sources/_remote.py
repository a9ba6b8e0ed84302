"""Files behind a URI (``s3://``, ``https://``, ``memory://``): whatever fsspec opens.

Listings are never cached: another process may have written since. A key is opened exactly as it was listed.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, BinaryIO, cast

import fsspec

from gristmill.addresses import is_signed, public
from gristmill.errors import ConfigError, GristmillError, InputError, StorageError
from gristmill.sources._found import (
    Found,
    Glob,
    Links,
    Listed,
    Passed,
    is_empty,
    leads_out,
    nothing_at,
    nothing_usable,
    wrong_kind,
)
from gristmill.sources._names import kind_of, reason_against
from gristmill.sources._streams import Raw
from gristmill.storage import s3_client

_SKIPPED = 1 << 20

_DENIED = (400, 401, 403)
"""Answers of a web server to a wrong password or an old signature."""

_CONTENT_MARKS = ("ETag", "etag", "VersionId", "version_id", "blob_id", "sha256", "md5")
_TIME_MARKS = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "created")


def listed(uri: str, links: Links) -> Listed:
    """The files that a URI of a file, a folder or a glob names; raises ``InputError`` when there are none."""
    with _translated(uri):
        store = _store(uri)
        try:
            info = store.info(_key(store, uri))
        except FileNotFoundError as error:
            if is_signed(uri) or _status(error) in _DENIED:
                raise
            info = None
    if info is not None and info["type"] == "file":
        if kind_of(uri) is None:
            raise wrong_kind(uri)
        return Listed(found=[_found(uri, info)])
    glob = Glob.parse(uri)
    if info is not None:
        glob = Glob(base=uri.rstrip("/"), parts=["**"])
    elif not glob.parts:
        raise nothing_at(uri)
    return _below(store, glob, uri, links)


def _below(store: Any, glob: Glob, uri: str, links: Links) -> Listed:
    with _translated(uri):
        root = _key(store, glob.base).rstrip("/")
        entries = store.find(_key(store, glob.base), detail=True)
    found: list[Found] = []
    passed: dict[str, Passed] = {}
    for key, info in sorted(entries.items()):
        below = key[len(root) :].lstrip("/")
        if key.endswith("/") or not glob.matches(below):
            continue
        reason = _reason(below, info, links)
        if info.get("size") is None and not reason:  # a web server's index has names alone
            with _translated(key):
                info = store.info(key)
        file = _found(f"{glob.base}/{below}", info)
        if reason:
            passed[file.uri] = Passed(below=file.uri[len(public(glob.base)) :].lstrip("/"), reason=reason)
        else:
            found.append(file)
    if not found:
        raise nothing_usable(uri, passed.values())
    return Listed(found=found, passed=passed)


def _reason(below: str, info: dict[str, Any], links: Links) -> str:
    """Why a file is passed over; empty where it is read. Where a link on a server leads to cannot be seen from here."""
    if reason := reason_against(below):
        return reason
    if info["type"] == "link" or info.get("islink"):
        if not links.follow:
            raise leads_out(below, info.get("destination") or "a place on the server")
        return ""
    if info["type"] != "file":
        return "not a regular file"
    return "empty" if is_empty(below, info.get("size", 1)) else ""


def measured(uri: str) -> Found:
    """The file at exactly this URI, of whatever kind; raises ``InputError`` when there is none."""
    with _translated(uri):
        store = _store(uri)
        return _found(uri, store.info(_key(store, uri)))


def opened(uri: str) -> Raw:
    """The file at exactly this URI, for reading from its start."""
    with _translated(uri):
        store = _store(uri)
        file = store.open(_key(store, uri), "rb")
        whole = partial(store.open, _key(store, uri), "rb", block_size=0)
        return Raw(cast(BinaryIO, _Parts(file, whole)) if _is_web(uri) else file, public(uri), _failures(uri))


class _Parts(io.RawIOBase):
    """A file of a web server, a part of it a request; where the server gives no parts, read once from its start."""

    def __init__(self, file: Any, whole: Callable[[], Any]) -> None:
        self._file, self._whole, self._moved = file, whole, False

    def read(self, size: int = -1, /) -> bytes:
        try:
            return bytes(self._file.read(size))
        except ValueError as error:  # fsspec's word for it
            if self._moved:
                raise OSError("the server gives no parts of a file; download it") from error
        position, self._moved = self._file.tell(), True
        self._file.close()
        self._file = self._whole()
        while position and (skipped := self._file.read(min(position, _SKIPPED))):
            position -= len(skipped)
        return bytes(self._file.read(size))

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._moved = True
        return int(self._file.seek(offset, whence))

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


def _found(uri: str, info: dict[str, Any]) -> Found:
    size = info.get("size") or 0
    marks = [info[key] for key in _CONTENT_MARKS if info.get(key)] or [
        info[key] for key in _TIME_MARKS if info.get(key)
    ]
    identity = ":".join(str(mark).strip('"') for mark in (size, *marks))
    return Found(uri=public(uri), size=size, identity=identity, same=public(uri))


def _store(uri: str) -> Any:
    if _is_s3(uri):
        return s3_client.filesystem()
    scheme = uri.partition("://")[0].lower()
    # A signature is over the very letters of the address: it is sent as it was given.
    options = {"encoded": True} if is_signed(uri) else {}
    try:
        return fsspec.filesystem(scheme, use_listings_cache=False, **options)
    except (ImportError, ValueError, TypeError) as error:
        raise ConfigError(f"{uri}: cannot open {scheme}:// addresses: {error}") from None


def _key(store: Any, uri: str) -> str:
    return str(store._strip_protocol(uri))


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    try:
        yield
    except _failures(uri) as error:
        raise _meaning(error, public(uri)) from None  # clients name the whole address, and servers repeat it


def _meaning(error: Exception, uri: str) -> GristmillError:
    if isinstance(error, FileNotFoundError):
        return _refusal(error, uri)
    if _is_s3(uri):
        return s3_client.meaning(error, uri)
    if isinstance(error, PermissionError):
        return InputError(f"{uri}: cannot be read: {error}")
    return StorageError(f"{uri}: {error}")


def _refusal(error: Exception, uri: str) -> InputError:
    """The error for a file that a server does not give; a web server's answer is told where it is known."""
    status = _status(error)
    if status in _DENIED:
        return InputError(
            f"{uri}: cannot be read: the server answers {status}; check user and password, and have a signature that "
            "has expired made anew"
        )
    return InputError(f"{uri}: cannot be read: {f'the server answers {status}' if status else error}")


def _status(error: Exception) -> int:
    return int(getattr(error.__cause__, "status", 0))


def _is_web(uri: str) -> bool:
    return uri.lower().startswith(("http://", "https://"))


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
