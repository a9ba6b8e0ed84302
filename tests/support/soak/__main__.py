"""``python -m soak``: every fault in its full form, the table into docs/reliability.md.

Takes about ten minutes of two quiet cores. ``--only WORD`` runs the rows whose module or function has it in its name,
``--share 0.1`` a tenth of each. ``--only`` leaves the page alone; a soak that is stopped writes the rows it has.
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
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from soak import damage, disk, kills, lost, races, signals, surroundings
from soak.bench import ROOT, Bench
from soak.command import Server
from soak.job import Job
from soak.places import Disk
from soak.rows import Row, table

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- soak -->", "<!-- /soak -->"
Fault = Callable[[Bench, int], Row]
CommandFault = Callable[[Bench, Server, int], Row]
FAULTS: list[tuple[Fault, int]] = [
    (kills.at_random_moments, 200),
    (kills.at_storage_calls, 100),
    (disk.no_room_for_a_file, 60),
    (disk.small_disk, 8 << 10),
    (damage.in_published_files, 800),
    (damage.in_work_files, 200),
    (races.two_at_once, 20),
    (surroundings.variations, len(surroundings.VARIATIONS)),
]
COMMAND_FAULTS: list[tuple[CommandFault, int]] = [
    (lost.workers_killed, 20),
    (lost.poison, 4),
    (signals.stops, 50),
    (signals.kills, 10),
]


class Soak:
    """The rows so far, each with its seconds."""

    def __init__(self, only: str, share: float) -> None:
        self._only, self._share = only, share
        self.rows: list[tuple[Row, float]] = []

    def wants(self, fault: Callable[..., Row]) -> bool:
        return self._only in f"{fault.__module__}.{fault.__name__}"

    def add(self, fault: Callable[..., Row], count: int, *on: object) -> None:
        """Try one kind of fault and show its row at once."""
        began = time.monotonic()
        found = fault(*on, count if fault in (disk.small_disk, lost.poison) else max(1, int(count * self._share)))
        self.rows.append((found, time.monotonic() - began))
        print(table(self.rows).splitlines()[-1], flush=True)
        for problem in found.problems[:10]:
            print(f"  {problem}", file=sys.stderr)


def run(soak: Soak, folder: Path) -> None:
    """All rows: those of the library, the naive way beside them, those of the command."""
    job = Job(folder / "job")
    with Bench(job, Disk(folder / "serial")) as bench:
        for fault, count in FAULTS:
            if soak.wants(fault):
                soak.add(fault, count, bench)
        if soak.wants(naive):
            soak.add(naive, 200, Bench(job, Disk(folder / "naive"), "naive"))
        if any(soak.wants(fault) for fault, _ in COMMAND_FAULTS):
            with Server() as server:
                for command_fault, count in COMMAND_FAULTS:
                    if soak.wants(command_fault):
                        soak.add(command_fault, count, bench, server)


def naive(bench: Bench, count: int) -> Row:
    """The same kills for a job that opens final names and takes what exists for done."""
    with bench:
        found = kills.at_random_moments(bench, count)
    return Row(fault="for comparison: the same for a naive job", tried=found.tried, held=found.held, notes=found.notes)


def write(rows: list[tuple[Row, float]], seconds: float) -> None:
    """Put the table between the markers of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("prefect", "pyarrow", "numpy", "tokenizers"))
    told = (
        f"`{' '.join(['python -m soak', *sys.argv[1:]])}`, {datetime.date.today().isoformat()}, {seconds:,.0f} s on "
        f"{len(os.sched_getaffinity(0))} {platform.machine()} cores under a load of {os.getloadavg()[2]:.1f} "
        f"({platform.system()}, Python {platform.python_version()}, {libraries}):"
    )
    PAGE.write_text(f"{before}{BEGIN}\n{told}\n\n{table(rows)}\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name has it")
    parser.add_argument("--share", type=float, default=1.0, metavar="X", help="of every count")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves the blocks above, which end what they started
    soak = Soak(options.only, options.share)
    folder, began = Path(tempfile.mkdtemp(prefix="soak-")), time.monotonic()
    try:
        run(soak, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not options.only:
            write(soak.rows, time.monotonic() - began)
    return int(any(found.held < found.tried for found, _ in soak.rows if "naive" not in found.fault))


if __name__ == "__main__":
    sys.exit(main())
