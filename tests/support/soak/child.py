"""Runs of a job in forked children: ``python -m soak.child`` reads one JSON request a line and answers with its end.

A child is forked after every import, so that whatever is done to it falls into the work. A request has the
``document`` of a job and what is to be done to the run:

- ``way``: ``serial`` or ``naive``;
- ``seconds``: kill its process group with -9 after so long;
- ``call``: kill it with -9 at its n-th call that opens, names, makes or removes a file;
- ``step``: stop it with SIGSTOP at its n-th call that opens, names or removes a file of its output, or at its n-th
  request to a store about one; ``{"stopped": true}`` says so, and it goes on at the next line that is read;
- ``limit``: no file grows beyond so many bytes, as on a disk that is full;
- ``clock``: seconds by which its clock is wrong, and jumps again at every look.

Requests to a store that failed are repeated at once: how long the client waits is not what is tried.
"""

import itertools
import json
import os
import resource
import signal
import sys
import time
import types
from typing import Any

from gristmill import config, pipeline
from gristmill.storage import s3_client
from soak import naive

STORAGE_CALLS = {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}


def perform(request: dict[str, Any]) -> int:
    """What the child does; returns how many steps it took in its output, where one was asked for."""
    taken = itertools.count()
    if request["limit"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], resource.RLIM_INFINITY))
    if request["clock"]:
        now, looks = time.time, itertools.count(1)
        time.time = lambda: now() + request["clock"] * next(looks)
    if request["call"] is not None:
        left = itertools.count(request["call"], -1)

        def die(event: str, _arguments: object) -> None:
            if event in STORAGE_CALLS and next(left) == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
    if request["step"] is not None:
        _stop_at(request["step"], taken, request["document"]["output"])
    if request["way"] == "naive":
        naive.prepare(request["document"])
    else:
        pipeline.prepare(config.parse(request["document"]))
    return next(taken)


def _stop_at(step: int, taken: "itertools.count[int]", output: str) -> None:
    def stop(found: str) -> None:
        if output.removeprefix("s3:/") in found and next(taken) == step:
            os.kill(os.getpid(), signal.SIGSTOP)

    if output.startswith("s3://"):
        # After it was signed: whatever the process looked at before is old when the request arrives.
        s3_client.client().meta.events.register("before-send.s3", lambda request, **_: stop(request.url))
    else:
        sys.addaudithook(lambda event, given: stop(str(given[0])) if event in STORAGE_CALLS else None)


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Fork, disturb, wait; the exit status and, of a run that failed by itself, its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            os.write(writing, json.dumps({"steps": perform(request)}).encode())
            status = 0
        except Exception as error:  # whatever it is, the caller judges it
            os.write(writing, json.dumps({"kind": type(error).__name__, "error": str(error)}).encode())
            status = 1
        os._exit(status)
    os.close(writing)
    deadline = None if request["seconds"] is None else time.monotonic() + request["seconds"]
    while (ended := os.waitpid(child, os.WNOHANG | os.WUNTRACED))[0] == 0 or os.WIFSTOPPED(ended[1]):
        if ended[0]:
            print(json.dumps({"stopped": True}), flush=True)
            sys.stdin.readline()
            os.kill(child, signal.SIGCONT)
        if deadline is not None and time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            deadline = None
        time.sleep(0.0005)
    status = os.waitstatus_to_exitcode(ended[1])
    with os.fdopen(reading) as said:
        return {"status": status, "kind": "", "error": "", "steps": 0, **json.loads(said.read() or "{}")}


def _hurry() -> None:
    import botocore.endpoint

    botocore.endpoint.time = types.SimpleNamespace(sleep=lambda seconds: time.sleep(min(seconds, 0.01)))


def serve() -> None:
    """Requests until the other end closes."""
    if s3_client.VARIABLE in os.environ:
        s3_client.client()  # 0.3 s that every run would take; it has no connection yet that children could share
        _hurry()
    for line in sys.stdin:
        request = json.loads(line)
        if request["way"] == "serial":
            config.parse(request["document"])  # loads the plugins
        print(json.dumps(run(request)), flush=True)


if __name__ == "__main__":
    serve()
