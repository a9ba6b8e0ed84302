"""How well a run of the flow uses the machine: cores busy, peak memory, share of orchestration.

    python benchmarks/spine.py ../shared/corpus/large --tokenizer ../shared/fixtures/tokenizers/gpt2.json
    python benchmarks/spine.py FOLDER_WITH_ONE_BIG_FILE --web --tokenizer gpt2.json

Start-up (Python, Prefect, its server) is everything before the first stage function begins; it is printed apart.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import psutil
import yaml

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_SECONDS = 0.2
WEB = (
    "unicode",
    "control",
    "whitespace",
    "length",
    "symbols",
    "repeated_lines",
    "gopher_quality",
    "gopher_repetition",
    "c4_lines",
)


class Sampler(threading.Thread):
    """CPU seconds and resident memory of a process and its descendants, sampled until the process ends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.cpu: list[tuple[float, dict[int, float]]] = []
        self.kinds: dict[int, str] = {}
        self.peak: dict[str, int] = {}
        self.peak_sum = 0

    def run(self) -> None:
        root = psutil.Process(self._process.pid)
        while self._process.poll() is None:
            seconds: dict[int, float] = {}
            total = 0
            try:
                for process in [root, *root.children(recursive=True)]:
                    self._look(process, seconds)
                    total += process.memory_info().rss
            except psutil.Error:
                pass
            self.peak_sum = max(self.peak_sum, total)
            self.cpu.append((time.time(), seconds))
            time.sleep(SAMPLE_SECONDS)

    def _look(self, process: psutil.Process, seconds: dict[int, float]) -> None:
        used = process.cpu_times()
        seconds[process.pid] = used.user + used.system
        line = " ".join(process.cmdline())
        kind = "worker" if "gristmill.worker" in line else "server" if "prefect.server" in line else "flow"
        self.kinds[process.pid] = kind
        self.peak[kind] = max(self.peak.get(kind, 0), process.memory_info().rss)

    def used(self, begin: float, end: float) -> dict[str, float]:
        """CPU seconds between two moments, by kind of process."""
        first: dict[int, float] = {}
        last: dict[int, float] = {}
        for moment, seconds in self.cpu:
            if moment <= begin:
                first.update(seconds)
            if moment <= end:
                last.update(seconds)
        found = dict.fromkeys(sorted(set(self.kinds.values())), 0.0)
        for process, value in last.items():
            found[self.kinds[process]] += value - first.get(process, 0.0)
        return found


def intervals(work: Path, stage: str = "*") -> list[tuple[float, float]]:
    """When stage functions ran, from the reports in the work area."""
    found = []
    for path in work.glob(f"{stage}/*/report.json"):
        report = msgspec.json.decode(path.read_bytes())["report"]
        found.append((report["started"], report["started"] + report["seconds"]))
    return sorted(found)


def covered(spans: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of the spans runs."""
    total, end = 0.0, 0.0
    for start, stop in spans:
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def show_reading(
    reading: list[tuple[float, float]], spans: list[tuple[float, float]], sampler: Sampler, workers: int
) -> None:
    """Print whether the other workers had something to do while the input was read."""
    first, last = reading[0][0], max(stop for _, stop in reading)
    wall = last - first
    stages = sum(max(0.0, min(stop, last) - max(start, first)) for start, stop in spans)
    busy = sum(sampler.used(first, last).values())
    print(f"input was read in            {wall:6.2f} s")
    print(f"  cores busy meanwhile       {busy / wall / workers:6.1%} of {workers}")
    print(f"  occupancy meanwhile        {stages / wall / workers:6.1%} of {workers} workers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="folder of jsonl files")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--web", action="store_true", help="clean with the rules for web text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".benchmark-") as folder:
        config = {
            "dataset": "spine",
            "sources": [{"kind": "files", "paths": [options.corpus], "id_key": "id"}],
            "tokenizer": {"kind": "huggingface", "path": options.tokenizer},
            "dedup": [{"kind": "exact"}],
            "output": f"{folder}/out",
            "execution": {"work": f"{folder}/work", "workers": options.workers},
        }
        if options.web:
            config["cleaning"] = [{"kind": kind} for kind in WEB]
        path = Path(folder) / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        began = time.time()
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "flows/prepare.py"), str(path)], stdout=subprocess.DEVNULL
        )
        sampler = Sampler(process)
        sampler.start()
        if process.wait():
            sys.exit(f"the flow ended with status {process.returncode}")
        spans = intervals(Path(folder) / "work")
        published = (Path(folder) / "out/manifest.json").stat().st_mtime
        show(spans, sampler, options.workers, began, published)
        show_reading(intervals(Path(folder) / "work", "fetch"), spans, sampler, options.workers)


def show(spans: list[tuple[float, float]], sampler: Sampler, workers: int, began: float, published: float) -> None:
    """Print the figures; the run ends when the manifest is there."""
    first = spans[0][0]
    wall = published - first
    stages = sum(stop - start for start, stop in spans)
    print(f"start-up                     {first - began:6.2f} s")
    print(f"first stage to manifest      {wall:6.2f} s")
    used = sampler.used(first, published)
    print(f"cores busy                   {sum(used.values()) / wall / workers:6.1%} of {workers}")
    for kind, seconds in used.items():
        print(f"  by one kind: {kind:16}{seconds:6.2f} s")
    print(f"stage functions, occupancy   {stages / wall / workers:6.1%} of {workers} workers")
    print(
        f"orchestration                {1 - covered(spans) / wall:6.1%} of the wall time with no stage function running"
    )
    for kind, peak in sorted(sampler.peak.items()):
        print(f"peak memory, one {kind:12}{peak / 1e6:6.0f} MB")
    print(f"peak memory, sum of all      {sampler.peak_sum / 1e6:6.0f} MB")


if __name__ == "__main__":
    main()
