"""Another machine: clock, time zone, hash seed, locale, umask."""

import os
import time
from typing import Any

from soak.bench import Bench, Runner, differences
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
    chosen = list(VARIATIONS)[:count]
    problems = {number: _varied(bench, VARIATIONS[name]) for number, name in enumerate(chosen)}
    return row("another machine", len(chosen), problems, f"{'; '.join(chosen)}: the same bytes")


def _varied(bench: Bench, how: dict[str, Any]) -> list[str]:
    clock = how.get("clock", 0)
    before = [path.stat().st_mtime_ns for path in bench.job.files]
    if clock:
        _touch(bench, [time.time_ns() - clock * 10**9] * len(before))
    plain, place = bench.site.place(), bench.site.place()
    assert bench.run(plain).status == 0
    runner = Runner({**bench.site.environment, **how.get("more", {})}, how.get("umask", -1))
    outcome = runner.run(bench.job.document(place), clock=clock)
    runner.close()
    _touch(bench, before)
    if outcome.status:
        return [outcome.error]
    return differences(bench.site.published(place.output), bench.site.published(plain.output), place)


def _touch(bench: Bench, moments: list[int]) -> None:
    """The manifest names the time of change of every input file."""
    for path, moment in zip(bench.job.files, moments, strict=True):
        os.utime(path, ns=(moment, moment))
