"""The real command, ``python flows/prepare.py``, under a Prefect server that stays."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import yaml

from soak.bench import ROOT, environment


class Server:
    """``prefect server start`` on a free port with a database of its own."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="soak-prefect-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api"
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = {**plain, "PREFECT_HOME": str(self.home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env=self.environment,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the Prefect server did not start")

    def artifacts(self, key: str) -> list[Any]:
        """Data of the artifacts of a key, newest first."""
        wanted = {"artifacts": {"key": {"any_": [key]}}, "sort": "CREATED_DESC", "limit": 20}
        request = urllib.request.Request(
            f"{self.url}/artifacts/filter", json.dumps(wanted).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return [json.loads(artifact["data"]) for artifact in json.load(answer)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        everyone = [psutil.Process(self._process.pid), *psutil.Process(self._process.pid).children(recursive=True)]
        self._process.terminate()
        for process in psutil.wait_procs(everyone, timeout=20)[1]:
            process.kill()
        self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class Command:
    """A running command; the group that a terminal would signal is its own."""

    def __init__(self, document: dict[str, Any], url: str, more: dict[str, str]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="soak-command-"))
        (folder / "config.yaml").write_text(yaml.safe_dump(document))
        plain = {name: value for name, value in environment(**more).items() if not name.startswith("PREFECT_")}
        self._folder = folder
        with (folder / "errors").open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "flows/prepare.py", str(folder / "config.yaml")],
                env={**plain, "PREFECT_API_URL": url, "PREFECT_HOME": str(folder / "prefect")},
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def ready(self) -> None:
        """Wait until it handles SIGTERM: before its first line, only the interpreter could."""
        status = Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None:
            caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.MULTILINE)
            if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.005)

    def signal(self, number: int) -> None:
        """Ctrl-C and kill -9 go to the whole group, as from a terminal; SIGTERM to the process, as from a service."""
        if number == signal.SIGTERM:
            self.process.send_signal(number)
        else:
            os.killpg(self.process.pid, number)

    def everyone(self) -> list[psutil.Process]:
        """Every process below the command, its workers included."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def end(self, seconds: float) -> tuple[int, list[str]]:
        """Its exit status and the lines of its stderr; raises ``TimeoutExpired`` when it must be killed."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()
            raise
        lines = (self._folder / "errors").read_text(errors="replace").splitlines()
        shutil.rmtree(self._folder)
        return status, lines
