"""Objects that are there wholly or not at all: whole conditional puts, read back; nothing is streamed to a final key.

A URI is ``s3://bucket/key`` and the key is literal: ``*``, ``?``, ``#``, ``%``, ``::`` and spaces mean themselves. All
functions raise ``StorageError`` where trying again may help and ``ConfigError`` where it cannot, as
``gristmill.storage.s3_client.meaning`` has it.
"""

import base64
import datetime
import hashlib
import io
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from gristmill.errors import OccupiedError, StorageError
from gristmill.storage.disk import Writer
from gristmill.storage.disk import translated as on_disk
from gristmill.storage.s3_client import client, code_of, failures, in_force, meaning, status_of, translated
from gristmill.storage.s3_keys import folder_of, made_parts, parts_of
from gristmill.types import Value

SINGLE_PUT_BYTES = 5 << 30
"""Largest body of one put (S3 limit, 5 GiB); above it, parts."""

PART_BYTES = 64 << 20
"""Size of a part: the 10,000 that S3 allows make 640 GB, and one is held in memory."""

BLOCK_BYTES = 1 << 20

_SETTLED = (404, 409, 412)
"""Answers to a conditional put that say to look at what is there: it may be ours, sent before, and the answer lost.
404: the upload is complete already, or the object to replace is gone; 409: another put won meanwhile."""


class Stored(Value, frozen=True, kw_only=True):
    """An object as the store has it."""

    nbytes: int
    etag: str
    """With its quotes; says which version this is, never what its bytes are."""


class Listed(Value, frozen=True, kw_only=True):
    """An object in a listing."""

    name: str
    """Its key below the prefix that was listed."""
    nbytes: int
    etag: str
    modified: datetime.datetime


class Upload(Value, frozen=True, kw_only=True):
    """Parts that were sent and never became an object: kept, and billed, until removed."""

    uri: str
    id: str
    initiated: datetime.datetime


def stat(uri: str) -> Stored | None:
    """The object's size and ETag; None only when the server says 404. A missing bucket is a 404 as well here."""
    bucket, key = parts_of(uri)
    head, _ = _answer(uri, lambda: client().head_object(Bucket=bucket, Key=key), 404)
    return None if head is None else _stored(head)


def age(uri: str) -> float:
    """Seconds since the object was put, by the server's clock; 0 where there is none."""
    bucket, key = parts_of(uri)
    head, _ = _answer(uri, lambda: client().head_object(Bucket=bucket, Key=key), 404)
    if head is None:
        return 0.0
    now = parsedate_to_datetime(head["ResponseMetadata"]["HTTPHeaders"]["date"])
    return float((now - head["LastModified"]).total_seconds())


