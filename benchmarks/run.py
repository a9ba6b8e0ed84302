"""Gristmill beside its peers, on one corpus in one run, one program after the other, each so many times.

    python benchmarks/run.py ../shared/corpus/large --tokenizer gpt2.json --repeats 3 --write
    python benchmarks/run.py CORPUS --tokenizer gpt2.json --jobs tokens --peers nanogpt,megatron
    python benchmarks/run.py CORPUS --tokenizer gpt2.json --linearity 10 --write

CORPUS is a folder of jsonl.gz files, at least as many as workers. Each peer gets an environment of its own, made from
benchmarks/peers/*.txt when it is first needed; one that cannot be made or fails is listed with the reason. Nothing
else should run meanwhile. --write keeps the figures in benchmarks/results and puts the tables in docs/performance.md.
Exit status 1 where a program counted otherwise than gristmill and it is not known why.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import _environments
import _linearity
import _machine
import _ours
import _table
import _targets
import msgspec
from _bench import Bench
from _environments import NotInstalled
from _programs import PROGRAMS, Program
from _results import FLOORS, OURS, Comparison, Measured, Run
from _watch import Failed

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "performance.md"
CACHE = Path("~/.cache/gristmill/peers").expanduser()


def compare(bench: Bench) -> Comparison:
    """Run all rounds."""
    options = bench.options
    ready = {program.name: prepared(program, options.environments) for program in chosen(options)}
    runs: dict[tuple[str, str], list[Run]] = {}
    missing = {name: reason for name, (interpreter, reason) in ready.items() if not interpreter}
    for _ in range(options.repeats):
        for job in options.jobs:
            keep(runs, OURS, job, bench.ours(job), bench)
            for program in chosen(options):
                if program.job != job or program.name in missing:
                    continue
                try:
                    found = bench.peer(program, ready[program.name][0])
                except (Failed, ValueError) as error:
                    missing[program.name] = str(error)
                    print(f"{job:8}{program.name:20}{error}", flush=True)
                else:
                    keep(runs, program.name, job, found, bench)
    return Comparison(
        date=_machine.today(),
        command=_machine.command(),
        machine=_machine.machine(),
        workers=options.workers,
        repeats=options.repeats,
        corpora=bench.corpora,
        programs=list(measured(bench, runs, missing)),
    )


def chosen(options: argparse.Namespace) -> list[Program]:
    """The floors and the peers that were asked for."""
    return [
        one
        for one in PROGRAMS
        if one.job in options.jobs and (one.name in FLOORS or options.peers is None or one.name in options.peers)
    ]


def prepared(program: Program, environments: Path) -> tuple[str, str]:
    """The program's interpreter, or an empty text and why there is none."""
    try:
        return _environments.python(program.environment, environments), ""
    except NotInstalled as error:
        print(error, flush=True)
        return "", str(error)


def keep(runs: dict[tuple[str, str], list[Run]], name: str, job: str, run: Run, bench: Bench) -> None:
    """Add a run and print it."""
    runs.setdefault((name, job), []).append(run)
    rate = bench.corpora[job].text_bytes / 1e6 / run.seconds
    print(
        f"{job:8}{name:20}{run.seconds:8.2f} s {rate:8.1f} MB/s {run.cpu:8.1f} CPU s {run.peak / 1e6:8,.0f} MB "
        f"{run.documents:10,} documents {run.tokens:12,} ids  (start {run.start:.1f} s, whole {run.wall:.1f} s)",
        flush=True,
    )


def measured(bench: Bench, runs: dict[tuple[str, str], list[Run]], missing: dict[str, str]) -> Iterator[Measured]:
    """What becomes a row, in the order of the tables."""
    environments = bench.options.environments
    for job in bench.options.jobs:
        libraries = _environments.versions(_environments.python("", environments), _ours.LIBRARIES)
        yield Measured(name=OURS, title=_ours.TITLES[job], job=job, versions=libraries, runs=runs[OURS, job])
        for one in (one for one in chosen(bench.options) if one.job == job):
            there = one.environment and one.name not in missing
            yield Measured(
                name=one.name,
                title=one.title,
                job=job,
                versions=installed(one.environment, environments) if there else {},
                runs=[] if one.name in missing else runs[one.name, job],
                missing=missing.get(one.name, ""),
                differs=one.differs,
            )


def installed(environment: str, environments: Path) -> dict[str, str]:
    return _environments.versions(_environments.python(environment, environments), _environments.pinned(environment))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [one.name for one in PROGRAMS if one.name not in FLOORS]
    found.add_argument("corpus", type=Path, help="folder of jsonl.gz files")
    found.add_argument("--tokenizer", required=True, help="GPT-2's tokenizer.json, or another of at most 65,536 ids")
    found.add_argument("--workers", type=int, default=2)
    found.add_argument("--repeats", type=int, default=1, help="rounds; medians are compared")
    found.add_argument("--jobs", type=_names(list(_ours.JOBS)), default=list(_ours.JOBS), help="tokens,dedup,full")
    found.add_argument("--peers", type=_names([*names, "none"]), help=f"default: all of {','.join(names)}; or none")
    found.add_argument("--part", type=float, default=0.25, help="share of the files for dedup and full (default 0.25)")
    found.add_argument("--environments", type=Path, default=CACHE, help=f"where peers are installed (default {CACHE})")
    found.add_argument("--scratch", type=Path, default=ROOT, help="folder on the disk that everything is written to")
    found.add_argument(
        "--linearity", type=int, metavar="N", help="measure our full job at 1 and N times the corpus instead"
    )
    found.add_argument("--limit", type=float, default=3600, help="seconds after which a peer is killed (default 3600)")
    found.add_argument("--write", action="store_true", help="keep the figures and put the tables in the page")
    return found


def _names(known: list[str]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        unknown = set(text.split(",")) - set(known)
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: choose from {', '.join(known)}")
        return text.split(",")

    return read


def beside_peers(options: argparse.Namespace, scratch: Path) -> tuple[msgspec.Struct, str]:
    """The figures of a comparison, and its tables."""
    found = compare(Bench(options, scratch))
    return found, f"{_table.comparison(found)}\n\n### Targets\n\n{_targets.shown(_targets.targets(found))}"


def grown(options: argparse.Namespace, scratch: Path) -> tuple[msgspec.Struct, str]:
    """The figures at two sizes, and their tables."""
    options.jobs = []  # none of them on the corpus as it is
    found = _linearity.measure(Bench(options, scratch), options.linearity)
    return found, _linearity.shown(found)


def main() -> None:
    options = parser().parse_args()
    options.tokenizer = str(Path(options.tokenizer).resolve())
    options.corpus, options.environments = options.corpus.resolve(), options.environments.resolve()
    options.environments.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.scratch, prefix=".benchmark-") as scratch:
        found, shown = (grown if options.linearity else beside_peers)(options, Path(scratch))
    print(f"\n{shown}")
    if options.write:
        region = "linearity" if options.linearity else "comparison"
        RESULTS.mkdir(exist_ok=True)
        data = msgspec.json.format(msgspec.json.encode(found), indent=1)
        (RESULTS / f"{region}.json").write_bytes(data + b"\n")
        _table.replace(PAGE, region, shown)
    if isinstance(found, Comparison) and (lines := _table.unexplained(found)):
        sys.exit("\n".join(["counts differ without a known reason:", *lines]))


if __name__ == "__main__":
    main()
