"""One flipped bit: in a published file it is found, in the work area it does no harm."""

import random

from gristmill.errors import VerificationError
from gristmill.inspection.verify import verify
from soak.bench import Bench
from soak.places import Site
from soak.rows import Row, row


def flip(site: Site, folder: str, name: str, chance: random.Random) -> bytes:
    """Flip one random bit of a file; returns the bytes from before."""
    before = site.read(folder, name)
    place, bit = chance.randrange(len(before)), chance.randrange(8)
    after = bytearray(before)
    after[place] ^= 1 << bit
    site.write(folder, name, bytes(after))
    return before


def in_published_files(bench: Bench, count: int, seed: int = 3) -> Row:
    """So many flips, each in a random published file, each put right again after ``verify`` has looked."""
    chance, output = random.Random(seed), bench.calm.output
    names = bench.site.files(output)
    problems: dict[int, list[str]] = {}
    for number in range(count):
        name = names[number % len(names)]
        before = flip(bench.site, output, name, chance)
        problems[number] = [] if found_by_verify(output, name) else [f"{name}: not found"]
        bench.site.write(output, name, before)
    problems[count] = verify(output).problems
    notes = f"in {len(names)} files, manifests and report included; `verify` names the file each time"
    return row("one flipped bit in a published file", count, problems, notes)


def found_by_verify(output: str, name: str) -> bool:
    """Whether ``verify`` names the file."""
    try:
        return any(f"{output}/{name}" in problem for problem in verify(output).problems)
    except VerificationError as error:
        return f"{output}/{name}" in str(error)


def in_work_files(bench: Bench, count: int, seed: int = 4) -> Row:
    """So many flips, each in a random file of the work area. Some stages are deleted as well, so that what was damaged
    is needed again, and the output is made anew; on a store every second time by a machine that has no copies."""
    chance, site = random.Random(seed), bench.site
    place = site.place()
    bench.run(place)
    problems: dict[int, list[str]] = {}
    for number in range(count):
        names = site.files(place.work)
        name = chance.choice(names)
        before = flip(site, place.work, name, chance)
        for stage in sorted({other.partition("/")[0] for other in names} - {name.partition("/")[0]}):
            if chance.random() < 0.4:
                site.remove(place.work, f"{stage}/")
        if number % 2:
            site.forget()
        site.remove(place.output)
        outcome = bench.run(place)
        problems[number] = bench.finished(place) if outcome.status == 0 else [f"{name}: {outcome.error}"]
        if not name.endswith("report.json") and site.read(place.work, name) != before:
            problems[number].append(f"{name}: not made again")
    notes = "what was damaged is made again, never used"
    return row("one flipped bit in a work file", count, problems, notes)
