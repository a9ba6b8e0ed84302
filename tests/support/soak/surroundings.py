"""Another machine: clock, time zone, hash seed, locale, umask."""

import os
import time
from typing import Any

from soak.bench import Bench, Runner
from soak.rows import Row, row

TEN_DAYS = 864_000
VARIATIONS: dict[str, dict[str, Any]] = {
    "clock set back again and again": {"clock": -TEN_DAYS},
    "time zone": {"more": {"TZ": "Pacific/Kiritimati"}},
    "PYTHONHASHSEED=1": {"more": {"PYTHONHASHSEED": "1"}},
    "PYTHONHASHSEED=2": {"more": {"PYTHONHASHSEED": "2"}},
    "locale C": {"more": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}},
    "umask 077": {"umask": 0o077},
}


def variations(bench: Bench, count: int) -> Row:
    """One run for each of the first ``count``; while the clock is set back, the input files come from the future."""
    problems: dict[int, list[str]] = {}
    chosen = list(VARIATIONS)[:count]
    for number, name in enumerate(chosen):
        how = VARIATIONS[name]
        runner = Runner({**bench.site.environment, **how.get("more", {})}, how.get("umask", -1))
        place = bench.site.place()
        clock = how.get("clock", 0)
        _touch(bench, time.time() - clock)
        outcome = runner.run(bench.job.document(place), clock=clock)
        problems[number] = bench.finished(place) if outcome.status == 0 else [outcome.error]
        runner.close()
    _touch(bench, time.time())
    return row("another machine", len(chosen), problems, f"{'; '.join(chosen)}: the same bytes")


def _touch(bench: Bench, moment: float) -> None:
    for path in bench.job.files:
        os.utime(path, (moment, moment))
