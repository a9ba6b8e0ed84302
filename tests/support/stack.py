"""A Prefect server with a password and a worker beside it, as processes of their own, and what the page does with them.

The server has the protections that docker-compose.yml gives it; SQLite stands in for PostgreSQL.
"""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFECT = [sys.executable, "-m", "prefect"]
POOL = ["gristmill", "--type", "process"]
DEPLOY = ["deploy", "--all", "--prefect-file", "deployments/prefect.yaml"]
LOGIN = ("tester", "not-a-secret")
UNFINISHED = {"SCHEDULED", "PENDING", "RUNNING", "CANCELLING"}


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A running server with a worker; ``ui`` is logged in."""

    url: str
    folder: Path
    ui: httpx.Client
    environment: dict[str, str]
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Address of the UI."""
        return self.url.removesuffix("/api")

    def post(self, path: str, **body: Any) -> Any:
        for _ in range(20):
            answer = self.ui.post(path, json=body)
            if answer.status_code != 503:  # a busy SQLite; Prefect's own client asks again as well
                break
            time.sleep(0.2)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        answer = self.ui.get(path)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def deployment(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.post("/deployments/filter", deployments={"name": {"any_": [name]}})[0]
        return found

    def run(self, deployment: str, **parameters: Any) -> str:
        """Start a run the way the page does; returns its id."""
        created = self.post(
            f"/deployments/{self.deployment(deployment)['id']}/create_flow_run",
            parameters=parameters,
            state={"type": "SCHEDULED"},
        )
        return str(created["id"])

    def flow_run(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/flow_runs/{run}")
        return found

    def set_state(self, run: str, kind: str, name: str) -> None:
        """As the buttons Cancel and Retry do."""
        self.post(f"/flow_runs/{run}/set_state", state={"type": kind, "name": name}, force=kind != "SCHEDULED")

    def wait(self, run: str, seconds: float = 180, while_in: "set[str]" = UNFINISHED) -> dict[str, Any]:
        """The run once it is in another state than these."""
        deadline = time.monotonic() + seconds
        while (found := self.flow_run(run))["state_type"] in while_in:
            assert time.monotonic() < deadline, f"still {found['state_name']}:\n{self.logs(run)}"
            time.sleep(0.2)
        return found

    def completed(self, run: str, seconds: float = 180) -> dict[str, Any]:
        found = self.wait(run, seconds)
        assert found["state_type"] == "COMPLETED", f"{found['state']['message']}\n{self.logs(run)}"
        return found

    def artifacts(self, run: str) -> dict[str, Any]:
        """Data by key."""
        found = self.post("/artifacts/filter", artifacts={"flow_run_id": {"any_": [run]}})
        return {artifact["key"]: artifact["data"] for artifact in found}

    def logs(self, run: str) -> str:
        lines = self.post("/logs/filter", logs={"flow_run_id": {"any_": [run]}}, sort="TIMESTAMP_ASC")
        return "\n".join(line["message"] for line in lines) + (self.folder / "worker.log").read_text()[-4000:]

    def errors(self, run: str) -> list[str]:
        """Its lines at ERROR and above; the last ones come to the server some seconds after its end."""
        lines = self.post("/logs/filter", logs={"flow_run_id": {"any_": [run]}, "level": {"ge_": logging.ERROR}})
        return [line["message"] for line in lines]

    def has_logged(self, run: str, text: str, seconds: float = 15) -> bool:
        """Whether the log of a run has this text; its last lines come to the server some seconds after its end."""
        deadline = time.monotonic() + seconds
        while text not in self.logs(run):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def start_worker(self, name: str = "worker", *arguments: str) -> None:
        """Another worker, in a folder of its own: finding the project is the deployment's business."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        command = ["worker", "start", "--pool", *POOL, "--name", name, *arguments]
        environment = {**self.environment, "GRISTMILL_SPOOL": str(folder / "spool")}
        self.processes[name] = start(command, folder, self.folder / f"{name}.log", environment)


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}


def start(arguments: list[str], folder: Path, log: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    with log.open("ab") as out:
        return subprocess.Popen(
            [*PREFECT, *arguments], cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True
        )


def prefect(arguments: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [*PREFECT, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{arguments}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def stop(process: "subprocess.Popen[bytes]") -> None:
    """The process and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=15)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def wait_until_ready(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{url}/ready", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-4000:]}")


def log_in(url: str, login: tuple[str, str] = LOGIN) -> httpx.Client:
    """What the page does after the password is typed: a CSRF token for its own random name."""
    token = httpx.get(f"{url}/csrf-token", params={"client": "browser"}, auth=login).json()["token"]
    headers = {"Prefect-Csrf-Client": "browser", "Prefect-Csrf-Token": token}
    return httpx.Client(base_url=url, auth=login, headers=headers, timeout=30)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Stack]:
    """A stack with every deployment and one worker; all of it ends with the block."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    environment = {
        **clean_environment(),
        "DO_NOT_TRACK": "1",
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_API_URL": url,
        "PREFECT_API_AUTH_STRING": ":".join(LOGIN),
        "PREFECT_SERVER_API_AUTH_STRING": ":".join(LOGIN),
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_UI_API_URL": url,
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(folder / "ui"),
        "PREFECT_WORKER_QUERY_SECONDS": "1",
    }
    serve = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
    processes = {"server": start(serve, ROOT, folder / "server.log", environment)}
    try:
        wait_until_ready(url, processes["server"], folder / "server.log")
        prefect(["work-pool", "create", *POOL, "--overwrite"], environment)
        prefect(DEPLOY, environment)
        with log_in(url) as ui:
            found = Stack(url=url, folder=folder, ui=ui, environment=environment, processes=processes)
            found.start_worker()
            yield found
    finally:
        for process in reversed(processes.values()):
            stop(process)
