"""A process that does CPU work for another: one JSON request a line in, JSON lines out.

A request names a module-level function and its arguments. The process ends when the one that asks does.
"""

import importlib
import os
import queue
import resource
import sys
import threading
import traceback
import typing
from functools import lru_cache
from typing import Any, BinaryIO

import msgspec
from pydantic import BaseModel

from gristmill.addresses import public_text
from gristmill.errors import GristmillError
from gristmill.processes import progress
from gristmill.settings import FULL_ADDRESSES
from gristmill.types import StageReport


def plain(value: Any) -> Any:
    """Settings as JSON-able values, for ``msgspec.json.encode``; addresses of inputs are public ones."""
    return _dumped(value, None)


def full(value: Any) -> Any:
    """The same with the full addresses of inputs: for a pipe to a process of the same run, never for a file."""
    return _dumped(value, FULL_ADDRESSES)


def _dumped(value: Any, context: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", context=context)
    raise TypeError(f"{type(value).__name__} cannot be sent to a worker process")


def typed(value: Any, hint: Any) -> Any:
    """What was sent as JSON as the type that a function asks for."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint.model_validate(value)
    return msgspec.convert(value, hint)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """The child's loop: one JSON request a line in, progress, parts and one result or error out."""

    def answer(line: bytes) -> None:
        answers.write(line + b"\n")
        answers.flush()

    def progressed(documents: int, nbytes: int) -> None:
        answer(msgspec.json.encode({"progress": [documents, nbytes]}))

    def announced(report: StageReport) -> None:
        answer(msgspec.json.encode({"announced": report}))

    def stepped(name: str, done: int, total: int) -> None:
        answer(msgspec.json.encode({"stepped": [name, done, total]}))

    for line in _lines_until_orphaned(requests):
        progress.listen(progressed, announced, stepped)
        try:
            last = msgspec.json.encode({"result": _perform(line)}, enc_hook=full)
        except Exception as error:
            last = msgspec.json.encode({"error": _described(error)})
        progress.listen(None)
        answer(last)


def _lines_until_orphaned(requests: BinaryIO) -> "typing.Iterator[bytes]":
    """Requests as they come. The reading thread ends the process when the parent's end of the pipe closes."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in requests:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield waiting.get()


def open_many() -> None:
    """Let this process have as many files open as the system allows: a search maps a file of every piece, and the
    usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 1 << 16) if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Request(msgspec.Struct):
    function: str
    arguments: dict[str, msgspec.Raw]


def _perform(line: bytes) -> Any:
    request = msgspec.json.decode(line, type=_Request)
    module, _, name = request.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    hints = typing.get_type_hints(function)
    return function(**{key: _argument(raw, hints[key]) for key, raw in request.arguments.items()})


def _argument(raw: msgspec.Raw, hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return _settings(bytes(raw), hint)
    return msgspec.json.decode(raw, type=hint)


@lru_cache(maxsize=1)
def _settings(raw: bytes, hint: type[BaseModel]) -> Any:
    """Checking those of a run takes 0.4 to 2 ms, and they are the same in every call."""
    return typed(msgspec.json.decode(raw), hint)


def _described(error: Exception) -> dict[str, str]:
    ours = isinstance(error, GristmillError)
    fields = {
        "type": type(error).__name__ if ours else "",
        "message": str(error) if ours else f"{type(error).__name__}: {error}",
        "reason": str(getattr(error, "reason", "")),
        "trace": traceback.format_exc(),
    }
    # a file name that is not UTF-8 holds lone surrogates, which JSON cannot carry
    return {name: public_text(text).encode(errors="backslashreplace").decode() for name, text in fields.items()}


if __name__ == "__main__":
    protocol = os.fdopen(os.dup(1), "wb")
    open_many()
    os.dup2(2, 1)  # whatever a library prints must not enter the protocol
    serve(sys.stdin.buffer, protocol)
