"""Worker processes that are killed as when memory runs out, once or whenever they touch one file."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gristmill import config, ledger
from gristmill.manifest import read_manifest
from gristmill.stages import clean, fetch
from gristmill.stages.plan import plan
from gristmill.storage import TEMPORARY
from soak.bench import Bench
from soak.command import Command, Server
from soak.job import texts_in
from soak.places import Place
from soak.rows import Row, row

STAGES = ["fetch", "clean", "sign", "find", "decide", "name", "vocabulary", "order", "tokenize", "pack", "upload"]
KILLS_A_RUN = 4


class Hunter(threading.Thread):
    """Stops a worker in the middle of an output that is ``wanted`` by stage and fingerprint, and sends it ``number``."""

    def __init__(self, work: str, wanted: Callable[[str, str], bool], number: int) -> None:
        super().__init__(daemon=True)
        self._work, self._wanted, self._number = Path(work), wanted, number
        self._over = threading.Event()
        self.hits: list[str] = []
        self.start()

    def run(self) -> None:
        """Look at the temporary folders of the work area all the time."""
        seen: set[int] = set()
        while not self._over.is_set():
            for folder in self._work.glob(f"*/{TEMPORARY}*"):
                process, _, rest = folder.name.removeprefix(TEMPORARY).partition("-")
                stage, key = folder.parent.name, rest.partition("-")[2]
                if int(process) not in seen and self._wanted(stage, key) and self._hit(int(process), folder):
                    seen.add(int(process))
                    self.hits.append(stage)
            time.sleep(0.0005)

    def _hit(self, process: int, folder: Path) -> bool:
        """Only a process that is held still is surely in the middle of it."""
        try:
            os.kill(process, signal.SIGSTOP)
            caught = folder.exists()
            os.kill(process, self._number if caught else signal.SIGCONT)
        except ProcessLookupError:
            return False
        return caught

    def stop(self) -> list[str]:
        """The stages that were hit."""
        self._over.set()
        self.join()
        return self.hits


def workers_killed(bench: Bench, server: Server, count: int, seed: int = 8) -> Row:
    """So many workers killed at work, some in every run of the command, each in another stage."""
    chance = random.Random(seed)
    problems: dict[int, list[str]] = {}
    hit: list[str] = []
    while len(hit) < count:
        place = bench.site.place()
        stages = set(chance.sample(STAGES, min(KILLS_A_RUN, count - len(hit))))
        hunter = Hunter(place.work, lambda stage, _, left=stages: stage in left and left.remove(stage) is None, 9)
        command = Command(bench.job.document(place), server.url, bench.site.environment)
        status, lines = command.end(400)
        hits = hunter.stop()
        found = bench.finished(place) if status == 0 else [f"status {status}: {lines[-3:]}"]
        problems |= {len(hit) + number: found for number in range(len(hits))}
        hit += hits
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
    hunter = Hunter(place.work, lambda _, found: found == key, number)
    status, lines = Command(document, server.url, bench.site.environment).end(400)
    hits = hunter.stop()
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
    return problems + bench.job.lost_or_doubled(texts_in(Path(place.output)), without=POISONED)


def key_of(document: dict[str, Any], stage: str) -> str:
    """The fingerprint of the poisoned file's ``fetch`` or ``clean``."""
    asked = config.parse(document)
    shard = plan(asked).shards[POISONED]
    fetched = ledger.fingerprint("fetch", fetch.inputs(shard, asked))
    return fetched if stage == "fetch" else ledger.fingerprint("clean", clean.inputs(shard, fetched, 0, asked))
