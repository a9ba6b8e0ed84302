"""``python -m soak``: every fault in its full form, the tables into docs/reliability.md.

``python -m soak library`` tries the job inside one process on disk, ``store`` the same with work area and output in
SeaweedFS, ``command`` the real command under a Prefect server; a part that is stopped writes the rows it has.
``--only WORD`` tries the rows whose module or function has it in its name and leaves the page alone; ``--share 0.1``
tries a tenth of each.
"""

import argparse
import datetime
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from object_store import reached, served

from soak import damage, disk, kills, lost, nights, races, signals, surroundings, unsteady
from soak.bench import ROOT, Bench
from soak.command import Server
from soak.job import Job
from soak.places import Disk, Site, Store
from soak.rows import Row, table

PAGE = ROOT / "docs" / "reliability.md"
Fault = Callable[[Bench, int], Row]
CommandFault = Callable[[Bench, Server, int], Row]
FAULTS: list[tuple[Fault, int]] = [
    (kills.at_random_moments, 200),
    (kills.at_storage_calls, 100),
    (nights.killed, 60),
    (disk.no_room_for_a_file, 60),
    (disk.small_disk, 8 << 10),
    (damage.in_published_files, 800),
    (damage.in_work_files, 200),
    (races.two_at_once, 20),
    (races.rivals_at_once, 200),
    (races.rivals_at_every_step, 400),
    (surroundings.variations, len(surroundings.VARIATIONS)),
]
STORE_FAULTS: list[tuple[Fault, int]] = [
    (kills.at_random_moments, 60),
    (nights.killed, 20),
    (unsteady.faults, len(unsteady.PLANS)),
    (damage.in_published_files, 100),
    (damage.in_work_files, 20),
    (races.two_at_once, 10),
    (races.rivals_at_once, 20),
    (races.rivals_at_every_step, 60),
]
WHOLE = (disk.small_disk, lost.poison, surroundings.variations, unsteady.faults)
"""Faults of which a share would be no trial."""
COMMAND_FAULTS: list[tuple[CommandFault, int]] = [
    (lost.workers_killed, 20),
    (lost.poison, 4),
    (signals.stops, 50),
    (signals.kills, 10),
]


class Soak:
    """One table: its rows so far, each with its seconds."""

    def __init__(self, part: str, only: str, share: float) -> None:
        self._part, self._only, self._share = part, only, share
        self._began = time.monotonic()
        self.rows: list[tuple[Row, float]] = []

    def add(self, fault: Callable[..., Row], count: int, *on: object) -> None:
        """Try one kind of fault, if it is wanted, and show its row at once."""
        if self._only not in f"{fault.__module__}.{fault.__name__}":
            return
        began = time.monotonic()
        found = fault(*on, count if fault in WHOLE else max(1, int(count * self._share)))
        self.rows.append((found, time.monotonic() - began))
        print(table(self.rows).splitlines()[-1], flush=True)
        for problem in found.problems[:10]:
            print(f"  {problem}", file=sys.stderr)

    def write(self) -> None:
        """Put the table between the markers of its part of the page."""
        if self._only or not self.rows:
            return
        begin, end = f"<!-- soak {self._part} -->", f"<!-- /soak {self._part} -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        _, _, after = rest.partition(end)
        libraries = ", ".join(f"{name} {version(name)}" for name in ("prefect", "pyarrow", "numpy", "tokenizers"))
        share = f" --share {self._share}" if self._share != 1 else ""
        seconds, cores = time.monotonic() - self._began, len(os.sched_getaffinity(0))
        told = (
            f"`python -m soak {self._part}{share}`, {datetime.date.today().isoformat()}, {seconds:,.0f} s on {cores} "
            f"{platform.machine()} cores under a load of {os.getloadavg()[2]:.0f} ({platform.system()}, "
            f"Python {platform.python_version()}, {libraries}):"
        )
        PAGE.write_text(f"{before}{begin}\n{told}\n\n{table(self.rows)}\n{end}{after}", encoding="utf-8")


def library(soak: Soak, bench: Bench) -> None:
    """The faults of one process, and the naive way beside them."""
    for fault, count in FAULTS:
        soak.add(fault, count, bench)
    soak.add(naive, 200, bench)


def naive(bench: Bench, count: int) -> Row:
    """The same kills for a job that opens final names and takes what exists for done."""
    with Bench(bench.job, Disk(bench.site.root / "naive"), "naive") as compared:
        found = kills.at_random_moments(compared, count)
    return Row(fault="for comparison: the same for a naive job", tried=found.tried, held=found.held, notes=found.notes)


def store(soak: Soak, bench: Bench) -> None:
    """The faults of one process whose work area and output are in a store, and of the store."""
    for fault, count in STORE_FAULTS:
        soak.add(fault, count, bench)


def command(soak: Soak, bench: Bench) -> None:
    """The faults of the command and of its worker processes."""
    with Server() as server:
        for fault, count in COMMAND_FAULTS:
            soak.add(fault, count, bench, server)


PARTS = {"library": library, "store": store, "command": command}


@contextmanager
def site(part: str, folder: Path) -> Iterator[Site]:
    """Where a part is tried."""
    if part != "store":
        yield Disk(folder)
        return
    (folder / "server").mkdir(parents=True)
    with served(folder / "server") as bucket, reached(bucket.server.endpoint, lease_seconds=1):
        yield Store(folder, bucket)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("part", nargs="?", choices=sorted(PARTS), help="default: all")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name has it")
    parser.add_argument("--share", type=float, default=1.0, metavar="X", help="of every count")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves the blocks above, which end what they started
    failed = 0
    for part in [options.part] if options.part else PARTS:
        soak, folder = Soak(part, options.only, options.share), Path(tempfile.mkdtemp(prefix="soak-"))
        try:
            with site(part, folder / "runs") as found, Bench(Job(folder / "job"), found) as bench:
                PARTS[part](soak, bench)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            soak.write()
        failed += sum(row.tried - row.held for row, _ in soak.rows if "naive" not in row.fault)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
