"""kill -9 at random moments, again and again until the job is done."""

import random
from typing import Any

from soak.bench import Bench
from soak.rows import Row, row
from soak.watch import Watcher

CALLS_A_FILE = 115
"""About how often a run calls the file system for each file of the job."""

FORGOTTEN_EVERY = 5
"""Kills after which another machine goes on, which has nothing but what is in the store."""


def at_random_moments(bench: Bench, count: int, seed: int = 1) -> Row:
    """So many kills, each anywhere in the time that a run takes; the same command resumes until a run ends well."""
    chance = random.Random(seed)
    return _killed(bench, count, lambda: {"seconds": chance.uniform(0, bench.seconds)}, "kill -9 at a random moment")


def at_storage_calls(bench: Bench, count: int, seed: int = 2) -> Row:
    """So many kills, each as the process opens, names, makes or removes a file."""
    chance, calls = random.Random(seed), CALLS_A_FILE * len(bench.job.files)
    return _killed(
        bench, count, lambda: {"call": chance.randrange(calls)}, "kill -9 at a random call to the file system"
    )


def _killed(bench: Bench, count: int, draw: Any, fault: str) -> Row:
    problems: dict[int, list[str]] = {}
    tried = jobs = looks = half = wrong = 0
    while tried < count:
        place = bench.site.place()
        first = tried
        with Watcher(bench, place) as watcher:
            while tried < count and bench.killed(place, **draw()):
                tried += 1
                if not tried % FORGOTTEN_EVERY:
                    bench.site.forget()
            final = bench.run(place)
        ended = bench.finished(place) if final.status == 0 else [f"{place.output}: {final.error}"]
        jobs, looks, half, wrong = jobs + 1, looks + watcher.looks, half + bool(watcher.problems), wrong + bool(ended)
        for number in range(first, tried):
            problems[number] = [*watcher.problems[:3], *ended]
    notes = (
        f"{jobs} jobs killed until done: {wrong} not as in an undisturbed run; "
        f"half-written files or an early manifest seen in {half} of them ({looks:,} looks)"
    )
    return row(fault, tried, problems, notes)
