"""Gristmill's own jobs, run by its command and measured from the first stage function to the manifest."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml
from _programs import counts
from _results import Run
from _watch import SERVER, Watched, watch

ROOT = Path(__file__).resolve().parents[1]

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
"""A cascade for web text: what a benchmark cleans with."""

COPIES = [{"kind": "exact"}, {"kind": "minhash", "preset": "datatrove"}]
JOBS: dict[str, dict[str, Any]] = {
    "tokens": {"cleaning": [], "dedup": [], "split": {"kind": "none"}, "formats": [{"kind": "nanogpt"}]},
    "dedup": {"cleaning": [], "dedup": COPIES, "split": {"kind": "none"}, "formats": [{"kind": "nanogpt"}]},
    "full": {
        "cleaning": [{"kind": kind} for kind in WEB],
        "dedup": COPIES,
        "split": {"fraction": 0.0005},
        "formats": [{"kind": "nanogpt"}, {"kind": "olmo"}],
    },
}
TITLES = {
    "tokens": "gristmill, tokens",
    "dedup": "gristmill, exact + MinHash + tokens",
    "full": "gristmill, 9 rules + exact + MinHash + split + 2 formats + verify",
}
ALL = 1 << 20
"""Cores: however many there are."""

LIBRARIES = ["isal", "msgspec", "fastokens", "tokenizers", "pyarrow", "numpy", "prefect"]


def environment(home: Path) -> dict[str, str]:
    """Of our command: Prefect starts its own server, whose database is kept below ``home`` and nowhere else."""
    left = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
    return left | {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(home / "prefect")}


def configured(settings: dict[str, Any], source: Path, tokenizer: str, workers: int, folder: Path) -> Path:
    """The configuration of a job, written into ``folder``, below which everything is made."""
    document = settings | {
        "dataset": "benchmark",
        "sources": [{"kind": "files", "paths": [str(source)], "id_key": "id"}],
        "tokenizer": {"kind": "huggingface", "path": tokenizer},
        "output": f"{folder}/out",
        "execution": {"work": f"{folder}/work", "workers": workers},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def prepare(config: Path, home: Path, cores: int = ALL) -> Watched:
    """Run the command, its server included, on so many cores. Raises ``Failed``."""
    command = [sys.executable, str(ROOT / "flows/prepare.py"), str(config)]
    with only(cores):
        return watch(command, log=config.with_suffix(".log"), environment=environment(home))


@contextmanager
def only(cores: int) -> Iterator[None]:
    """What is started meanwhile runs on the first ``cores`` of the cores that this process may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def run(
    job: str, source: Path, tokenizer: str, workers: int, folder: Path, eot: int, home: Path, cores: int = ALL
) -> Run:
    """A job into the empty ``folder``; ``full`` ends with the verification of what was written. Raises ``Failed``."""
    done = prepare(configured(JOBS[job], source, tokenizer, workers, folder), home, cores)
    spans = intervals(folder / "work")
    first, published = spans[0][0], (folder / "out/manifest.json").stat().st_mtime
    used = done.used(first, published)
    documents, tokens = counts(folder / "out/nanogpt", "*.bin", eot)
    found = Run(
        seconds=published - first,
        wall=done.ended - done.began,
        cpu=sum(used.values()) - used.get(SERVER, 0.0),
        whole_cpu=done.cpu - done.server_cpu(),
        peak=done.peak(),
        documents=documents,
        tokens=tokens,
        start=first - done.began,
        server_cpu=done.server_cpu(),
        server_peak=done.largest(SERVER),
        orchestration=1 - covered(spans) / (published - first),
    )
    return _verified(found, folder, home, cores) if job == "full" else found


def _verified(found: Run, folder: Path, home: Path, cores: int) -> Run:
    """The run with the time that a verification of its output takes, the start of Python included."""
    command = [sys.executable, str(ROOT / "flows/verify.py"), str(folder / "out")]
    with only(cores):
        done = watch(command, log=folder / "verify.log", environment=environment(home))
    wall = done.ended - done.began
    return msgspec.structs.replace(
        found,
        seconds=found.seconds + wall,
        wall=found.wall + wall,
        cpu=found.cpu + done.cpu,
        whole_cpu=found.whole_cpu + done.cpu,
        peak=max(found.peak, done.peak()),
    )


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
