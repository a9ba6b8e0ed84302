"""Signals at every moment of a command: it ends with a word and a status that are true."""

import signal
import subprocess
import sys

import pytest

from gristmill.commands import STOPPED

COMMAND = """
import os, sys, time
from gristmill import commands

commands.stopping_clearly()
commands.PATIENCE = 0.5

from gristmill.commands.prepare import Command
from pydantic import BaseModel, field_serializer
from gristmill.config import PrepareConfig
from gristmill.errors import InputError


def interrupt(kill=os.kill, process=os.getpid()):
    kill(process, {number})


def hang():
    try:
        interrupt()
    except BaseException:
        time.sleep(60)


class Last:
    def __del__(self, interrupt=interrupt):
        interrupt()  # when Python has given handled signals back to the system


class Value(BaseModel):
    @field_serializer("*", check_fields=False)
    def called_back(self, value):
        {callback}
        return value

    field: int = 0


Value().model_dump()


def flow(config):
    {flow}


def show(made, config):
    interrupt()
    print("the data set is whole")
    return 3


last = Last()
sys.exit(Command(PrepareConfig(), False, show).run(flow))
"""
"""A command to which a signal is sent while it shows its result, and as the last thing that its process does."""


def ended(flow: str, number: signal.Signals, callback: str = "") -> tuple[int, str, str]:
    """Status and both outputs of the command with this body of its flow, and of what pydantic calls before it."""
    script = COMMAND.format(flow=flow, number=int(number), callback=callback or "pass")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_whole_says_so_whatever_comes(number: signal.Signals) -> None:
    """A night's run whose last word is missing is started again by whatever watches it."""
    assert ended("return None", number) == (3, "the data set is whole\n", "")


STATUS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.parametrize(("number", "status"), STATUS)
def test_a_command_is_stopped_before_its_flow_begins(number: signal.Signals, status: int) -> None:
    """Settings are read and written while Prefect is imported: an exception would not come out of there as it was."""
    assert ended("raise AssertionError", number, callback="interrupt()") == (status, "", f"{STOPPED}\n")


@pytest.mark.parametrize(("number", "status"), STATUS)
def test_a_stopped_run_is_not_ended_by_a_second_signal(number: signal.Signals, status: int) -> None:
    """Who presses Ctrl-C twice would see a traceback, and a service a process that said nothing."""
    assert ended("interrupt()", number) == (status, "", f"{STOPPED}\n")


@pytest.mark.parametrize(("number", "status"), STATUS)
def test_a_run_that_cannot_end_is_ended(number: signal.Signals, status: int) -> None:
    """What is done after a signal may hang or take half a minute, and a service kills what takes too long."""
    found, _, errors = ended("hang()", number)
    assert (found, errors.splitlines()[-1]) == (status, STOPPED)


def test_a_failed_run_keeps_its_status() -> None:
    assert ended('raise InputError("a.jsonl: cut short", "truncated")', signal.SIGTERM)[::2] == (
        2,
        "error: a.jsonl: cut short\n",
    )
