"""Work for worker processes: they import it by name, so it stands in a module of its own."""

import os
import time
from pathlib import Path
from typing import Any

from gristmill.config import PrepareConfig
from gristmill.errors import InputError, NoSpaceError, StorageError
from gristmill.plugins import Plugin
from gristmill.processes import progress
from gristmill.processes.pool import Stopped
from gristmill.types import ShardRef, StageReport, Value


class Limits(Plugin):
    """Settings as a task would send them."""

    least: int = 0


class Answer(Value, frozen=True, kw_only=True):
    process: int
    limits: int
    shards: list[str]


def answer(limits: Limits, shards: list[ShardRef]) -> Answer:
    return Answer(process=os.getpid(), limits=limits.least, shards=[shard.name for shard in shards])


def process() -> int:
    return os.getpid()


def meet(folder: str, expected: int) -> None:
    """Wait until so many processes are here."""
    (Path(folder) / str(os.getpid())).touch()
    end = time.monotonic() + 20
    while len(list(Path(folder).iterdir())) < expected:
        if time.monotonic() > end:
            raise StorageError("waited in vain for the others")
        time.sleep(0.01)


def await_others(folder: str, expected: int, config: PrepareConfig) -> list[StageReport]:  # noqa: ARG001  as stages
    """``meet``, as a stage that reports nothing."""
    meet(folder, expected)
    return []


def length(values: list[int], config: PrepareConfig) -> list[StageReport]:  # noqa: ARG001  as stages
    """A stage that is given much and reports nothing."""
    assert values
    return []


def lose_the_disk(config: PrepareConfig) -> list[StageReport]:
    """A stage that meets trouble with its surroundings."""
    raise StorageError(f"{config.execution.work}: gone")


def nothing() -> None:
    return


def threads() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.endswith(("_NUM_THREADS", "_IO_THREADS"))}


def meter(steps: int, nbytes: int) -> int:
    for _ in range(steps):
        progress.advance(1, nbytes)
    return steps


def announce(pieces: int) -> int:
    for piece in range(pieces):
        progress.advance(1, 1)
        progress.announce(StageReport(stage="piece", shard=3, piece=piece, fingerprint="f00d"))
    return pieces


def wait_for(path: str) -> bool:
    """Whether a file is there within some seconds of an announcement."""
    progress.announce(StageReport(stage="piece", shard=3, fingerprint="f00d"))
    end = time.monotonic() + 20
    while not Path(path).exists() and time.monotonic() < end:
        time.sleep(0.01)
    return Path(path).exists()


def bytes_alone(nbytes: int) -> int:
    progress.advance(0, 1)
    progress.advance(0, nbytes)
    return nbytes


def fail(kind: str) -> None:
    errors: dict[str, Exception] = {
        "input": InputError("part-7.jsonl.gz: ends within a member", "truncated_stream"),
        "space": NoSpaceError("out: full"),
        "storage": StorageError("out: gone for now"),
        "name": InputError("caf\udce9.jsonl: unreadable", "unreadable"),
        "stopped": Stopped("no"),
        "bug": KeyError("missing"),
    }
    raise errors[kind]


def unsendable() -> Any:
    return object()


def broken_report() -> StageReport:
    return StageReport(stage="clean", shard=0, fingerprint="", docs_in=2, docs_out=1)


def talk() -> str:
    print('{"result": "from print"}', flush=True)
    os.write(1, b'{"result": "from a C library"}\n')
    return "the result"


def sleep(duration: float, started: str) -> int:
    Path(started).write_text(str(os.getpid()))
    time.sleep(duration)
    return os.getpid()


def leave(status: int) -> None:
    os._exit(status)
