"""A job, a storage, and a process that runs the one on the other."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gristmill.manifest import MANIFEST
from gristmill.stages.ingest.generations import FINISHED
from gristmill.storage.claims import UNFINISHED
from soak.job import Job, texts_in
from soak.places import Place, Site, manifest_is_last

ROOT = Path(__file__).resolve().parents[3]


def environment(**more: str) -> dict[str, str]:
    """Of a child process: this one's, so that it finds the project and these modules."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
    return {**os.environ, "PYTHONPATH": path, **more}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended: its exit status, negative where a signal ended it, the kind and text of its error, and how many
    steps it took in its output, where it was to be stopped at one."""

    status: int
    kind: str
    error: str
    steps: int


class Runner:
    """A process that runs jobs, one at a time."""

    def __init__(self, more: dict[str, str] | None = None, umask: int = -1) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(**(more or {})),
            cwd=ROOT,
            umask=umask,
            text=True,
        )

    def start(self, document: dict[str, Any], way: str = "serial", **disturbed: Any) -> None:
        """Begin a run; ``soak.child`` says what can be done to it."""
        plain = {"way": way, "seconds": None, "call": None, "step": None, "limit": None, "clock": 0}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**plain, **disturbed, "document": document}) + "\n")
        self._process.stdin.flush()

    def wait(self) -> Outcome:
        """The end of the run that was started."""
        assert self._process.stdout is not None
        return Outcome(**json.loads(self._process.stdout.readline()))

    def stopped(self) -> Outcome | None:
        """Wait until the run that was started with a ``step`` gets there; its end where it does not."""
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        return None if "stopped" in said else Outcome(**said)

    def go_on(self) -> Outcome:
        """The end of the run that was stopped."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self.wait()

    def run(self, document: dict[str, Any], way: str = "serial", **disturbed: Any) -> Outcome:
        """Both."""
        self.start(document, way, **disturbed)
        return self.wait()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


class Bench:
    """Runs of one job on one storage, and what an undisturbed run gives."""

    def __init__(self, job: Job, site: Site, way: str = "serial") -> None:
        self.job, self.site, self.way = job, site, way
        self.runner = Runner(site.environment)
        self.calm = site.place()
        times = []
        for place in (site.place(), site.place(), self.calm):
            began = time.monotonic()
            assert self.run(place).status == 0
            times.append(time.monotonic() - began)
        self.seconds = min(times)
        """What a run takes."""
        self.reference = site.published(self.calm.output)

    def run(self, place: Place, settings: dict[str, Any] | None = None, **disturbed: Any) -> Outcome:
        """One run at a place."""
        return self.runner.run(self.job.document(place, **(settings or {})), self.way, **disturbed)

    def killed(self, place: Place, settings: dict[str, Any] | None = None, **kill: Any) -> bool:
        """A run that is to be killed; whether it was, before it was done."""
        outcome = self.run(place, settings, **kill)
        assert not outcome.kind, outcome
        return outcome.status != 0

    def finished(self, place: Place) -> list[str]:
        """What is wrong with a finished output: nothing, unless the product failed."""
        problems = differences(self.site.published(place.output), self.reference, place)
        if self.way == "serial":
            problems += self.job.lost_or_doubled(texts_in(self.site, place.output))
            if not manifest_is_last(self.site, place.output):
                problems.append(f"{place.output}: a file got its name after the manifest")
        return problems

    def unfinished(self, place: Place) -> list[str]:
        """What is wrong with the output of a run that did not end well: a file that is not whole, or a manifest too
        early."""
        return problems_of(self.site.published(place.output), self.reference, place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.runner.close()


def differences(found: dict[str, str], reference: dict[str, str], place: Place) -> list[str]:
    """Files of a finished output that are not as they should be."""
    wrong = sorted(name for name in found.keys() | reference if found.get(name) != reference.get(name))
    return [f"{place.output}: not as in an undisturbed run: {', '.join(wrong)}"] if wrong else []


def problems_of(
    found: dict[str, str], reference: dict[str, str], place: Place, before: dict[str, str] | None = None
) -> list[str]:
    """What a reader may not meet while ``before`` becomes ``reference``: a file with other bytes than it has in the one
    or the other, a file of ``before`` that is gone, a manifest of files that are not there yet."""
    old = before or {}
    problems = [
        f"{place.output}/{name}: half-written"
        for name in found.keys() - {UNFINISHED}
        if found[name] not in (reference.get(name), old.get(name))
    ]
    problems += [f"{place.output}/{name}: gone" for name in sorted(old.keys() - found)]
    for name in manifests(reference):
        if found.get(name) == reference[name] != old.get(name):
            late = {MANIFEST} if name != MANIFEST else set()
            missing = sorted(reference.keys() - found - late)
            problems += [f"{place.output}/{name}: there without {', '.join(missing)}"] if missing else []
    return problems


def manifests(files: dict[str, str]) -> list[str]:
    """Names of what says that a data set is whole."""
    return [name for name in files if name == MANIFEST or name.startswith(f"{FINISHED}/")]
