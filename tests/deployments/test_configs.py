"""The configurations of real corpora that come with the project."""

from pathlib import Path

import pytest

from gristmill.config import yaml_file

FILES = sorted((Path(__file__).resolve().parents[2] / "deployments" / "configs").glob("*.yaml"))


def test_all_of_them_are_found() -> None:
    assert {path.stem for path in FILES} == {"c4", "climbmix", "fineweb-edu", "openwebtext", "wikipedia-zh"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_a_configuration(path: Path) -> None:
    """A renamed key would be met by the first person who tries a real corpus, after the download is set up."""
    found = yaml_file.read(str(path), {})
    assert found.dataset.startswith(path.stem)
    assert found.sources[0].kind() == "huggingface"
