"""Every interpreter that starts with this folder on its path sends itself a signal when it opens a certain file.

``SOAK_WANTED``: ``stage/fingerprint`` pairs with commas between, the fingerprint may be empty: a file of such an output
while it is made. ``SOAK_SIGNAL``: the number. ``SOAK_HITS``: a folder that gets a file for each hit. ``SOAK_TIMES``:
how often each pair may be hit.
"""

import os
import sys

WANTED = [pair.partition("/") for pair in os.environ.get("SOAK_WANTED", "").split(",") if pair]


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        path = str(arguments[0])
        for stage, _, key in WANTED:
            if f"/{stage}/.tmp-" in path and key in path:
                _hit(stage)


def _hit(stage: str) -> None:
    for number in range(int(os.environ["SOAK_TIMES"])):
        try:
            os.close(os.open(f"{os.environ['SOAK_HITS']}/{number:03d}-{stage}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os.kill(os.getpid(), int(os.environ["SOAK_SIGNAL"]))
        return


if WANTED:
    sys.addaudithook(_look)
