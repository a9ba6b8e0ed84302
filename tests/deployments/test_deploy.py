"""A deployment from end to end: a server with a password, a worker, and a run started the way the UI starts it.

The server has the protections that docker-compose.yml gives it; SQLite stands in for PostgreSQL.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PREFECT = [sys.executable, "-m", "prefect"]
POOL = ["gristmill", "--type", "process"]
DEPLOY = ["deploy", "--all", "--prefect-file", "deployments/prefect.yaml"]
LOAD = """
import sys
from prefect.flows import load_flow_from_entrypoint
print(load_flow_from_entrypoint(sys.argv[1], use_placeholder_flow=False).name)
"""
LOGIN = ("tester", "not-a-secret")
DEPLOYMENTS = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A running server with a worker; ``ui`` is logged in."""

    url: str
    folder: Path
    ui: httpx.Client

    def post(self, path: str, **body: Any) -> Any:
        answer = self.ui.post(path, json=body)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def deployment(self, name: str) -> dict[str, Any]:
        return self.post("/deployments/filter", deployments={"name": {"any_": [name]}})[0]

    def logs(self, run: str) -> str:
        lines = self.post("/logs/filter", logs={"flow_run_id": {"any_": [run]}}, sort="TIMESTAMP_ASC")
        return "\n".join(line["message"] for line in lines) + (self.folder / "worker.log").read_text()[-4000:]


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}


def start(arguments: list[str], folder: Path, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [*PREFECT, *arguments], cwd=folder, env=environment, stdout=out, stderr=out, start_new_session=True
        )


def prefect(arguments: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*PREFECT, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{arguments}:\n{done.stdout}\n{done.stderr}"


def stop(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=15)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{url}/ready", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start:\n{log.read_text()[-4000:]}")


def log_in(url: str) -> httpx.Client:
    """What the page does after the password is typed: a CSRF token for its own random name."""
    token = httpx.get(f"{url}/csrf-token", params={"client": "browser"}, auth=LOGIN).json()["token"]
    headers = {"Prefect-Csrf-Client": "browser", "Prefect-Csrf-Token": token}
    return httpx.Client(base_url=url, auth=LOGIN, headers=headers, timeout=30)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
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
    running = [start(serve, ROOT, folder / "server.log", environment)]
    try:
        wait_until_ready(url, running[0], folder / "server.log")
        prefect(["work-pool", "create", *POOL, "--overwrite"], environment)
        # Not in the project's folder: finding that is the deployment's business.
        running.append(start(["worker", "start", "--pool", *POOL], folder, folder / "worker.log", environment))
        prefect(DEPLOY, environment)
        with log_in(url) as ui:
            yield Stack(url=url, folder=folder, ui=ui)
    finally:
        for process in reversed(running):
            stop(process)


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for shard in range(2):
        rows = [
            {"id": f"{shard}-{row}", "text": f"document {row} of file {shard}: " + "to be or not " * 20}
            for row in range(30)
        ]
        (folder / f"{shard}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_nobody_gets_in_without_the_password_or_a_token(stack: Stack) -> None:
    """An open API lets any page in the user's browser start runs on this machine."""
    url = f"{stack.url}/deployments/filter"
    tokens = {name: stack.ui.headers[name] for name in ("Prefect-Csrf-Client", "Prefect-Csrf-Token")}
    assert httpx.post(url, json={}, headers=tokens).status_code == 401
    assert httpx.post(url, json={}, headers=tokens, auth=("tester", "wrong")).status_code == 401
    assert httpx.post(url, json={}, auth=LOGIN).status_code == 403
    assert httpx.post(url, json={}, headers=tokens, auth=LOGIN).status_code == 200


def test_all_deployments_are_there_as_written(stack: Stack) -> None:
    """`prefect deploy` ignores keys that it does not know: a schedule or limit could be missing unseen."""
    for wanted in DEPLOYMENTS:
        met = stack.deployment(wanted["name"])
        assert met["entrypoint"] == wanted["entrypoint"]
        assert met["work_pool_name"] == "gristmill"
        assert met["pull_steps"] == [{"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}]
        schedules = [
            {"cron": one["schedule"]["cron"], "timezone": one["schedule"]["timezone"], "active": one["active"]}
            for one in met["schedules"]
        ]
        assert schedules == [{"active": True, **schedule} for schedule in wanted["schedules"]]
    nightly = stack.deployment("nightly")
    assert nightly["global_concurrency_limit"]["limit"] == 1
    assert nightly["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"


def test_a_run_started_from_the_ui_completes_with_its_artifacts(stack: Stack, small_corpus: Path) -> None:
    """A deployment that only starts on the machine and in the folder where it was written is no deployment."""
    output = stack.folder / "out"
    config = {
        "dataset": "deployed",
        "sources": [{"kind": "files", "paths": [str(small_corpus)]}],
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "output": str(output),
        "execution": {"workers": 1, "work": str(stack.folder / "work")},
    }
    created = stack.post(
        f"/deployments/{stack.deployment('prepare')['id']}/create_flow_run",
        parameters={"config": config},
        state={"type": "SCHEDULED"},
    )
    deadline = time.monotonic() + 120
    while (run := stack.ui.get(f"/flow_runs/{created['id']}").json())["state_type"] in {
        "SCHEDULED",
        "PENDING",
        "RUNNING",
    }:
        assert time.monotonic() < deadline, f"still {run['state_name']}:\n{stack.logs(run['id'])}"
        time.sleep(0.3)
    assert run["state_type"] == "COMPLETED", f"{run['state']['message']}\n{stack.logs(run['id'])}"
    assert (output / "manifest.json").is_file()
    artifacts = stack.post("/artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
    found = {artifact["key"]: artifact["data"] for artifact in artifacts}
    assert found.keys() == {"shard-report", "input-report", "corpus-report", "progress"}
    assert [row["kept"] for row in json.loads(found["input-report"])] == [30, 30]
    assert found["progress"] == 100


@pytest.mark.parametrize("entrypoint", sorted({deployment["entrypoint"] for deployment in DEPLOYMENTS}))
def test_entrypoint_loads_from_a_foreign_folder(entrypoint: str, tmp_path: Path) -> None:
    """Prefect hides a broken import behind a placeholder: the deployment looks well and every run fails."""
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, str(ROOT / entrypoint)],
        cwd=tmp_path,
        env={**clean_environment(), "PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.strip() == entrypoint.rpartition(":")[2]
