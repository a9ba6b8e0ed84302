"""prefect.toml is read, every line of it: Prefect ignores what it does not know."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOW = "import prefect.settings as s; print(s.get_current_settings().model_dump_json())"


def test_every_line_reaches_prefect() -> None:
    """A misspelt key would bring back the 20 s start limit, or lose task runs from the history."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, env=clean, capture_output=True, text=True, check=True
    ).stdout
    settings = json.loads(shown)

    def compare(expected: dict[str, object], met: dict[str, object], place: str) -> int:
        seen = 0
        for key, value in expected.items():
            assert key in met, f"Prefect has no setting {place}{key}"
            if isinstance(value, dict):
                seen += compare(value, met[key], f"{place}{key}.")
            else:
                assert met[key] == value, f"{place}{key}"
                seen += 1
        return seen

    assert compare(tomllib.loads((ROOT / "prefect.toml").read_text()), settings, "") >= 10
