"""What ``make test-consumers`` reads can be made. The trainers' own code is not here."""

import importlib.util
from pathlib import Path

from gristmill import plugins
from gristmill.manifest import read_manifest

CONSUMERS = Path(__file__).parents[2] / "consumers"


def test_every_format_is_among_what_the_trainers_are_given(tmp_path: Path) -> None:
    """A new format that does not go with the others stopped the whole proof before its first line, unseen."""
    spec = importlib.util.spec_from_file_location("consumers_prepare", CONSUMERS / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make_all(tmp_path, streams=[25], rows=[200])
    made = {file.format for name in ("narrow", "wide", "rows") for file in read_manifest(tmp_path / name / "out").files}
    assert made == set(plugins.kinds("formats"))
    checks = "".join(path.read_text() for path in CONSUMERS.glob("check_*.py"))
    assert all(f'"{kind}"' in checks for kind in made)
