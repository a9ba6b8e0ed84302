"""Each peer in an environment of its own, made when it is first asked for from the pins in peers/*.txt."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

PEERS = Path(__file__).parent / "peers"
PINS = "pins.txt"
"""In an environment: what it was made from, written last."""

VERSIONS = (
    "import json, sys; from importlib.metadata import version as v; print(json.dumps({n: v(n) for n in sys.argv[1:]}))"
)


class NotInstalled(Exception):
    """A peer that cannot be had here; the message is the installer's last line."""


def python(name: str, folder: Path) -> str:
    """The interpreter of environment ``name`` below ``folder``; without a name our own. Raises ``NotInstalled``."""
    if not name:
        return sys.executable
    place, wanted = folder / name, PEERS / f"{name}.txt"
    interpreter = str(place / "bin" / "python")
    if not (place / PINS).is_file() or (place / PINS).read_bytes() != wanted.read_bytes():
        if place.exists():
            shutil.rmtree(place)
        print(f"making the environment {place}", flush=True)
        if uv := shutil.which("uv"):
            _run([uv, "venv", "--quiet", "--python", sys.executable, str(place)], name)
            _run([uv, "pip", "install", "--quiet", "--python", interpreter, "-r", str(wanted)], name)
        else:
            _run([sys.executable, "-m", "venv", str(place)], name)
            _run([interpreter, "-m", "pip", "install", "--quiet", "-r", str(wanted)], name)
        shutil.copy(wanted, place / PINS)
    return interpreter


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
        reason = re.sub(r"\S+://\S+", "...", lines[-1])
        raise NotInstalled(f"the environment {name} could not be made: {reason[:200]}")


def versions(interpreter: str, packages: list[str]) -> dict[str, str]:
    """The versions of packages that an interpreter has."""
    done = subprocess.run([interpreter, "-c", VERSIONS, *packages], check=True, capture_output=True)
    found: dict[str, str] = msgspec.json.decode(done.stdout)
    return found


def pinned(name: str) -> list[str]:
    """The packages that an environment is made for: those before the first remark."""
    lines = (PEERS / f"{name}.txt").read_text().partition("#")[0].splitlines()
    return [line.partition("==")[0] for line in lines]
