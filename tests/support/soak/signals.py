"""Ctrl-C, SIGTERM and kill -9 sent to the real command."""

import random
import signal
import subprocess
import time

import psutil

from gristmill.commands import STOPPED
from soak.bench import Bench
from soak.command import Command, Server
from soak.places import Place
from soak.rows import Row, row

STATUS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGKILL: -9}
SECONDS = 10.0


def stops(bench: Bench, server: Server, count: int, seed: int = 6) -> Row:
    """So many signals, Ctrl-C and SIGTERM in turn, at random moments from the start of the command to its end."""
    fault = "Ctrl-C or SIGTERM to the command"
    return _signalled(bench, server, count, seed, [signal.SIGINT, signal.SIGTERM], fault)


def kills(bench: Bench, server: Server, count: int, seed: int = 7) -> Row:
    """So many times kill -9 for the whole group of the command."""
    return _signalled(bench, server, count, seed, [signal.SIGKILL], "kill -9 of the whole command")


def _signalled(bench: Bench, server: Server, count: int, seed: int, numbers: list[signal.Signals], fault: str) -> Row:
    chance = random.Random(seed)
    calm = bench.site.place()
    command = _command(bench, server, calm)
    command.ready()
    began = time.monotonic()
    command.end(300)
    whole = time.monotonic() - began
    problems: dict[int, list[str]] = {0: bench.finished(calm)}
    slowest, jobs, tried = 0.0, 0, 0
    while tried < count:
        place, first, done, jobs = bench.site.place(), tried, False, jobs + 1
        while tried < count and not done:
            command = _command(bench, server, place)
            command.ready()
            time.sleep(chance.uniform(0, whole))
            done, took, found = _stopped(command, numbers[tried % len(numbers)])
            if not done:
                problems[tried + 1] = [*found, *bench.unfinished(place)]
                slowest, tried = max(slowest, took), tried + 1
        if not done:
            _command(bench, server, place).end(300)
        for number in range(first, tried):
            problems[number + 1] += bench.finished(place)
    notes = f"{jobs} jobs disturbed until done; the slowest end took {slowest:.1f} s (a whole run {whole:.1f} s)"
    return row(fault, tried, problems, notes)


def _command(bench: Bench, server: Server, place: Place) -> Command:
    return Command(bench.job.document(place), server.url, bench.site.environment)


def _stopped(command: Command, number: signal.Signals) -> tuple[bool, float, list[str]]:
    """Whether it had ended well before it could be stopped, the seconds until it stopped, what was wrong with it."""
    everyone = command.everyone()
    began = time.monotonic()
    if command.process.poll() is None:
        command.signal(number)
    try:
        status, lines = command.end(60)
    except subprocess.TimeoutExpired:
        return False, 60.0, [f"{number.name}: no end within 60 s"]
    took = time.monotonic() - began
    problems = []
    if status == 0:
        return True, took, []
    if took > SECONDS:
        problems.append(f"{number.name}: ended after {took:.1f} s")
    if status != STATUS[number] or (number != signal.SIGKILL and lines[-1:] != [STOPPED]):
        problems.append(f"{number.name}: status {status}, last words {lines[-3:]}")
    left = psutil.wait_procs(everyone, timeout=5)[1]
    if left:
        problems.append(f"{number.name}: still running: {[' '.join(process.cmdline()[-2:]) for process in left]}")
    return False, took, problems
