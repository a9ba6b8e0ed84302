"""The services of docker-compose.yml, with the settings of that file, as processes: PostgreSQL, Redis, the Prefect
server and its services apart, the object store, a worker. It takes minutes: `make test-stack` runs it."""

import importlib.util
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpora import small_corpus, write_documents
from stack import LOGIN, ROOT, Stack, log_in

pytestmark = pytest.mark.skipif("GRISTMILL_TEST_STACK" not in os.environ, reason="make test-stack runs it")

SECRETS = {
    "POSTGRES_PASSWORD": "not-a-secret-0",
    "PREFECT_AUTH_STRING": ":".join(LOGIN),
    "S3_ACCESS_KEY": "TESTKEYNOTSECRET0002",
    "S3_SECRET_KEY": "made-up-for-the-tests-0002",
}


def load() -> Any:
    """deployments/local_stack.py; no package holds it."""
    spec = importlib.util.spec_from_file_location("local_stack", ROOT / "deployments" / "local_stack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    local = load()
    folder = tmp_path_factory.mktemp("services")
    for path in (folder, *folder.parents[:3]):
        if path != Path("/tmp"):
            path.chmod(0o755)  # PostgreSQL runs as a user of its own
    ports = {name: local.free_port() for name in local.PORTS}
    values = {**SECRETS, "PREFECT_PORT": str(ports["prefect-server"])}
    found = local.Stack(folder, values, ports)
    try:
        found.up()
        yield found
    finally:
        found.down()


@pytest.fixture
def pages(services: Any) -> Stack:
    return Stack(url=f"{services.url}/api", folder=services.folder, ui=log_in(f"{services.url}/api"), environment={})


def settings(folder: Path, name: str) -> dict[str, Any]:
    for number in range(8):
        write_documents(folder / f"{number}.jsonl", small_corpus(800)[number * 100 : number * 100 + 100])
    return {
        "dataset": name,
        "sources": [{"kind": "files", "paths": [str(folder)]}],
        "dedup": [{"kind": "minhash"}],
        "tokenizer": {"kind": "train", "vocab_size": 1000},
        "output": f"s3://gristmill/{name}",
        "execution": {"workers": 1, "work": f"s3://gristmill/work-{name}"},
    }


def until_cleaned(services: Any, pages: Stack, run: str) -> None:
    """Until the run has cleaned something: its middle."""
    deadline = time.monotonic() + 180
    while not list((services.folder / "spool" / "work").glob("gristmill/work-*/clean/*/report.json")):
        assert time.monotonic() < deadline, pages.logs(run)
        time.sleep(0.1)


def test_a_run_reaches_the_object_store_and_is_verified_there(pages: Stack, tmp_path: Path) -> None:
    """The whole path: deployed by the init step, started through the API, worked on, published, checked, shown."""
    config = settings(tmp_path / "in", "stacked")
    run = pages.run("prepare", config=config)
    pages.completed(run, seconds=400)
    assert {"shard-report", "corpus-report", "input-report"} <= pages.artifacts(run).keys()
    pages.completed(pages.run("verify-weekly", output=config["output"]), seconds=300)
    limits = pages.post("/v2/concurrency_limits/filter", limit=50)
    assert {"gristmill-uploads", "gristmill-downloads"} <= {limit["name"] for limit in limits}
    again = pages.completed(pages.run("prepare", config=config), seconds=300)
    assert again["name"] == "stacked-g1"


def test_restarts_of_server_and_worker_in_the_middle_are_survived(services: Any, pages: Stack, tmp_path: Path) -> None:
    """Updates and power cuts come in the middle of a run that takes days."""
    shutil.rmtree(services.folder / "spool", ignore_errors=True)
    config = settings(tmp_path / "in", "restarted")
    run = pages.run("prepare", config=config)
    until_cleaned(services, pages, run)
    services.stop("worker", signal.SIGKILL)
    services.stop("prefect-server")
    services.start("prefect-server")
    services.start("worker")
    pages = Stack(url=pages.url, folder=pages.folder, ui=log_in(pages.url), environment={})
    pages.post(f"/flow_runs/{run}/set_state", state={"type": "SCHEDULED", "name": "AwaitingRetry"}, force=True)
    done = pages.completed(run, seconds=400)
    assert done["run_count"] == 2
    assert pages.has_logged(run, "reused"), pages.logs(run)
    pages.completed(pages.run("verify-weekly", output=config["output"]), seconds=300)
