"""Calls into child processes: what comes back, and what is left when something dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import chores
import psutil
import pytest

from gristmill.errors import InputError, NoSpaceError, StorageError, WorkerLost
from gristmill.processes import pool
from gristmill.types import ShardRef, StageReport

SUPPORT = Path(chores.__file__).parent
SHARD = ShardRef(index=3, source="web", uri="a.jsonl", size=1, identity="x")


@pytest.fixture(autouse=True, scope="module")
def _children() -> Iterator[None]:
    """Children can import the chores; none outlives the module."""
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(SUPPORT))
    pool.start()
    yield
    pool.close()
    patch.undo()


def until(true: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for a condition that another process brings about."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def gone(process: int) -> bool:
    """Whether a process has ended, collected by its parent or not."""
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def in_thread(started: Path) -> tuple[threading.Thread, list[BaseException]]:
    """A call that sleeps for long, in a thread of its own, once the child is at it."""
    caught: list[BaseException] = []

    def work() -> None:
        try:
            pool.call(chores.sleep, duration=60.0, started=str(started))
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: started.exists() and started.read_text())
    return thread, caught


def test_arguments_and_result_keep_their_types() -> None:
    """A plugin that arrived as a plain mapping would fail deep inside a stage."""
    found = pool.call(chores.answer, limits=chores.Limits(least=7), shards=[SHARD])
    assert isinstance(found, chores.Answer)
    assert (found.limits, found.shards) == (7, ["shard-00003"])
    assert found.process != os.getpid()
    assert pool.call(chores.nothing) is None


def test_every_child_gets_ready_at_once(tmp_path: Path) -> None:
    """Two calls to the same child would leave the other one without a tokenizer, to be loaded while work waits."""
    pool.everywhere(chores.meet, children=3, folder=str(tmp_path), expected=3)
    assert len({path.name for path in tmp_path.iterdir()}) == 3
    assert str(pool.call(chores.process)) in {path.name for path in tmp_path.iterdir()}
    with pytest.raises(NoSpaceError, match="full"):
        pool.everywhere(chores.fail, children=2, kind="space")


def test_a_child_is_kept_for_the_next_call() -> None:
    """A fresh process a call would load the tokenizer again each time."""
    assert pool.call(chores.process) == pool.call(chores.process)


def test_libraries_in_a_child_use_one_thread() -> None:
    """Workers whose libraries start a thread a core would fight over the machine."""
    assert set(pool.call(chores.threads).values()) == {"1"}


def test_everything_done_is_reported() -> None:
    """A board that loses the rest of a stage would show fewer documents than were read."""
    seen: list[tuple[int, int]] = []
    pool.call(chores.meter, listener=lambda *done: seen.append(done), steps=1000, nbytes=5)
    assert [sum(column) for column in zip(*seen, strict=True)] == [1000, 5000]
    assert len(seen) < 10
    seen.clear()
    pool.call(chores.bytes_alone, listener=lambda *done: seen.append(done), nbytes=41)
    assert [sum(column) for column in zip(*seen, strict=True)] == [0, 42]


def test_parts_are_heard_of_in_order_and_typed_whether_or_not_anybody_listens() -> None:
    """A piece that is not heard of is never cleaned; one that nobody waits for must not pass for the result."""
    heard: list[StageReport] = []
    assert pool.call(chores.announce, announced=heard.append, pieces=3) == 3
    assert [(report.name, report.fingerprint) for report in heard] == [
        ("shard-00003", "f00d"),
        ("shard-00003-1", "f00d"),
        ("shard-00003-2", "f00d"),
    ]
    assert pool.call(chores.announce, pieces=3) == 3


def test_a_part_is_heard_of_before_the_stage_ends(tmp_path: Path) -> None:
    """Whoever waits for the whole has nothing of the parts."""
    assert pool.call(chores.wait_for, announced=lambda _: (tmp_path / "heard").touch(), path=str(tmp_path / "heard"))


@pytest.mark.parametrize("kind", ["input", "space", "storage", "name"])
def test_our_errors_cross_the_process_border(kind: str) -> None:
    """An InputError that came back as another class would be retried, or a storage error would not."""
    wanted = {"input": InputError, "space": NoSpaceError, "storage": StorageError, "name": InputError}[kind]
    with pytest.raises(wanted) as caught:
        pool.call(chores.fail, kind=kind)
    assert type(caught.value) is wanted
    assert (
        str(caught.value)
        == {
            "input": "part-7.jsonl.gz: ends within a member",
            "space": "out: full",
            "storage": "out: gone for now",
            "name": "caf\\udce9.jsonl: unreadable",
        }[kind]
    )
    if kind == "input":
        assert caught.value.reason == "truncated_stream"  # type: ignore[attr-defined]


def test_a_bug_comes_with_the_traceback_of_the_child() -> None:
    """Without it a failure in a worker could not be found."""
    with pytest.raises(RuntimeError, match=r"KeyError: 'missing'(.|\n)*chores\.py"):
        pool.call(chores.fail, kind="bug")
    with pytest.raises(RuntimeError, match=r"clean: 2 documents in, 1 accounted for"):
        pool.call(chores.broken_report)


def test_a_result_that_cannot_be_sent_is_a_bug_and_not_a_lost_worker() -> None:
    """A lost worker is retried: three times the work, and the reason hidden."""
    before = pool.call(chores.process)
    with pytest.raises(RuntimeError, match="object cannot be sent"):
        pool.call(chores.unsendable)
    assert pool.call(chores.process) == before


def test_prints_do_not_enter_the_protocol(capfd: pytest.CaptureFixture[str]) -> None:
    """A library that prints would otherwise answer in place of the stage."""
    pool.close()
    assert pool.call(chores.talk) == "the result"
    assert pool.call(chores.process) > 0
    pool.close()
    assert "from a C library" in capfd.readouterr().err


def test_a_killed_child_fails_its_call_alone(tmp_path: Path) -> None:
    """The out-of-memory killer must cost one shard one try, not the run."""
    thread, caught = in_thread(tmp_path / "started")
    other = pool.call(chores.process)
    victim = int((tmp_path / "started").read_text())
    assert victim != other
    os.kill(victim, signal.SIGKILL)
    thread.join(10)
    assert type(caught[0]) is WorkerLost
    assert str(caught[0]) == "the worker process was killed by signal 9 (out of memory? use fewer --workers)"
    assert pool.call(chores.process) == other


def test_a_child_that_leaves_says_how() -> None:
    with pytest.raises(WorkerLost, match="ended with status 3"):
        pool.call(chores.leave, status=3)


def test_a_child_killed_while_idle_fails_no_call() -> None:
    """Nobody was working in it: the next call must simply start another."""
    idle = pool.call(chores.process)
    os.kill(idle, signal.SIGKILL)
    os.waitid(os.P_PID, idle, os.WEXITED | os.WNOWAIT)
    assert pool.call(chores.process) != idle


def test_a_call_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    """A document that hangs a tokenizer would hold a worker for ever."""
    pool.call(chores.process)  # so that the time is not spent on starting
    began = time.monotonic()
    with pytest.raises(WorkerLost, match=r"killed: no result within 0\.3 s$"):
        pool.call(chores.sleep, seconds=0.3, duration=60.0, started=str(tmp_path / "started"))
    assert time.monotonic() - began < 5
    assert not psutil.pid_exists(int((tmp_path / "started").read_text()))


def test_a_result_behind_progress_is_not_mistaken_for_silence() -> None:
    """Progress and result that arrive together must not leave the call waiting until it is killed."""
    assert pool.call(chores.meter, listener=lambda *_: time.sleep(0.2), seconds=2, steps=2, nbytes=1) == 2


def test_stop_ends_calls_under_way_and_refuses_new_ones(tmp_path: Path) -> None:
    """Ctrl-C must not wait for the longest shard, and must not look like a storage error that is worth a retry."""
    thread, caught = in_thread(tmp_path / "started")
    try:
        pool.stop()
        thread.join(10)
        assert type(caught[0]) is pool.Stopped
        assert not psutil.pid_exists(int((tmp_path / "started").read_text()))
        with pytest.raises(pool.Stopped, match="resumes"):
            pool.call(chores.process)
    finally:
        pool.start()
    assert pool.call(chores.process) > 0


PARENT = """
import sys, threading, time, chores
from gristmill.processes import pool
print(pool.call(chores.process), flush=True)
if sys.argv[1]:
    threading.Thread(target=lambda: pool.call(chores.sleep, duration=60.0, started=sys.argv[1])).start()
time.sleep(60)
"""


@pytest.mark.parametrize("busy", [False, True])
def test_no_child_outlives_its_parent(tmp_path: Path, busy: bool) -> None:
    """kill -9 of a run must not leave processes that go on writing into the work area."""
    command = [sys.executable, "-c", PARENT, str(tmp_path / "started") if busy else ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SUPPORT)}) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        if busy:
            until((tmp_path / "started").exists)
        assert psutil.pid_exists(child)
        parent.kill()
    until(lambda: gone(child))
