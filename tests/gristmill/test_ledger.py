"""What was done, and whether it still stands."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import ledger
from gristmill.errors import InputError, NoSpaceError
from gristmill.storage import disk
from gristmill.types import StageReport

INPUTS = {"rules": ["a", "b"], "upstream": "f00d"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdef"), inner, max_size=4),
    max_leaves=8,
)


class Stage:
    """A stage that writes two files and counts how often it was really done."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.times = 0

    def produce(self, folder: Path, key: str) -> StageReport:
        self.times += 1
        artifacts = {name: disk.write(folder / name, name.encode() * 100) for name in ("tokens", "sub/index")}
        return StageReport(
            stage="demo", shard=5, fingerprint=key, docs_in=3, docs_out=2, dropped={"blank": 1}, artifacts=artifacts
        )

    def run(self, shard: int = 5) -> StageReport:
        return ledger.run(str(self.work), "demo", shard, INPUTS, self.produce)

    @property
    def folder(self) -> Path:
        return self.work / "demo" / ledger.fingerprint("demo", INPUTS)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "work")


def test_what_was_done_is_reused(stage: Stage) -> None:
    """A rerun would otherwise redo days of work."""
    first, second = stage.run(), stage.run()
    assert stage.times == 1
    assert (first.reused, second.reused) == (False, True)
    assert msgspec.structs.replace(second, reused=False) == first
    assert first.fingerprint == stage.folder.name
    assert first.seconds > 0
    assert first.started > 0


def test_artifacts_are_where_the_report_says(stage: Stage) -> None:
    """They are written in a temporary folder: a path that still named it would dangle."""
    report = stage.run()
    for name, artifact in report.artifacts.items():
        assert Path(artifact.uri) == stage.folder / name
        assert disk.digest(Path(artifact.uri)) == artifact.sha256
    assert sorted(path.name for path in stage.folder.parent.iterdir()) == [stage.folder.name]


def test_a_shard_that_moved_keeps_its_work_under_its_new_number(stage: Stage) -> None:
    """A file added in front renumbers all others; the reports must carry the new numbers."""
    stage.run(5)
    assert stage.run(6).shard == 6
    assert stage.times == 1


def damage_missing(stage: Stage) -> None:
    (stage.folder / "sub" / "index").unlink()


def damage_cut(stage: Stage) -> None:
    os.truncate(stage.folder / "tokens", 599)


def damage_grown(stage: Stage) -> None:
    with (stage.folder / "tokens").open("ab") as file:
        file.write(b"x")


def damage_report_missing(stage: Stage) -> None:
    (stage.folder / ledger.REPORT).unlink()


def damage_report_empty(stage: Stage) -> None:
    (stage.folder / ledger.REPORT).write_bytes(b"")


def damage_report_cut(stage: Stage) -> None:
    os.truncate(stage.folder / ledger.REPORT, 50)


def damage_report_bytes(stage: Stage) -> None:
    (stage.folder / ledger.REPORT).write_bytes(b'{"stage": "\xff"}')


def damage_report_counts(stage: Stage) -> None:
    path = stage.folder / ledger.REPORT
    path.write_bytes(path.read_bytes().replace(b'"docs_in":3', b'"docs_in":9'))


DAMAGES = [value for name, value in sorted(globals().items()) if name.startswith("damage_")]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_output_is_done_again(stage: Stage, damage: Callable[[Stage], None]) -> None:
    """Reuse of an output with a missing or cut part would carry the loss into the shards."""
    stage.run()
    damage(stage)
    assert ledger.standing(stage.folder) is None
    again = stage.run()
    assert (stage.times, again.reused) == (2, False)
    assert ledger.standing(stage.folder) is not None
    assert (stage.folder / "tokens").read_bytes() == b"tokens" * 100
    assert sorted(path.name for path in stage.folder.parent.iterdir()) == [stage.folder.name]


def test_a_failed_stage_leaves_nothing(stage: Stage) -> None:
    def fail(folder: Path, key: str) -> StageReport:
        stage.produce(folder, key)
        raise InputError("part-3: cut", "truncated_stream")

    with pytest.raises(InputError, match="part-3"):
        ledger.run(str(stage.work), "demo", 5, INPUTS, fail)
    assert list(stage.folder.parent.iterdir()) == []
    assert stage.run().reused is False