def blocks(uri: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """The object's bytes, or those from ``start`` to ``stop``, exclusive, a piece at a time. An answer that breaks off
    is taken up where it broke off, for as long as it is the same object. Raises ``ConfigError`` when there is none,
    ``StorageError`` when it ends before ``stop``."""
    bucket, key = parts_of(uri)
    last = "" if stop is None else str(stop - 1)
    wanted = {"Bucket": bucket, "Key": key} | ({} if stop is None else {"Range": f"bytes={start}-{last}"})
    total, done, failed = start + 1, start, 0
    while done < total:
        answer, _ = _answer(uri, partial(client().get_object, **wanted), 412, 416)
        if answer is None:
            raise StorageError(f"{uri}: was replaced while it was read, or has no byte {done}")
        if "Range" in wanted and not answer.get("ContentRange", "").startswith(f"bytes {done}-"):
            raise StorageError(f"{uri}: the server gave another part than bytes {done}-{last}")
        total = done + answer["ContentLength"]
        if stop is not None and total != stop:
            raise StorageError(f"{uri}: has {total} bytes; expected {stop} or more")
        try:
            with closing(answer["Body"]) as body:
                for block in body.iter_chunks(BLOCK_BYTES):
                    done, failed = done + len(block), 0
                    yield block
        except failures() as error:
            failed += 1
            if done >= total or failed >= in_force().attempts:  # all there, and its checksum wrong: not to be mended
                raise meaning(error, uri) from None
            wanted |= {"Range": f"bytes={done}-{last}", "IfMatch": answer["ETag"]}
            time.sleep(random.uniform(0, min(5.0, 0.1 * 2**failed)))


def read(uri: str) -> bytes:
    """The object's bytes; for small ones."""
    return b"".join(blocks(uri))


def digest(uri: str) -> str:
    """sha256 of the object's bytes, in hex, whatever the server says of them."""
    found = hashlib.sha256()
    for block in blocks(uri):
        found.update(block)
    return found.hexdigest()


def download(uri: str, target: Path, *, nbytes: int, sha256: str) -> None:
    """Bring the object to ``target``, which appears whole and with this size and sha256, or not at all.

    Raises ``StorageError`` when the object's bytes are others.
    """
    with Writer(target) as out:
        for block in blocks(uri):
            out.write(block)
        made = out.artifact
        if (made.nbytes, made.sha256) != (nbytes, sha256):
            raise _mismatch(uri, made.nbytes, made.sha256, nbytes, sha256)


def put_new(
    source: Path | bytes,
    uri: str,
    sha256: str,
    *,
    single_bytes: int = SINGLE_PUT_BYTES,
    replaced: str | None = None,
) -> Stored:
    """Make an object of a file or of bytes with this sha256 in one conditional step, and read it back.

    Replaces no object but the one whose ETag is ``replaced``. One that holds the same bytes is left alone, so a
    repeated call is harmless. Raises
    ``ConfigError`` when it holds others, ``StorageError`` when the store has something else than was sent. Above
    ``single_bytes`` the bytes go in parts, which become an object in one conditional step as well.
    """
    bucket, key = made_parts(uri)
    with _opened(source) as body:
        nbytes = body.seek(0, io.SEEK_END)
        body.seek(0)
        send = _send_whole if nbytes <= single_bytes else _send_parts
        condition = {"IfNoneMatch": "*"} if replaced is None else {"IfMatch": replaced}
        _, refusal = _answer(uri, lambda: send(body, bucket, key, sha256, condition), *_SETTLED)
    if refusal is not None and stat(uri) is None:
        raise StorageError(f"{uri}: was not stored ({code_of(refusal)}); another run may be at it")
    found, stored = _content(uri, sha256)
    if (stored.nbytes, found) == (nbytes, sha256):
        return stored
    if refusal is None:
        raise _mismatch(uri, stored.nbytes, found, nbytes, sha256)
    raise OccupiedError(f"{uri} exists with other bytes; choose another output, or remove that data set")


def swap(uri: str, data: bytes, expected: str | None) -> Stored:
    """Replace the object whose ETag is ``expected`` (None: make it, there is none) by ``data`` in one step.

    Raises ``StorageError`` when another run changed it first, unless ``data`` is what it holds now.
    """
    bucket, key = made_parts(uri)
    condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
    put = {"Bucket": bucket, "Key": key, "Body": data, "ChecksumSHA256": _checksum(data), **condition}
    answer, _ = _answer(uri, lambda: client().put_object(**put), *_SETTLED)
    if answer is not None:
        return Stored(nbytes=len(data), etag=answer["ETag"])
    there = stat(uri)
    if there is None or there.nbytes != len(data) or read(uri) != data:
        raise StorageError(f"{uri}: changed by another run")
    return there


def names(prefix: str) -> list[Listed]:
    """Every object below ``s3://bucket/folder`` (the whole bucket without a folder), sorted by the bytes of its name;
    keys that end in a slash stand for folders and are left out."""
    bucket, key = parts_of(prefix)
    below = folder_of(key)
    found = [
        Listed(
            name=entry["Key"][len(below) :],
            nbytes=entry["Size"],
            etag=entry["ETag"],
            modified=entry["LastModified"],
        )
        for entry in _pages(prefix, "list_objects_v2", "Contents", Bucket=bucket, Prefix=below)
        if not entry["Key"].endswith("/")
    ]
    return sorted(found, key=lambda listed: listed.name.encode())


def remove(uri: str) -> None:
    """Remove the object; one that is not there is as good."""
    bucket, key = parts_of(uri)
    with translated(uri):
        client().delete_object(Bucket=bucket, Key=key)


def uploads(prefix: str) -> list[Upload]:
    """Unfinished uploads of objects below a folder: under way, or left behind by a process that was killed."""
    bucket, key = parts_of(prefix)
    return [
        Upload(uri=f"s3://{bucket}/{entry['Key']}", id=entry["UploadId"], initiated=entry["Initiated"])
        for entry in _pages(prefix, "list_multipart_uploads", "Uploads", Bucket=bucket, Prefix=folder_of(key))
    ]


def abort(upload: Upload) -> None:
    """Remove an unfinished upload; one that is gone is as good."""
    bucket, key = parts_of(upload.uri)
    _answer(upload.uri, lambda: client().abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload.id), 404)


