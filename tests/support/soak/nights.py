"""Input that arrives night after night, each night's run killed again and again until it is done."""

import random
from typing import Any

from soak.bench import Bench, differences
from soak.places import Place
from soak.rows import Row, row
from soak.watch import Watcher

NIGHTS = 3
KILLS_A_NIGHT = 4


def arrived(bench: Bench) -> list[dict[str, Any]]:
    """The settings of each night: more files every time."""
    files = bench.job.files
    return [{"sources": bench.job.sources(files[: len(files) * night // NIGHTS])} for night in range(1, NIGHTS + 1)]


def undisturbed(bench: Bench) -> list[dict[str, str]]:
    """What is published after each night without trouble."""
    place, found = bench.site.place(), []
    for settings in arrived(bench):
        outcome = bench.run(place, settings)
        assert outcome.status == 0, outcome
        found.append(bench.site.published(place.output))
    return found


def killed(bench: Bench, count: int, seed: int = 9) -> Row:
    """So many kills, each anywhere in the time that a run takes, some every night."""
    chance, references = random.Random(seed), undisturbed(bench)
    problems: dict[int, list[str]] = {}
    tried = jobs = looks = 0
    while tried < count:
        place, jobs, first = bench.site.place(), jobs + 1, tried
        wrong: list[str] = []
        for night, settings in enumerate(arrived(bench)):
            before = references[night - 1] if night else {}
            with Watcher(bench, place, references[night], before) as watcher:
                for _ in range(min(count - tried, chance.randint(1, KILLS_A_NIGHT))):
                    tried += bench.killed(place, settings, seconds=chance.uniform(0, bench.seconds))
                final = bench.run(place, settings)
            wrong += [*watcher.problems[:3], *_ended(bench, place, references[night], final.error)]
            looks += watcher.looks
        problems |= dict.fromkeys(range(first, tried), wrong)
    notes = (
        f"{NIGHTS} nights on one output, {jobs} times over: after each the bytes of nights without trouble, nothing of "
        f"an earlier one touched ({looks:,} looks)"
    )
    return row("kill -9 at a random moment, night after night", tried, problems, notes)


def _ended(bench: Bench, place: Place, reference: dict[str, str], error: str) -> list[str]:
    return [f"{place.output}: {error}"] if error else differences(bench.site.published(place.output), reference, place)