def test_a_full_disk_leaves_nothing(stage: Stage) -> None:
    """The next run, on a disk with space, must not meet half an output."""

    def fill(folder: Path, key: str) -> StageReport:
        stage.produce(folder, key)
        raise NoSpaceError("full")

    with pytest.raises(NoSpaceError):
        ledger.run(str(stage.work), "demo", 5, INPUTS, fill)
    assert list(stage.folder.parent.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from gristmill import ledger
from gristmill.storage import disk
from gristmill.types import StageReport

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def produce(folder, key):
    artifacts = {"tokens": disk.write(folder / "tokens", b"x" * 100_000)}
    if sys.argv[2] == "produce":
        die()
    if sys.argv[2] == "rename":
        ledger._rename = die
    return StageReport(stage="demo", shard=0, fingerprint=key, artifacts=artifacts)

report = ledger.run(sys.argv[1], "demo", 0, {}, produce)
print(report.artifacts["tokens"].sha256, report.reused)
"""


@pytest.mark.parametrize("moment", ["produce", "rename"])
def test_kill_9_leaves_no_output_and_the_next_run_makes_it(tmp_path: Path, moment: str) -> None:
    """Resuming must neither trust half an output nor stumble over it."""

    def go(moment: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", KILLED, str(tmp_path), moment]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert go(moment).returncode == -signal.SIGKILL
    key = ledger.fingerprint("demo", {})
    (left,) = (tmp_path / "demo").iterdir()
    assert left.name.startswith(disk.TEMPORARY)
    assert ledger.sweep(str(tmp_path)) == 1
    assert list((tmp_path / "demo").iterdir()) == []
    resumed = go("never")
    expected = disk.write(tmp_path / "expected", b"x" * 100_000).sha256
    assert resumed.stdout.split() == [expected, "False"], resumed.stderr
    assert [path.name for path in (tmp_path / "demo").iterdir()] == [key]


def test_sweeping_spares_what_is_being_made(tmp_path: Path) -> None:
    """A second run starts while the first works: its folders must stay."""
    alive = tmp_path / "clean" / disk.temporary("abc")
    alive.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    dead = tmp_path / "clean" / disk.temporary("abc", process.pid)
    dead.mkdir()
    done = tmp_path / "clean" / "abc"
    done.mkdir()
    assert ledger.sweep(str(tmp_path)) == 1
    assert (alive.exists(), dead.exists(), done.exists()) == (True, False, True)


RACER = """
import sys
from gristmill import ledger
from gristmill.storage import disk
from gristmill.types import StageReport

def produce(folder, key):
    artifact = disk.write(folder / "tokens", b"x" * 100_000)
    return StageReport(stage="demo", shard=0, fingerprint=key, artifacts={"tokens": artifact})

print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    report = ledger.run(sys.argv[1], "demo", 0, {"number": number}, produce)
    assert disk.digest(disk.local(report.artifacts["tokens"].uri)) == report.artifacts["tokens"].sha256
"""


def test_two_processes_do_the_same_work_at_once(tmp_path: Path) -> None:
    """Two runs share a work area: neither may fail or see the other's half output."""
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0, 0]
    assert len(list((tmp_path / "demo").iterdir())) == 30
    assert all(ledger.standing(folder) for folder in (tmp_path / "demo").iterdir())


def test_the_fingerprint_does_not_know_the_work_area(tmp_path: Path) -> None:
    """Moving the work area to a larger disk must not redo anything because of its path."""
    assert Stage(tmp_path / "a").run().fingerprint == Stage(tmp_path / "b").run().fingerprint


def turned(value: object) -> object:
    """The same with the keys of every mapping in the other order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(entry) for entry in value] if isinstance(value, list) else value


@given(st.dictionaries(st.sampled_from("abcdef"), JSON))
def test_key_order_does_not_matter(inputs: dict[str, object]) -> None:
    """The order in which a YAML file names its keys changes no byte."""
    assert ledger.fingerprint("clean", inputs) == ledger.fingerprint("clean", turned(inputs))  # type: ignore[arg-type]


@given(JSON, JSON)
def test_other_inputs_have_another_fingerprint(first: object, second: object) -> None:
    """A changed rule that kept the fingerprint would keep the old documents."""
    same = msgspec.json.encode(first, order="deterministic") == msgspec.json.encode(second, order="deterministic")
    assert (ledger.fingerprint("s", {"x": first}) == ledger.fingerprint("s", {"x": second})) == same


def test_stages_with_equal_inputs_are_told_apart() -> None:
    assert ledger.fingerprint("clean", INPUTS) != ledger.fingerprint("sign", INPUTS)
