"""A peer of other versions than the table says, or one that is missing without a word, spoils a comparison."""

import os
from pathlib import Path

import _environments
import pytest
from _environments import PINS, NotInstalled
from _programs import PROGRAMS


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``uv`` that makes an empty environment and writes down each call; while ``broken`` exists it fails instead."""
    script = tmp_path / "bin" / "uv"
    script.parent.mkdir()
    script.write_text(f"""#!/bin/sh
if [ -e {tmp_path}/broken ]; then echo "no version of dolma at https://host/simple fits" >&2; exit 1; fi
echo "$*" >> {tmp_path}/calls
if [ "$1" = venv ]; then for place; do :; done; mkdir -p "$place"; fi
""")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def calls(installer: Path) -> int:
    return len((installer / "calls").read_text().splitlines())


def test_an_environment_is_made_once_and_again_when_the_pins_change(installer: Path) -> None:
    """Otherwise a raised pin measures the old version under the new name."""
    place = installer / "envs"
    assert _environments.python("dolma", place) == str(place / "dolma" / "bin" / "python")
    _environments.python("dolma", place)
    assert calls(installer) == 2  # make, install
    (place / "dolma" / PINS).write_text("dolma==1.0\n")
    _environments.python("dolma", place)
    assert calls(installer) == 4


def test_what_cannot_be_installed_says_why_and_is_tried_again(installer: Path) -> None:
    (installer / "broken").touch()
    with pytest.raises(NotInstalled, match=r"environment dolma could not be made: no version of dolma at \.\.\. fits"):
        _environments.python("dolma", installer / "envs")
    (installer / "broken").unlink()
    _environments.python("dolma", installer / "envs")
    assert calls(installer) == 2


def test_every_program_has_its_script_and_its_pins() -> None:
    """A name that is wrong shows only after an hour of measuring what comes before it."""
    for program in PROGRAMS:
        assert (_environments.PEERS / program.script).is_file()
        if program.environment:
            lines = (_environments.PEERS / f"{program.environment}.txt").read_text().splitlines()
            assert all("==" in line for line in lines if not line.startswith("#"))
            assert _environments.pinned(program.environment)
