"""The programs that gristmill is compared with, how each is run, and what it wrote."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from _environments import PEERS
from _results import Run
from _watch import watch

STRIPS = "it strips white space around each text, and adds no end where a text ends with it"
KEEPS = "another choice of copies: it takes candidates unverified"
FILTERS = "other rules and thresholds, and copies taken unverified"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A script of peers/, called with INPUT OUTPUT TOKENIZER WORKERS."""

    name: str
    title: str
    job: Literal["tokens", "dedup", "full"]
    script: str
    environment: str
    """Of peers/<environment>.txt; empty: the project's own."""
    tokens: str
    """Glob of the files of raw uint16 ids that it writes."""
    reads: Literal["jsonl.gz", "jsonl"] = "jsonl.gz"
    differs: str = ""
    arguments: tuple[str, ...] = ()


PROGRAMS = (
    Program(
        name="floor",
        title="floor: isal, msgspec, fastokens",
        job="tokens",
        script="floor.py",
        environment="",
        tokens="*.bin",
        arguments=("fastokens",),
    ),
    Program(
        name="floor_gigatoken",
        title="floor: isal, msgspec, gigatoken",
        job="tokens",
        script="floor.py",
        environment="gigatoken",
        tokens="*.bin",
        arguments=("gigatoken",),
    ),
    Program(
        name="megatron",
        title="Megatron's gigatoken path",
        job="tokens",
        script="megatron.py",
        environment="gigatoken",
        tokens="*.bin",
        reads="jsonl",
    ),
    Program(
        name="nanogpt",
        title="nanoGPT's recipe",
        job="tokens",
        script="nanogpt.py",
        environment="nanogpt",
        tokens="*.bin",
    ),
    Program(
        name="datatrove_tokens",
        title="datatrove, tokens",
        job="tokens",
        script="datatrove_tokens.py",
        environment="datatrove",
        tokens="tokens/*.ds",
    ),
    Program(
        name="dolma",
        title="dolma tokens",
        job="tokens",
        script="dolma_tokens.py",
        environment="dolma",
        tokens="tokens/*.npy",
        differs=STRIPS,
    ),
    Program(
        name="tokbin",
        title="tokbin build",
        job="tokens",
        script="tokbin_build.py",
        environment="tokbin",
        tokens="corpus/*.bin",
        reads="jsonl",
    ),
    Program(
        name="olmo",
        title="OLMo's method",
        job="tokens",
        script="olmo.py",
        environment="olmo",
        tokens="*.npy",
    ),
    Program(
        name="datatrove_minhash",
        title="datatrove, MinHash + tokens",
        job="dedup",
        script="datatrove_minhash.py",
        environment="datatrove",
        tokens="tokens/*.ds",
        differs=KEEPS,
    ),
    Program(
        name="datatrove_filters",
        title="datatrove, filters + MinHash + tokens",
        job="full",
        script="datatrove_filters.py",
        environment="datatrove",
        tokens="tokens/*.ds",
        differs=FILTERS,
    ),
)


def run(
    program: Program,
    interpreter: str,
    source: Path,
    tokenizer: str,
    workers: int,
    folder: Path,
    eot: int,
    limit: float,
) -> Run:
    """Run a program into the empty ``folder``, for ``limit`` seconds at most. Raises ``Failed``."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "cache"), "NLTK_DATA": str(folder / "cache")}
    arguments = [str(source), str(folder), tokenizer, str(workers), *program.arguments]
    done = watch(
        [interpreter, str(PEERS / program.script), *arguments],
        log=folder.with_suffix(".log"),
        environment=environment,
        limit=limit,
    )
    documents, tokens = counts(folder, program.tokens, eot)
    wall = done.ended - done.began
    own = {"seconds": wall, "cpu": done.cpu, **_told(folder)}
    return Run(
        seconds=own["seconds"],
        wall=wall,
        cpu=own["cpu"],
        whole_cpu=done.cpu,
        peak=done.peak(),
        documents=documents,
        tokens=tokens,
    )


def _told(folder: Path) -> dict[str, float]:
    """What a floor says of itself: its processes are warm before it begins."""
    path = folder / "measured.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.exists() else {}


def counts(folder: Path, pattern: str, eot: int) -> tuple[int, int]:
    """End-of-text ids and all ids of the files of raw uint16 that match. Raises ``ValueError`` where there are none."""
    found = sorted(path for path in folder.glob(pattern) if path.stat().st_size)
    if not found:
        raise ValueError(f"no files of ids match {pattern} in {folder}")
    ids = [np.memmap(path, np.uint16, "r") for path in found]
    return sum(int(np.count_nonzero(part == eot)) for part in ids), sum(map(len, ids))
