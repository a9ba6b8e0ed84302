"""What a comparison measured, as it is written to a JSON file and read by the tables."""

from statistics import median

import msgspec
from _corpus import Corpus


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one program. Seconds, CPU seconds, bytes."""

    seconds: float
    """Of the work: ours without Prefect's start and end, a floor without the start of its processes; else all."""
    wall: float
    """From the start of the command to its end."""
    cpu: float
    """Of all processes in ``seconds``, without Prefect's server."""
    whole_cpu: float
    """Of all processes in ``wall``, without Prefect's server."""
    peak: int
    """Of all processes together, without Prefect's server."""
    documents: int
    """End-of-text ids in the token files."""
    tokens: int
    """Ids in the token files."""
    start: float = 0.0
    """Before the first stage function: Python, Prefect, its server, and workers that load libraries and tokenizer."""
    server_cpu: float = 0.0
    server_peak: int = 0
    orchestration: float = 0.0
    """Share of ``seconds`` in which no stage function ran."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a program, or the reason why there are none."""

    name: str
    title: str
    job: str
    versions: dict[str, str] = {}
    runs: list[Run] = []
    missing: str = ""
    differs: str = ""
    """Why its counts may differ from ours."""

    def middle(self, field: str) -> float:
        """The median of a field of the runs."""
        return float(median(getattr(run, field) for run in self.runs))

    def worst(self, field: str) -> float:
        """The highest value of a field of the runs."""
        return float(max(getattr(run, field) for run in self.runs))


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured."""

    processor: str
    cores: int
    memory: int
    python: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A run of benchmarks/run.py."""

    date: str
    command: str
    machine: Machine
    workers: int
    repeats: int
    corpora: dict[str, Corpus]
    """By job."""
    programs: list[Measured]

    def found(self, name: str, job: str) -> Measured | None:
        """A program that was measured in this job."""
        return next((one for one in self.programs if (one.name, one.job) == (name, job) and one.runs), None)


OURS = "gristmill"
FLOORS = ("floor", "floor_gigatoken")
