"""Worker processes that are killed as when memory runs out, once or whenever they touch one file."""

import os
import random
import signal
from pathlib import Path
from typing import Any

from gristmill import config, ledger
from gristmill.manifest import read_manifest
from gristmill.stages.ingest import clean, fetch
from gristmill.stages.ingest.plan import plan
from soak.bench import Bench, environment
from soak.command import Command, Server
from soak.job import texts_in
from soak.places import Place
from soak.rows import Row, row

STAGES = ["fetch", "clean", "sign", "find", "decide", "name", "vocabulary", "order", "tokenize", "pack", "upload"]
KILLS_A_RUN = 4
ALWAYS = 1000
TRAP = Path(__file__).with_name("trap")


class Trap:
    """An environment in which workers send themselves a signal in the middle of certain outputs."""

    def __init__(self, folder: Path, wanted: list[str], number: int, times: int) -> None:
        self._hits = folder / "hits"
        self._hits.mkdir(parents=True)
        self.environment = {
            "PYTHONPATH": os.pathsep.join([str(TRAP), environment()["PYTHONPATH"]]),
            "SOAK_WANTED": ",".join(wanted),
            "SOAK_SIGNAL": str(int(number)),
            "SOAK_HITS": str(self._hits),
            "SOAK_TIMES": str(times),
        }

    def hits(self) -> list[str]:
        """The stages that were hit."""
        return [path.name.partition("-")[2] for path in sorted(self._hits.iterdir())]


def workers_killed(bench: Bench, server: Server, count: int, seed: int = 8) -> Row:
    """So many workers killed at work, some in every run of the command, each in another stage."""
    chance = random.Random(seed)
    problems: dict[int, list[str]] = {}
    hit: list[str] = []
    while len(hit) < count:
        place = bench.site.place()
        stages = chance.sample(STAGES, min(KILLS_A_RUN, count - len(hit)))
        trap = Trap(Path(place.work).parent, [f"{stage}/" for stage in stages], signal.SIGKILL, 1)
        command = Command(bench.job.document(place), server.url, {**bench.site.environment, **trap.environment})
        status, lines = command.end(400)
        found = bench.finished(place) if status == 0 else [f"status {status}: {lines[-3:]}"]
        if sorted(trap.hits()) != sorted(stages):
            found.append(f"hit at {trap.hits()}, not at {stages}")
        problems |= {len(hit) + number: found for number in range(len(stages))}
        hit += stages
    notes = f"in {', '.join(sorted(set(hit)))}; each tried again in a fresh process, the same bytes"
    return row("worker process killed at work", len(hit), problems, notes)


POISONED = 2
"""Number of the file that no worker survives."""


def poison(bench: Bench, server: Server, count: int) -> Row:
    """A file that kills its worker whenever it is fetched, or cleaned, or that no worker is done with in time; the
    first ``count`` of these."""
    trials: list[dict[str, Any]] = [
        {"stage": "fetch", "number": 9, "on_bad_file": "quarantine"},
        {"stage": "clean", "number": 9, "on_bad_file": "quarantine"},
        {"stage": "fetch", "number": signal.SIGSTOP, "on_bad_file": "quarantine"},
        {"stage": "fetch", "number": 9, "on_bad_file": "fail"},
    ][:count]
    problems = {number: poisoned(bench, server, **trial) for number, trial in enumerate(trials)}
    notes = (
        "killed whenever it is fetched or cleaned, or stuck beyond `shard_seconds`; with `on_bad_file: quarantine` "
        "left out by name (manifest, artifact, status 3), with `fail` the run fails by its name"
    )
    return row("poison shard: it kills its worker every time", len(trials), problems, notes)


def poisoned(bench: Bench, server: Server, *, stage: str, number: int, on_bad_file: str) -> list[str]:
    """What is wrong with a run in which one shard is never done."""
    place = bench.site.place()
    execution: dict[str, Any] = {"retries": 1}
    if number == signal.SIGSTOP:
        execution["shard_seconds"] = 15.0
    document = bench.job.document(place, on_bad_file=on_bad_file, execution=execution)
    key = key_of(document, stage)
    trap = Trap(Path(place.work).parent, [f"{stage}/{key}"], number, ALWAYS)
    status, lines = Command(document, server.url, {**bench.site.environment, **trap.environment}).end(400)
    hits = trap.hits()
    bad = str(bench.job.files[POISONED])
    problems = [] if hits == [stage] * 2 else [f"the worker was hit at {hits}, not twice at {stage}"]
    if on_bad_file == "fail":
        if status != 1 or not any(line.startswith("error: ") and bad in line for line in lines):
            problems.append(f"status {status}, last words {lines[-3:]}")
        if Path(place.output, "manifest.json").exists():
            problems.append(f"{place.output}: a manifest of a run that failed")
        return problems
    if status != 3:
        return [*problems, f"status {status}, last words {lines[-3:]}"]
    return [*problems, *_left_out(bench, server, place, bad)]


def _left_out(bench: Bench, server: Server, place: Place, bad: str) -> list[str]:
    """What is wrong with a data set without the file ``bad``."""
    manifest = read_manifest(Path(place.output))
    named = [shard.uri for shard in manifest.source_shards if shard.error]
    problems = [] if named == [bad] else [f"the manifest says that {named} were left out"]
    rows = server.artifacts("input-report")[0]
    if [row["input"] for row in rows if row["error"]] != [bad]:
        problems.append(f"the artifact says {rows}")
    return problems + bench.job.lost_or_doubled(texts_in(bench.site, place.output), without=POISONED)


def key_of(document: dict[str, Any], stage: str) -> str:
    """The fingerprint of the poisoned file's ``fetch`` or ``clean``."""
    asked = config.parse(document)
    shard = plan(asked).shards[POISONED]
    fetched = ledger.fingerprint("fetch", fetch.inputs(shard, asked))
    return fetched if stage == "fetch" else ledger.fingerprint("clean", clean.inputs(shard, fetched, 0, asked))
