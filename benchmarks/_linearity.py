"""Our full job at one and many times the corpus: time, memory, one worker and all, and a rerun with nothing to do."""

from pathlib import Path

import _corpus
import _machine
import _ours
import _salted
import msgspec
from _bench import Bench
from _corpus import Corpus
from _results import Machine, Measured, Run
from _table import table
from _targets import MEMORY, Target, megabytes, seconds, share, times
from _targets import shown as table_of

GROWTH = 0.15
SCALING = 1.8
ORCHESTRATION = 0.05
WARM_SECONDS = 15.0


class Linearity(msgspec.Struct, frozen=True, kw_only=True):
    """A run of benchmarks/run.py --linearity."""

    date: str
    command: str
    machine: Machine
    workers: int
    repeats: int
    factor: int
    corpora: dict[str, Corpus]
    """``once`` and ``many``."""
    programs: list[Measured]
    """``once`` and ``many`` by all workers, ``once`` by ``one worker``, and by one on ``one core`` as all else is."""
    warm: list[float]
    """Seconds of the command, Prefect's start included, when everything is done already."""

    def of(self, name: str) -> Measured:
        return next(one for one in self.programs if one.name == name)


def measure(bench: Bench, factor: int) -> Linearity:
    """Salt the corpus and run all rounds. Raises ``Failed``."""
    options, scratch = bench.options, bench.scratch
    folders = {
        "once": _salted.make(options.corpus, scratch / "once", 1, options.workers),
        "many": _salted.make(options.corpus, scratch / "many", factor, options.workers),
    }
    plans = {
        "once": ("once", options.workers, _ours.ALL),
        "one worker": ("once", 1, _ours.ALL),
        "one core": ("once", 1, 1),
        "many": ("many", options.workers, _ours.ALL),
    }
    runs: dict[str, list[Run]] = {name: [] for name in plans}
    warm: list[float] = []
    for _ in range(options.repeats):
        for name, (size, workers, cores) in plans.items():
            with bench.empty() as folder:
                runs[name].append(bench.prepared("full", folders[size], workers, folder, cores))
                if name == "once":
                    warm.append(_again(folder, options.environments))
            print(f"{name:12}{runs[name][-1]}", flush=True)
    return Linearity(
        date=_machine.today(),
        command=_machine.command(),
        machine=_machine.machine(),
        workers=options.workers,
        repeats=options.repeats,
        factor=factor,
        corpora={name: _corpus.counted(folder) for name, folder in folders.items()},
        programs=[Measured(name=name, title=name, job="full", runs=found) for name, found in runs.items()],
        warm=warm,
    )


def _again(folder: Path, home: Path) -> float:
    """Seconds of the same command once more."""
    done = _ours.prepare(folder / "config.yaml", home)
    return done.ended - done.began


def shown(found: Linearity) -> str:
    """The tables."""
    machine = found.machine
    lines = [
        f"{found.date}, {machine.cores} cores of {machine.processor}, {machine.memory / 1e9:.0f} GB, Python "
        f"{machine.python}; medians of {found.repeats}, peaks the highest. The full job with its verification, on "
        f"the corpus once and {found.factor} times, every copy salted.",
        f"    {found.command}",
        table(
            ["", "MB of text", "s", "MB/s", "CPU s", "peak MB", "server MB", "orchestration", "documents kept"],
            [_row(found, one) for one in found.programs],
        ),
        f"A rerun with nothing to do: {sorted(found.warm)[len(found.warm) // 2]:.1f} s, Prefect's start included.",
        table_of(targets(found)),
    ]
    return "\n\n".join(lines)


def _row(found: Linearity, one: Measured) -> list[str]:
    corpus = found.corpora["many" if one.name == "many" else "once"]
    workers = {"one worker": "1 worker", "one core": "1 worker on 1 core"}.get(one.name, f"{found.workers} workers")
    times_over = found.factor if one.name == "many" else 1
    return [
        f"{times_over} times, {workers}",
        f"{corpus.text_bytes / 1e6:,.1f}",
        f"{one.middle('seconds'):.2f}",
        f"{corpus.text_bytes / 1e6 / one.middle('seconds'):.1f}",
        f"{one.middle('cpu'):.1f}",
        f"{one.worst('peak') / 1e6:,.0f}",
        f"{one.worst('server_peak') / 1e6:,.0f}",
        f"{one.middle('orchestration'):.1%}",
        f"{one.middle('documents'):,.0f}",
    ]


def targets(found: Linearity) -> list[Target]:
    """Those that growth can show."""
    once, many = found.of("once"), found.of("many")
    text = found.corpora["many"].text_bytes / found.corpora["once"].text_bytes
    growth = many.middle("seconds") / once.middle("seconds") / text - 1
    scaling, cores = (found.of(name).middle("seconds") / once.middle("seconds") for name in ("one worker", "one core"))
    warm = sorted(found.warm)[len(found.warm) // 2]
    idle = max(once.middle("orchestration"), many.middle("orchestration"))
    peak = many.worst("peak")
    rows = [
        ("peak memory at the larger size", MEMORY, peak, "under", megabytes),
        ("the same over that of the corpus once", 1 + GROWTH, peak / once.worst("peak"), "at most", times),
        (f"time over linear at {found.factor} times", GROWTH, growth, "at most", share),
        (f"{found.workers} workers over 1", SCALING, scaling, "at least", times),
        (f"the same over 1 on 1 core, {found.workers} on {found.machine.cores}", SCALING, cores, "at least", times),
        ("orchestration, the larger of both sizes", ORCHESTRATION, idle, "under", share),
        ("rerun with nothing to do", WARM_SECONDS, warm, "under", seconds),
    ]
    return [
        Target(what=what, wanted=wanted, reached=reached, bound=bound, unit=unit)
        for what, wanted, reached, bound, unit in rows
    ]
