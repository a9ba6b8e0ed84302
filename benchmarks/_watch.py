"""A command and all processes below it, watched from outside: CPU seconds and memory, by kind of process.

Linux only: the figures come from /proc. Memory is PSS, so that pages which processes share count once.
"""

import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

SAMPLE_SECONDS = 0.5
SERVER = "server"
CHILD_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
ORPHAN_SECONDS = 10.0
"""What is still running so long after the command is killed."""
FOLDERS = re.compile(r"""[^\s'"]*/""")
TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """The command ended with another status than 0; the message ends with the last lines that it printed."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What the processes of each kind had used up, children that have ended included, and held at a moment."""

    moment: float
    cpu: dict[str, float]
    memory: dict[str, int]
    largest: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A run of a command. Moments are seconds since the epoch, memory is in bytes."""

    began: float
    ended: float
    cpu: float
    """CPU seconds of the whole tree, from the system's own account of processes that have ended."""
    samples: list[Sample]

    def kinds(self) -> list[str]:
        return sorted({kind for sample in self.samples for kind in sample.cpu})

    def used(self, start: float, stop: float) -> dict[str, float]:
        """CPU seconds between two moments, by kind of process."""
        moments = [self.began, *(sample.moment for sample in self.samples)]
        spent = {kind: [0.0, *(sample.cpu.get(kind, 0.0) for sample in self.samples)] for kind in self.kinds()}
        return {kind: float(np.diff(np.interp([start, stop], moments, values))[0]) for kind, values in spent.items()}

    def server_cpu(self) -> float:
        """CPU seconds of Prefect's server until it was last seen."""
        return max((sample.cpu.get(SERVER, 0.0) for sample in self.samples), default=0.0)

    def peak(self) -> int:
        """The most memory of all processes together, without Prefect's server."""
        return max((sum(sample.memory.values()) - sample.memory.get(SERVER, 0) for sample in self.samples), default=0)

    def largest(self, kind: str) -> int:
        """The most memory of one process of this kind."""
        return max((sample.largest.get(kind, 0) for sample in self.samples), default=0)


def watch(
    command: list[str],
    *,
    log: Path,
    environment: dict[str, str] | None = None,
    limit: float = threading.TIMEOUT_MAX,
) -> Watched:
    """Run the command to its end, or for ``limit`` seconds, with its output in ``log``; what it leaves running is
    ended. Raises ``Failed``."""
    with log.open("wb") as output, _adopting():
        began = time.time()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        sampler = _Sampler(process.pid)
        sampler.start()
        timer = threading.Timer(limit, os.kill, [process.pid, signal.SIGKILL])
        timer.daemon = True
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.time()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        sampler.over.set()
        sampler.join()
        cpu = usage.ru_utime + usage.ru_stime + sum(map(_orphan, sampler.seen() - {process.pid}))
    if process.returncode:
        raise Failed(_reason(Path(command[1]).name, process.returncode, ended - began >= limit, log))
    return Watched(began=began, ended=ended, cpu=cpu, samples=sampler.samples)


def _reason(name: str, status: int, late: bool, log: Path) -> str:
    """What became of the command, with the last lines that it printed; of paths their last part."""
    lines = log.read_text(errors="replace").strip().splitlines()[-3:]
    last = FOLDERS.sub("", "; ".join(lines))[-300:]
    how = "was killed for taking too long" if late else f"ended with status {status}"
    return f"{name} {how}: {last}"


@contextmanager
def _adopting() -> Iterator[None]:
    """While it lasts, processes whose parent has ended become children of this one, which can ask what they used: a
    fork server, as datatrove has one, outlives the command that started it without being waited for."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(CHILD_SUBREAPER, 0, 0, 0, 0)


def _orphan(process: int) -> float:
    """CPU seconds of an adopted process and its children, once it has ended; 0 for one that was not adopted."""
    patience = time.monotonic() + ORPHAN_SECONDS
    try:
        while True:
            found, _, usage = os.wait4(process, os.WNOHANG)
            if found:
                return usage.ru_utime + usage.ru_stime
            if time.monotonic() > patience:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
    except ChildProcessError:
        return 0.0


class _Sampler(threading.Thread):
    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._kinds: dict[int, str] = {}
        self.samples: list[Sample] = []
        self.over = threading.Event()

    def seen(self) -> set[int]:
        """Every process that was there when it looked."""
        return set(self._kinds)

    def run(self) -> None:
        while not self.over.wait(SAMPLE_SECONDS):
            try:
                root = psutil.Process(self._root)
                processes = [root.pid, *(child.pid for child in root.children(recursive=True))]
            except psutil.NoSuchProcess:
                return
            # Where one ends meanwhile its seconds are its parent's already or not yet: the next look will know.
            with suppress(FileNotFoundError, ProcessLookupError):
                self.samples.append(self._sample(processes))

    def _sample(self, processes: list[int]) -> Sample:
        moment = time.time()
        cpu: dict[str, float] = defaultdict(float)
        memory: dict[str, int] = defaultdict(int)
        largest: dict[str, int] = defaultdict(int)
        for process in processes:  # parents first
            cpu[self._kind(process)] += _seconds(process)
        for process in processes:
            kind, held = self._kinds[process], _memory(process)
            memory[kind] += held
            largest[kind] = max(largest[kind], held)
        return Sample(moment=moment, cpu=cpu, memory=memory, largest=largest)

    def _kind(self, process: int) -> str:
        found = self._kinds.get(process)
        if found is None or found == "main":  # a forked process may still become another program
            line = Path(f"/proc/{process}/cmdline").read_bytes()
            found = (
                "worker" if b"gristmill.processes.child" in line else SERVER if b"prefect.server" in line else "main"
            )
            self._kinds[process] = found
        return found


def _seconds(process: int) -> float:
    """User and system time of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def _memory(process: int) -> int:
    """Bytes, pages that processes share divided among them; 0 for one that has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
