"""Two runs at once on one output."""

import random
import time
from collections import Counter
from typing import Any

from gristmill.inspection import doctor
from gristmill.inspection.verify import verify
from gristmill.storage.claims import UNFINISHED
from soak.bench import Bench, Outcome, Runner
from soak.places import Place
from soak.rows import Row, row
from soak.watch import Watcher


def two_at_once(bench: Bench, count: int, seed: int = 5) -> Row:
    """So many pairs that start almost together; every second pair shares the work area as well."""
    chance = random.Random(seed)
    problems: dict[int, list[str]] = {}
    other = Runner(bench.site.environment)
    for number in range(count):
        place = bench.site.place()
        second = place if number % 2 else Place(output=place.output, work=bench.site.place().work)
        with Watcher(bench, place) as watcher:
            bench.runner.start(bench.job.document(place))
            time.sleep(chance.uniform(0, bench.seconds / 4))
            other.start(bench.job.document(second))
            outcomes = [bench.runner.wait(), other.wait()]
        errors = [f"{outcome.kind}: {outcome.error}" for outcome in outcomes if outcome.status != 0]
        problems[number] = [*errors, *watcher.problems[:3], *bench.finished(place)]
    other.close()
    notes = "half of them with one work area as well; both end well, one manifest, the bytes of a single run"
    return row("two runs at once on one output", count, problems, notes)


NEVER = 1 << 30

RIVALS: list[dict[str, Any]] = [
    {},
    {"ordering": {"kind": "input"}},
    {"cleaning": [{"kind": "whitespace"}, {"kind": "length", "min_chars": 120}]},
]
"""What the second run has differently, besides its input in the first case."""


def rivals_at_once(bench: Bench, count: int, seed: int = 11) -> Row:
    """So many pairs of runs into one output, of one data set name, with other input, ordering or rules: they start
    within the time that a run takes."""
    chance = random.Random(seed)
    problems: dict[int, list[str]] = {}
    seen: Counter[str] = Counter()
    other = Runner(bench.site.environment)
    for number in range(count):
        place = bench.site.place()
        first, second = bench.job.document(place), rival(bench, place, number)
        bench.runner.start(first)
        time.sleep(chance.uniform(0, bench.seconds))
        other.start(second)
        problems[number] = judged(bench, place, [(first, bench.runner.wait()), (second, other.wait())], seen)
    other.close()
    notes = f"other input, ordering or rules: {told(seen)}; each output is what its manifest says"
    return row("two different runs at once into one output", count, problems, notes)


def rivals_at_every_step(bench: Bench, count: int) -> Row:
    """A run is stopped at a step in its output, a different one runs to its end, the first goes on: at so many steps,
    evenly spread, of which a run of the job has fewer than 400."""
    problems: dict[int, list[str]] = {}
    seen: Counter[str] = Counter()
    other = Runner(bench.site.environment)
    steps = bench.run(bench.site.place(), step=NEVER).steps
    chosen = sorted({steps * number // (count + 1) for number in range(1, count + 1)})
    for number, step in enumerate(chosen):
        place = bench.site.place()
        first, second = bench.job.document(place), rival(bench, place, number)
        bench.runner.start(first, step=step)
        early = bench.runner.stopped()
        found = other.run(second)
        last = bench.runner.go_on() if early is None else early
        problems[step] = judged(bench, place, [(first, last), (second, found)], seen)
    other.close()
    notes = f"at {len(chosen)} of {steps} steps, a different run meanwhile: {told(seen)}"
    return row("a run stopped at a step of publishing", len(chosen), problems, notes)


def rival(bench: Bench, place: Place, number: int) -> dict[str, Any]:
    """The configuration of the other run: its own work area, and one thing that is different."""
    own = Place(output=place.output, work=bench.site.place().work)
    settings = RIVALS[number % len(RIVALS)]
    fewer = {} if settings else {"sources": bench.job.sources(bench.job.files[:-1])}
    return bench.job.document(own, **settings, **fewer)


def judged(bench: Bench, place: Place, runs: list[tuple[dict[str, Any], Outcome]], seen: Counter[str]) -> list[str]:
    """What is wrong with an output after two runs: it must be what its manifest says, made by one that ended well, and
    one that did not must say in a line which other run was there and what to do. A request that a store got from a run
    that had slept longer than its lease may leave a file that no manifest lists; its error says so."""
    well = [document for document, outcome in runs if outcome.status == 0]
    bad = [outcome for _, outcome in runs if outcome.status != 0]
    seen.update([f"{len(well)} ended well"])
    seen.update(outcome.kind for outcome in bad)
    problems = [f"{outcome.kind}: {outcome.error}" for outcome in bad if not is_clear(outcome)]
    if not well:
        return [*problems, f"{place.output}: both failed: {[outcome.error for outcome in bad]}"]
    if any("gristmill doctor" in outcome.error for outcome in bad):
        doctor.mend(doctor.examine(place.output, 0))
    problems += verify(place.output).problems
    if UNFINISHED in bench.site.published(place.output):
        problems.append(f"{place.output}: {UNFINISHED} is left")
    again = bench.runner.run(well[-1])
    return problems if again.status == 0 else [*problems, f"{place.output}: run again: {again.error}"]


def is_clear(outcome: Outcome) -> bool:
    """Whether the error of the run that lost says why, and what to do, in a line."""
    said = ("another run", "made by other rules", "choose another")
    return (
        outcome.kind in ("BusyError", "ConfigError", "OtherRules")
        and "\n" not in outcome.error
        and any(part in outcome.error for part in said)
    )


def told(seen: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(seen.items()))