def _send_whole(body: BinaryIO, bucket: str, key: str, sha256: str, condition: dict[str, str]) -> None:
    place = {"Bucket": bucket, "Key": key}
    client().put_object(**place, **condition, Body=body, ChecksumSHA256=_encoded(sha256), Metadata={"sha256": sha256})


def _send_parts(body: BinaryIO, bucket: str, key: str, sha256: str, condition: dict[str, str]) -> None:
    place = {"Bucket": bucket, "Key": key}
    place["UploadId"] = client().create_multipart_upload(
        **place, ChecksumAlgorithm="SHA256", Metadata={"sha256": sha256}
    )["UploadId"]
    try:
        sent = hashlib.sha256()
        parts: list[dict[str, Any]] = []
        while block := body.read(PART_BYTES):
            sent.update(block)
            part = {"PartNumber": len(parts) + 1, "ChecksumSHA256": _checksum(block)}
            answer = client().upload_part(**place, **part, Body=block)
            parts.append({**part, "ETag": answer["ETag"]})
        if sent.hexdigest() != sha256:  # nobody but us compares the whole
            raise StorageError(f"s3://{bucket}/{key}: the file to send has sha256 {sent.hexdigest()}, not {sha256}")
        client().complete_multipart_upload(**place, **condition, MultipartUpload={"Parts": parts})
    except BaseException:
        with suppress(*failures()):  # what cannot be removed now is listed by ``uploads``
            client().abort_multipart_upload(**place)
        raise


def _content(uri: str, likely: str) -> tuple[str, Stored]:
    """sha256 of the object's bytes, in hex. The server's word counts where it says the ``likely`` one; else they are
    read: some servers compute none, and after an upload in parts it is that of the parts' digests."""
    bucket, key = parts_of(uri)
    with translated(uri):
        head = client().head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    if head.get("ChecksumSHA256") == _encoded(likely):
        return likely, _stored(head)
    return digest(uri), _stored(head)


def _mismatch(uri: str, nbytes: int, sha256: str, wanted_bytes: int, wanted: str) -> StorageError:
    return StorageError(
        f"{uri}: has {nbytes:,} bytes with sha256 {sha256}, expected {wanted_bytes:,} with sha256 {wanted}"
    )


def _answer(uri: str, request: Callable[[], Any], *expected: int) -> tuple[Any, Any]:
    """What the server answers, or its error when the status is an expected one; a missing bucket never is."""
    try:
        return request(), None
    except failures() as error:
        if status_of(error) in expected and code_of(error) != "NoSuchBucket":
            return None, error
        raise meaning(error, uri) from None


@contextmanager
def _opened(source: Path | bytes) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    with on_disk(source):
        file = source.open("rb")
    with file:
        yield file


def _pages(uri: str, operation: str, entries: str, **arguments: str) -> Iterator[dict[str, Any]]:
    with translated(uri):
        for page in client().get_paginator(operation).paginate(**arguments):
            yield from page.get(entries, [])


def _stored(answer: dict[str, Any]) -> Stored:
    return Stored(nbytes=answer["ContentLength"], etag=answer["ETag"])


def _checksum(data: bytes) -> str:
    return _encoded(hashlib.sha256(data).hexdigest())


def _encoded(sha256: str) -> str:
    """As S3 writes it: base64."""
    return base64.b64encode(bytes.fromhex(sha256)).decode()
