"""Disks that are full: at every file in turn, and at whatever is written as a small disk grows."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soak.bench import Bench, Outcome
from soak.places import Disk, Place
from soak.rows import Row, row

TOLD = "no space left to write"


def no_room_for_a_file(bench: Bench, count: int) -> Row:
    """For files of so many sizes, smallest first: no file may grow to that size, while smaller ones can be written."""
    folders = [Path(bench.calm.work), Path(bench.calm.output)]
    sizes = sorted({path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()} - {0})
    chosen = sizes[:: max(1, len(sizes) // count)][:count]
    place = bench.site.place()
    problems = {}
    for size in chosen:
        outcome = bench.run(place, limit=size - 1)
        problems[size] = [*_told(outcome, place), *bench.unfinished(place)]
    final = bench.run(place)
    problems[0] = bench.finished(place) if final.status == 0 else [final.error]
    notes = "named error each time, nothing wrong at the output; the same command completes once there is room"
    return row("disk full: no room for the next file", len(chosen), problems, notes)


def small_disk(bench: Bench, step: int) -> Row:
    """Work area and output on a disk of their own that grows by ``step`` bytes whenever a run found it full."""
    fault = f"disk full: a tmpfs that grows by {step // 1024} KiB"
    with mounted(bench.site.root / "small") as folder:
        if folder is None:
            return Row(fault=fault, tried=0, held=0, notes="not tried: this user may not mount")
        place = Disk(folder).place()
        problems: dict[int, list[str]] = {}
        size = 64 << 10
        resize(folder, size)
        while (outcome := bench.run(place)).status != 0 and size < 256 << 20:
            problems[size] = [*_told(outcome, place), *bench.unfinished(place)]
            size += step
            resize(folder, size)
        problems[0] = bench.finished(place)
        notes = f"work area and output on it; named error each time; done at {size >> 10:,} KiB, as without trouble"
        return row(fault, len(problems) - 1, problems, notes)


def _told(outcome: Outcome, place: Place) -> list[str]:
    if outcome.kind == "NoSpaceError" and TOLD in outcome.error:
        return []
    return [f"{place.work}: ended with {outcome.status}, {outcome.kind}: {outcome.error}"]


@contextmanager
def mounted(folder: Path) -> Iterator[Path | None]:
    """A tmpfs at ``folder``, or None where this user may not mount."""
    folder.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def resize(folder: Path, size: int) -> None:
    """Make a tmpfs ``size`` bytes big."""
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
