"""What a program spends in processes below it is what it spends."""

import sys
from pathlib import Path

import pytest
from _watch import Failed, watch

SPIN = """
import time
data = bytearray(60_000_000)
while time.process_time() < 0.5: pass
"""
PARENT = (
    "import subprocess, sys, time; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True); time.sleep(0.5)"
)
FAILING = "import sys; print('told in /some/folder/file'); sys.exit(3)"
HANGING = "import time; print('so far', flush=True); time.sleep(60)"
LEAVING = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', sys.argv[1]]); time.sleep(0.6)"


def test_children_that_have_ended_count(tmp_path: Path) -> None:
    """Peers fork; counting only the process that was started would make them look idle and small."""
    done = watch([sys.executable, "-c", PARENT, SPIN], log=tmp_path / "log")
    assert done.cpu >= 0.5
    assert sum(done.used(done.began, done.ended).values()) == pytest.approx(done.cpu, abs=0.3)
    assert done.peak() > 60_000_000
    assert done.kinds() == ["main"]


def test_processes_that_outlive_the_command_count(tmp_path: Path) -> None:
    """A fork server is not waited for by the program that started it: datatrove's work would cost nothing."""
    done = watch([sys.executable, "-c", LEAVING, SPIN], log=tmp_path / "log")
    assert done.cpu >= 0.5


def test_a_failure_tells_the_last_lines(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="ended with status 3: told in file"):
        watch(
            [sys.executable, "-c", "import sys; print('told in /some/folder/file'); sys.exit(3)"], log=tmp_path / "log"
        )


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    """One peer that waits for ever must not cost the figures of all others."""
    with pytest.raises(Failed, match="killed for taking too long: so far"):
        watch([sys.executable, "-c", HANGING], log=tmp_path / "log", limit=2)
