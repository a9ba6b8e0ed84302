"""A deployment from end to end: a server with a password, a worker, and a run started the way the UI starts it."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import yaml
from stack import LOGIN, ROOT, Stack, clean_environment

LOAD = """
import sys
from prefect.flows import load_flow_from_entrypoint
for entrypoint in sys.argv[1:]:
    print(load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False).name)
"""
DEPLOYMENTS = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


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
        assert met["pull_steps"][-1] == {"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}
        schedules = [
            {"cron": one["schedule"]["cron"], "timezone": one["schedule"]["timezone"], "active": one["active"]}
            for one in met["schedules"]
        ]
        assert schedules == [{"active": True, **schedule} for schedule in wanted["schedules"]]
    assert not [
        name for name in ("nightly", "verify-weekly") for one in stack.deployment(name)["schedules"] if one["active"]
    ]
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
    run = stack.run("prepare", config=config)
    stack.completed(run)
    assert (output / "manifest.json").is_file()
    found = stack.artifacts(run)
    assert found.keys() >= {"shard-report", "input-report", "corpus-report", "report-page", "progress"}
    assert [row["kept"] for row in json.loads(found["input-report"])] == [30, 30]
    assert found["progress"] == 100


def test_a_worker_without_the_project_says_so_in_the_log_of_the_run(stack: Stack) -> None:
    """Whoever looks at a crashed run sees no terminal of a worker, and a number of a status says nothing."""
    found = stack.deployment("prepare")
    there = json.dumps(found["pull_steps"])
    assert there.count(str(ROOT)) >= 2
    steps = json.loads(there.replace(str(ROOT), "/not/here"))
    kept = {key: found[key] for key in ("flow_id", "entrypoint", "work_pool_name", "job_variables")}
    stack.post("/deployments/", name="lost", pull_steps=steps, **kept)
    run = stack.run("lost")
    assert stack.wait(run)["state_type"] == "CRASHED"
    assert stack.errors(run)[0].startswith("no gristmill project in /not/here on ")


def test_every_entrypoint_loads_from_a_foreign_folder(tmp_path: Path) -> None:
    """Prefect hides a broken import behind a placeholder: the deployment looks well and every run fails."""
    flows = sorted(path.stem for path in (ROOT / "flows").glob("[!_]*.py"))
    entrypoints = [f"flows/{flow}.py:{flow}" for flow in flows]
    assert {deployment["entrypoint"] for deployment in DEPLOYMENTS} <= {*entrypoints}
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, *(str(ROOT / entrypoint) for entrypoint in entrypoints)],
        cwd=tmp_path,
        env={**clean_environment(), "PREFECT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.split() == flows
