"""How well a run of the flow uses the machine: cores busy, peak memory, share of orchestration.

    python benchmarks/spine.py ../shared/corpus/large --tokenizer ../shared/fixtures/tokenizers/gpt2.json
    python benchmarks/spine.py FOLDER_WITH_ONE_BIG_FILE --web --tokenizer gpt2.json

Start-up (Python, Prefect, its server) is everything before the first stage function begins; it is printed apart.
"""

import argparse
import tempfile
from pathlib import Path

from _ours import ROOT, WEB, configured, covered, intervals, prepare
from _watch import Watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="folder of jsonl files")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--web", action="store_true", help="clean with the rules for web text")
    options = parser.parse_args()
    settings = {"dedup": [{"kind": "exact"}]}
    if options.web:
        settings["cleaning"] = [{"kind": kind} for kind in WEB]
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".benchmark-") as folder:
        home = Path(folder)
        config = configured(settings, Path(options.corpus), options.tokenizer, options.workers, home)
        done = prepare(config, home)
        spans, reading = intervals(home / "work"), intervals(home / "work", "fetch")
        published = (home / "out/manifest.json").stat().st_mtime
    show(spans, done, options.workers, published)
    show_reading(reading, spans, done, options.workers)


def show(spans: list[tuple[float, float]], done: Watched, workers: int, published: float) -> None:
    """Print the figures; the run ends when the manifest is there."""
    first = spans[0][0]
    wall = published - first
    stages = sum(stop - start for start, stop in spans)
    print(f"start-up                     {first - done.began:6.2f} s")
    print(f"first stage to manifest      {wall:6.2f} s")
    used = done.used(first, published)
    print(f"cores busy                   {sum(used.values()) / wall / workers:6.1%} of {workers}")
    for kind, seconds in used.items():
        print(f"  by one kind: {kind:16}{seconds:6.2f} s")
    print(f"stage functions, occupancy   {stages / wall / workers:6.1%} of {workers} workers")
    print(f"orchestration                {1 - covered(spans) / wall:6.1%} of the time with no stage function running")
    for kind in done.kinds():
        print(f"peak memory, one {kind:12}{done.largest(kind) / 1e6:6.0f} MB")
    print(f"peak memory, sum of all      {done.peak() / 1e6:6.0f} MB without the server")


def show_reading(
    reading: list[tuple[float, float]], spans: list[tuple[float, float]], done: Watched, workers: int
) -> None:
    """Print whether the other workers had something to do while the input was read."""
    first, last = reading[0][0], max(stop for _, stop in reading)
    wall = last - first
    stages = sum(max(0.0, min(stop, last) - max(start, first)) for start, stop in spans)
    busy = sum(done.used(first, last).values())
    print(f"input was read in            {wall:6.2f} s")
    print(f"  cores busy meanwhile       {busy / wall / workers:6.1%} of {workers}")
    print(f"  occupancy meanwhile        {stages / wall / workers:6.1%} of {workers} workers")


if __name__ == "__main__":
    main()
