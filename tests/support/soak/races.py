"""Two runs at once on one output."""

import random
import time

from soak.bench import Bench, Runner
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
