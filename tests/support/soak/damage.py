"""One flipped bit: in a published file it is found, in the work area it does no harm."""

import random
import shutil
from pathlib import Path

from gristmill.errors import VerificationError
from gristmill.stages.verify import verify
from soak.bench import Bench
from soak.rows import Row, row


def flip(path: Path, chance: random.Random) -> bytes:
    """Flip one random bit of a file; returns the bytes from before."""
    before = path.read_bytes()
    place, bit = chance.randrange(len(before)), chance.randrange(8)
    after = bytearray(before)
    after[place] ^= 1 << bit
    path.write_bytes(after)
    return before


def files_below(folder: str) -> list[Path]:
    """Every file that has a byte to damage."""
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.stat().st_size)


def in_published_files(bench: Bench, count: int, seed: int = 3) -> Row:
    """So many flips, each in a random published file, each put right again after ``verify`` has looked."""
    chance = random.Random(seed)
    paths = files_below(bench.calm.output)
    problems: dict[int, list[str]] = {}
    for number in range(count):
        path = paths[number % len(paths)]
        before = flip(path, chance)
        problems[number] = [] if found_by_verify(bench.calm.output, path) else [f"{path}: not found"]
        path.write_bytes(before)
    problems[count] = verify(bench.calm.output).problems
    notes = f"in {len(paths)} files, manifest and report included; `verify` names the file each time"
    return row("one flipped bit in a published file", count, problems, notes)


def found_by_verify(output: str, path: Path) -> bool:
    """Whether ``verify`` names the file."""
    try:
        return any(str(path) in problem for problem in verify(output).problems)
    except VerificationError as error:
        return str(path) in str(error)


def in_work_files(bench: Bench, count: int, seed: int = 4) -> Row:
    """So many flips, each in a random file of the work area. Some stages are deleted as well, so that what was damaged
    is needed again, and the output is made anew."""
    chance = random.Random(seed)
    place = bench.site.place()
    bench.run(place)
    problems: dict[int, list[str]] = {}
    for number in range(count):
        path = chance.choice(files_below(place.work))
        before = flip(path, chance)
        for stage in sorted(Path(place.work).iterdir()):
            if stage != path.parent.parent and chance.random() < 0.4:
                shutil.rmtree(stage)
        shutil.rmtree(place.output)
        outcome = bench.run(place)
        problems[number] = bench.finished(place) if outcome.status == 0 else [f"{path}: {outcome.error}"]
        if path.name != "report.json" and path.read_bytes() != before:
            problems[number].append(f"{path}: not made again")
    notes = "what was damaged is made again, never used"
    return row("one flipped bit in a work file", count, problems, notes)
