"""The compose file, the image and their secrets, as far as they can be checked where no container engine runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect_redis.client import RedisMessagingSettings

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
REQUIRED = re.compile(r"\$\{(\w+):\?[^}]+\}")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(COMPOSE.read_text())["services"]


def schema_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_compose_follows_the_published_schema(tmp_path: Path) -> None:
    """A misspelt key would be refused on the user's machine only, at `docker compose up`."""
    checked = schema_check(COMPOSE)
    assert checked.returncode == 0, checked.stdout
    wrong = tmp_path / "docker-compose.yml"
    wrong.write_text(COMPOSE.read_text().replace("healthcheck:", "health_check:", 1))
    assert schema_check(wrong).returncode == 1


@pytest.mark.skipif(shutil.which("docker") is None, reason="needs the docker command")
def test_compose_itself_resolves_the_file(tmp_path: Path) -> None:
    """Anchors, interpolation and references that a schema cannot follow."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("needs the compose plugin of docker")
    filled = tmp_path / ".env"
    filled.write_text("".join(f"{name}=a:b\n" for name in REQUIRED.findall(COMPOSE.read_text())))
    command = ["docker", "compose", "--file", str(COMPOSE), "--env-file", str(filled), "config", "--quiet"]
    resolved = subprocess.run(command, capture_output=True, text=True, check=False)
    assert resolved.returncode == 0, resolved.stderr


def test_no_secret_has_a_usable_default(services: dict[str, dict[str, Any]]) -> None:
    """A stack that starts with a well-known password gets used with it."""
    secrets = {
        (service, name): value
        for service, settings in services.items()
        for name, value in settings.get("environment", {}).items()
        if re.search("PASSWORD|SECRET|ACCESS_KEY|AUTH", name)
    }
    assert {service for service, _ in secrets} == {*services} - {"redis"}
    for place, value in secrets.items():
        assert REQUIRED.fullmatch(value), f"{place} must come from .env and be required"
    example = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert example == dict.fromkeys(REQUIRED.findall(COMPOSE.read_text()), "")


def test_nothing_listens_beyond_this_machine(services: dict[str, dict[str, Any]]) -> None:
    """`4200:4200` publishes to every network the machine is on, past its firewall."""
    published = [port for settings in services.values() for port in settings.get("ports", [])]
    assert len(published) == 2
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_only_the_worker_reaches_the_object_store(services: dict[str, dict[str, Any]]) -> None:
    """The filer behind it serves every object without a signature."""
    assert services["object-store"]["networks"] == ["storage"]
    assert [name for name, settings in services.items() if "storage" in settings["networks"]] == [
        "worker",
        "object-store",
    ]
    assert "-master.telemetry=false" in services["object-store"]["command"]


def test_nothing_that_has_no_password_is_reached_from_outside(services: dict[str, dict[str, Any]]) -> None:
    """Whoever reaches Redis reads every event and may send false ones."""
    networks = yaml.safe_load(COMPOSE.read_text())["networks"]
    assert services["redis"]["networks"] == services["postgres"]["networks"] == ["database"]
    assert networks["database"] == {"internal": True}
    assert "ports" not in services["redis"]


def test_what_is_waited_for_exists(services: dict[str, dict[str, Any]]) -> None:
    """A condition that can never hold makes the whole stack hang at its start."""
    volumes = yaml.safe_load(COMPOSE.read_text())["volumes"]
    for settings in services.values():
        for other, wait in settings.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in services[other]
            else:
                assert "restart" not in services[other], f"{other} must run once"
        for volume in settings.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in volumes or source.startswith("$"), f"{volume} is not declared"


def test_every_prefect_setting_is_one_that_prefect_reads(services: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """Prefect ignores unknown variables: a misspelt one would leave CSRF protection or the password off."""
    dockerfile = (ROOT / "deployments" / "Dockerfile").read_text()
    used = dict(re.findall(r"(PREFECT_\w+)=(\S+)", dockerfile))
    for settings in services.values():
        for name, value in settings.get("environment", {}).items():
            if name.startswith("PREFECT_"):
                used[name] = re.sub(r"\$\{[^}]+\}", "1", value)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    shown = subprocess.run(
        [sys.executable, "-m", "prefect", "config", "view"],
        cwd=tmp_path,
        env={**clean, "PREFECT_HOME": str(tmp_path), **used},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    read = set(re.findall(r"^(\w+)='.*'? ?\(from env\)", shown, re.MULTILINE))
    redis = {f"PREFECT_REDIS_MESSAGING_{name.upper()}" for name in RedisMessagingSettings.model_fields}
    assert len(used) > 10
    assert read | redis >= used.keys()


def locked(path: Path) -> dict[str, str]:
    """Requirement lines of a lock without their hashes; each must have one."""
    found = {}
    for entry in re.split(r"\n(?=\S)", path.read_text().strip()):
        requirement, *hashes = re.split(r"\s*\\\n\s*", entry)
        assert hashes, f"{path}: {requirement} has no hash"
        assert all(value.startswith("--hash=sha256:") for value in hashes)
        found[requirement] = entry
    return found


def test_the_image_runs_what_the_tests_ran() -> None:
    """A second resolution could put other versions into the image than the ones tested."""
    paths = ("requirements-dev.lock", "requirements.lock", "deployments/requirements.lock")
    tested, running, image = (locked(ROOT / path) for path in paths)
    assert running.items() <= tested.items()
    assert image.items() <= tested.items()
    assert not any("pytest" in requirement for requirement in (*running, *image))
    for path in paths:
        assert "://" not in (ROOT / path).read_text(), f"{path} names an index: it must work with any"


def test_the_image_is_locked_and_does_not_run_as_root() -> None:
    dockerfile = (ROOT / "deployments" / "Dockerfile").read_text()
    assert "--require-hashes" in dockerfile
    users = re.findall(r"^USER (\w+)", dockerfile, re.MULTILINE)
    assert users
    assert users[-1] not in {"root", "0"}
