"""The file that a user writes, and what is laid over it on the command line."""

from pathlib import Path

import pytest
from config_texts import FULL, from_text, refusal

from gristmill.config import PrepareConfig
from gristmill.config_file import read
from gristmill.errors import ConfigError
from gristmill.execution import Execution


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "{}"])
def test_every_part_has_a_default(tmp_path: Path, text: str) -> None:
    assert from_text(tmp_path, text) == PrepareConfig() == read(None, {})
    assert PrepareConfig().destination == "out/stdlib-docs"


@pytest.mark.parametrize("text", ["[]", "false", "0", "- dataset: x", "just words"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    """An empty list that counted as an empty file would prepare another corpus than the one meant."""
    assert "config.yaml: expected a mapping of keys" in refusal(tmp_path, text)


def test_broken_yaml_names_the_file_and_the_place(tmp_path: Path) -> None:
    message = refusal(tmp_path, "dataset: x\nsources: [\n")
    assert "config.yaml: not valid YAML" in message
    assert "line 3" in message


@pytest.mark.parametrize("text", ["dataset: a\ndataset: b", "split: {fraction: 0.1, fraction: 0.2}"])
def test_a_repeated_key_is_refused(tmp_path: Path, text: str) -> None:
    """The first of two would be lost silently."""
    assert "is repeated" in refusal(tmp_path, text)


def test_yaml_cannot_make_objects(tmp_path: Path) -> None:
    """A configuration from the internet must not run code."""
    assert "not valid YAML" in refusal(tmp_path, "dataset: !!python/object/apply:os.getcwd []")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: cannot read the configuration"):
        read(str(tmp_path / "gone.yaml"), {})
    (tmp_path / "latin.yaml").write_bytes(b"dataset: caf\xe9")
    with pytest.raises(ConfigError, match=r"latin\.yaml: cannot read the configuration"):
        read(str(tmp_path / "latin.yaml"), {})


def test_set_reaches_nested_keys_and_lists(tmp_path: Path) -> None:
    config = from_text(
        tmp_path,
        FULL,
        tokenizer__vocab_size=2000,
        sources__1__paths=["other"],
        cleaning__1__min_chars=7,
        execution__workers=5,
        output="elsewhere",
    )
    assert config.tokenizer.settings()["vocab_size"] == 2000
    assert config.sources[1].settings()["paths"] == ["other"]
    assert config.cleaning[1].settings()["min_chars"] == 7
    assert (config.execution.workers, config.execution.work) == (5, "/big/work")
    assert config.destination == "elsewhere"


def test_set_works_on_defaults(tmp_path: Path) -> None:
    """Without a file there is nothing to step into but the defaults."""
    config = read(None, {"tokenizer.vocab_size": 300, "cleaning.0.form": "NFKC", "split.fraction": 0.5})
    assert config.tokenizer.settings()["vocab_size"] == 300
    assert [rule.kind() for rule in config.cleaning] == ["unicode", "control", "whitespace"]
    assert config.cleaning[0].settings()["form"] == "NFKC"
    assert config.split.settings() == {"kind": "fraction", "fraction": 0.5}
    assert from_text(tmp_path, "dataset: x", execution__work="w").execution == Execution(work="w")


def test_a_kind_set_over_a_default_takes_nothing_from_it() -> None:
    """``--set ordering.kind=nanogpt`` must mean nanoGPT's seed, not the seed of the default ordering."""
    assert read(None, {"ordering.kind": "nanogpt"}).ordering.settings()["seed"] == 2357
    config = read(None, {"split.kind": "characters", "ordering.kind": "input"})
    assert config.split.settings()["fraction"] == 0.1
    settings = read(None, {"tokenizer.path": "t.json", "tokenizer.kind": "huggingface"}).tokenizer.settings()
    assert (settings["kind"], settings["path"]) == ("huggingface", "t.json")
    sources = read(None, {"sources.0.kind": "files", "sources.0.paths": ["x"]}).sources
    assert [source.kind() for source in sources] == ["files"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("cleaning.9.form", "there is no '9'"),
        ("cleaning.9", "there is no '9'"),
        ("cleaning.x.form", "there is no 'x'"),
        ("dataset.name", "there is no 'name'"),
        ("tokenizers.kind", "unknown key 'tokenizers'"),
        ("tokenizer.vocab", "unknown key 'vocab'"),
        ("output.place.deep", "there is no 'place'"),
    ],
)
def test_set_of_something_that_is_not_there_is_refused(key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(None, {key: 1})


def test_a_mixture_is_set_from_the_command_line() -> None:
    found = read(None, {"mix.stdlib_docs": 1.0, "max_repetition": 2.5, "total_tokens": 10})
    assert found.mixture() == {"mix": {"stdlib_docs": 1.0}, "max_repetition": 2.5, "total_tokens": 10}
    with pytest.raises(ConfigError, match="there is no 'web' to set"):
        read(None, {"max_repetition.web": 2.0})
