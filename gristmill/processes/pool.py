"""CPU work in child processes, without Prefect in them and without pickle between.

``call(function, **arguments)`` runs a module-level function in a child that is kept for the next call, so tokenizers
stay warm. A child is a spawned interpreter that reads one JSON request a line and answers with JSON lines; it ends
when its parent does, and killing it fails only the call it was working on.
"""

import contextlib
import os
import queue
import subprocess
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from gristmill import errors
from gristmill.errors import GristmillError, WorkerLost
from gristmill.processes.child import full, typed
from gristmill.storage import s3_client
from gristmill.types import StageReport

Result = TypeVar("Result")
Listener = Callable[[int, int], None]
Event = dict[str, Any]

ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
    "FASTOKENS_BPE_THREADS": "1",
}
"""One process a core: the libraries' own threads would only fight over it."""


class Stopped(GristmillError):
    """The run was told to stop; never retried."""


def call(
    function: Callable[..., Result],
    *,
    listener: Listener | None = None,
    announced: Callable[[StageReport], None] | None = None,
    stepped: Callable[[str, int, int], None] | None = None,
    seconds: float | None = None,
    **arguments: Any,
) -> Result:
    """Run ``function(**arguments)`` in a child process and return its result.

    Arguments and result are msgspec Structs, pydantic models or JSON-able values, typed by the function's annotations.
    ``listener(documents, bytes)`` hears of progress, ``announced(report)`` of parts that are ready and
    ``stepped(name, done, total)`` of long steps, all in this thread: while they run, nothing else is heard. After
    ``seconds`` the child is killed. Raises what the function raised when it is a ``GristmillError``, ``WorkerLost``
    when the child died, ``RuntimeError`` with the child's traceback for a bug of ours.
    """
    return _run(_pool.take(), function, arguments, listener, announced, stepped, seconds)


def everywhere(function: Callable[..., None], *, children: int, **arguments: Any) -> None:
    """``call`` in so many children at once, for what the function leaves loaded there."""
    taken = [_pool.take() for _ in range(children)]
    with ThreadPoolExecutor(children) as threads:
        list(threads.map(lambda child: _run(child, function, arguments), taken))


def _run(
    child: "_Child",
    function: Callable[..., Result],
    arguments: dict[str, Any],
    listener: Listener | None = None,
    announced: Callable[[StageReport], None] | None = None,
    stepped: Callable[[str, int, int], None] | None = None,
    seconds: float | None = None,
) -> Result:

    def hear(event: Event) -> None:
        if listener is not None and "progress" in event:
            listener(*event["progress"])
        if announced is not None and "announced" in event:
            announced(msgspec.convert(event["announced"], StageReport))
        if stepped is not None and "stepped" in event:
            stepped(*event["stepped"])

    request = {"function": f"{function.__module__}:{function.__qualname__}", "arguments": arguments}
    try:
        answer = child.ask(msgspec.json.encode(request, enc_hook=full), hear, seconds)
    except BaseException:
        _pool.drop(child)
        if _pool.stopped:
            raise Stopped("the run was stopped; the same command resumes it") from None
        raise
    _pool.give_back(child)
    if "error" in answer:
        raise _raised(answer["error"])
    return typing.cast(Result, typed(answer["result"], typing.get_type_hints(function)["return"]))


def stop() -> None:
    """Kill every child and refuse new work until ``start``; calls under way raise ``Stopped``."""
    _pool.stop()


def start() -> None:
    """Accept work again after a ``stop``."""
    _pool.stopped = False


def close() -> None:
    """End the idle children; the next call starts fresh ones."""
    _pool.close()


class _Child:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gristmill.processes.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, **s3_client.environment()},
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        self._expired = ""

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, hear: Callable[[Event], None], seconds: float | None) -> Event:
        with self._limited(seconds):
            answer = self._exchange(request, hear)
        if self._expired:
            raise self._lost()
        return answer

    @contextlib.contextmanager
    def _limited(self, seconds: float | None) -> Iterator[None]:
        """Killed after so many seconds. Without a limit there is no thread to start, which may wait for others."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds, self._expire, [seconds])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _expire(self, seconds: float) -> None:
        self._expired = f"was killed: no result within {seconds} s"
        self._process.kill()

    def _exchange(self, request: bytes, hear: Callable[[Event], None]) -> Event:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._lost() from None
        while True:
            line = self._process.stdout.readline()
            if not line.endswith(b"\n"):
                raise self._lost()
            answer: Event = msgspec.json.decode(line)
            if "result" in answer or "error" in answer:
                return answer
            hear(answer)

    def _lost(self) -> WorkerLost:
        code = self._process.wait()
        how = self._expired or (f"was killed by signal {-code}" if code < 0 else f"ended with status {code}")
        hint = " (out of memory? use fewer --workers)" if code == -9 and not self._expired else ""
        return WorkerLost(f"the worker process {how}{hint}")  # not its id: the text may end in a manifest

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class _Pool:
    """Children that wait for work, last used first. As many exist as calls were ever under way at once."""

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._all: set[_Child] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def take(self) -> _Child:
        with self._lock:
            if self.stopped:
                raise Stopped("the run was stopped; the same command resumes it")
            with contextlib.suppress(queue.Empty):
                while not (child := self._idle.get_nowait()).alive():  # killed while it had nothing to do
                    self._all.discard(child)
                return child
            child = _Child()
            self._all.add(child)
            return child

    def give_back(self, child: _Child) -> None:
        self._idle.put(child)

    def drop(self, child: _Child) -> None:
        with self._lock:
            self._all.discard(child)
        child.kill()

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            self._kill_all()

    def close(self) -> None:
        with self._lock:
            self._kill_all()

    def _kill_all(self) -> None:
        for child in self._all:
            child.kill()
        self._all.clear()
        self._idle = queue.LifoQueue()


_pool = _Pool()


def _raised(error: dict[str, str]) -> Exception:
    kind = getattr(errors, error["type"], None)
    if kind is errors.InputError:
        return errors.InputError(error["message"], error["reason"])
    if kind is not None:
        return typing.cast(Exception, kind(error["message"]))
    return RuntimeError(f"in a worker process: {error['message']}\n{error['trace']}")
