"""The rules in force, with every value and where it comes from."""

from pathlib import Path

import pytest

from gristmill.commands.explain import explain
from gristmill.commands.prepare import check
from gristmill.config.yaml_file import read

CONFIG = """
sources:
  - {name: pages, kind: files, paths: [absent]}
  - {name: novels, kind: files, paths: [absent], genre: book}
  - {name: modules, kind: files, paths: [absent], genre: code, cleaning: [{kind: whitespace}, {kind: mojibake}]}
cleaning:
  - {kind: unicode}
  - {kind: length, max_chars: 90000}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(CONFIG)
    return "config.yaml"


def section(lines: list[str], source: str) -> list[str]:
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{source}: "))
    return lines[start : lines.index("", start)]


def test_every_value_is_shown_with_its_origin(config: str) -> None:
    """A threshold that nobody set and nobody sees drops documents for reasons that nobody knows."""
    lines = list(explain(read(config, {})))
    novels = [" ".join(line.split()) for line in section(lines, "novels")]
    assert novels[0] == "novels: kind files, genre book, 2 rules and filters"
    assert novels[1].startswith("1. unicode (rule): Normalises texts to")
    assert novels[2] == 'form "NFC" default'
    assert novels[3].startswith("2. length (filter): Drops documents outside")
    assert novels[4] == "min_chars 500 genre book; other genres: web 200, code 50, forum 50, wiki 200"
    assert novels[5:] == ["max_chars 90000 configuration"]
    assert any("min_chars  200  genre web" in line for line in section(lines, "pages"))


def test_a_setting_that_equals_the_preset_is_a_setting(config: str) -> None:
    shown = "\n".join(explain(read(config, {"cleaning.1.min_chars": 500})))
    assert shown.count("min_chars  500  configuration") == 2


def test_a_source_with_rules_of_its_own(config: str) -> None:
    """The common rules do not hold there, and a kind without settings has none to show."""
    found = [" ".join(line.split()) for line in section(list(explain(read(config, {}))), "modules")]
    assert found[2:4] == ['mode "code" genre code', "blank_lines 1 default"]
    assert found[4].startswith("2. mojibake (rule): Repairs")
    assert len(found) == 5


def test_the_command_shows_it_and_runs_nothing(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It must work before the input is there: absent files are no error here."""
    with pytest.raises(SystemExit) as stopped:
        check([config, "--explain"])
    assert stopped.value.code == 0
    assert "novels: kind files, genre book" in capsys.readouterr().out
    assert [path.name for path in Path().iterdir()] == ["config.yaml"]


def test_a_wrong_configuration_is_refused_all_the_same(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        check([config, "--explain", "--set", "cleaning.0.from=NFC"])
    assert stopped.value.code == 2
    assert "unknown key 'from'" in capsys.readouterr().err
