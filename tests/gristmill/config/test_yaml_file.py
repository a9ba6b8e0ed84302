"""The file that a user writes, and what is laid over it on the command line."""

import time
from pathlib import Path

import pytest
from config_texts import FULL, from_text, refusal

from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.config.yaml_file import parsed, read
from gristmill.errors import ConfigError


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


def laughing(levels: int, join: str) -> str:
    """Aliases of aliases: ten times as many values with every line."""
    lines = [f"x{n + 1}: &a{n + 1} " + join.format(", ".join([f"*a{n}"] * 10)) for n in range(levels)]
    return "\n".join([f"x0: &a0 {join.format('ha')}" if "[" in join else "x0: &a0 {ha: ha}", *lines])


@pytest.mark.parametrize("join", ["[{}]", "{{<<: [{}]}}"])
def test_nested_aliases_are_bounded(tmp_path: Path, join: str) -> None:
    """Ten lines took all memory and never ended."""
    began = time.monotonic()
    assert "over 100,000 values, aliases counted" in refusal(tmp_path, laughing(12, join))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("text", ["sources: &s [*s]", "split: &s {kind: *s}", "cleaning: &c [{kind: [*c]}]", "&s [*s]"])
def test_a_value_that_holds_itself_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    """It ended in a RecursionError."""
    assert "an alias stands for what holds it" in refusal(tmp_path, text)
    with pytest.raises(ConfigError, match=r"--set sources=.*an alias stands for what holds it"):
        parsed("&s [*s]", "--set sources=&s [*s]")


def test_aliases_may_be_used(tmp_path: Path) -> None:
    """Rules that several sources share are written once."""
    text = """
    cleaning: &rules [{kind: length, min_chars: 7}]
    sources:
      - {kind: files, name: a, paths: [a], cleaning: *rules}
      - {kind: files, name: b, paths: [b], cleaning: *rules}
    """
    config = from_text(tmp_path, text)
    assert [source.cleaning for source in config.sources] == [config.cleaning] * 2


@pytest.mark.parametrize("word", ["no", "No", "NO", "yes", "on", "Off", "2026-01-31", "12:30:45", "22:22", "1_0:30"])
def test_words_that_yaml_1_1_turns_into_other_values_are_texts(tmp_path: Path, word: str) -> None:
    """A source for Norwegian was refused, with False as the value met; 22:22 became 1342."""
    text = f"sources: [{{kind: files, name: {word}, paths: [a]}}]\nmix: {{{word}: 1.0}}\n"
    config = from_text(tmp_path, text)
    assert [source.label for source in config.sources] == [word] == [*config.mix]
    assert parsed(word, "--set") == word


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ordering: {kind: hashed, seed: 010}", ["010 is octal in YAML; write 10 for the number, '010' for the text"]),
        ("total_tokens: -0_17", ["write -17 for the number"]),
        ("dataset: 0777", ["'0777' for the text", "line 1"]),
        ("cleaning: [{kind: length, min_chars: true}]", ["min_chars", "true is neither a number nor a text", "'true'"]),
        ("split: {fraction: false}", ["fraction", "false is neither a number nor a text"]),
        ("mix: {web: true}", ["mix", "true is neither"]),
        ("max_repetition: true", ["max_repetition", "true is neither"]),
        ("dataset: true", ["dataset", "true is neither", "'true'"]),
        ("execution: {workers: true}", ["workers", "true is neither"]),
        ("execution: {work: false}", ["work", "'false'"]),
        ("sources: [{kind: files, paths: [true]}]", ["paths", "true is neither"]),
        ("dataset: 2026", ["dataset", "put it in quotes: '2026'"]),
        ("dataset: 1.5", ["put it in quotes: '1.5'"]),
        ("output: ~", ["output", "an empty value, ~ and null are nothing to YAML: put a text in quotes"]),
        ("output:", ["output", "an empty value"]),
        ("sources: [{kind: files, paths: in}]", ["paths", "put it in brackets: [in]"]),
        ("execution: {workers: 1e2}", ["workers", "write it in digits: 100"]),
        ("cleaning: [{kind: length, min_chars: 1.5}]", ["min_chars", "fractional part"]),
        ("max_repetition: .inf", ["max_repetition", "finite"]),
        ("split: {fraction: .nan}", ["fraction", "finite"]),
        ("on_bad_file: quarantin", ["on_bad_file", "did you mean 'quarantine'?"]),
        ("dedub: []", ["'dedub'", "did you mean 'dedup'?"]),
        ("execution: {wrokers: 1}", ["'execution.wrokers'", "did you mean 'workers'?"]),
        ("cleaning: [{kind: Lenght}]", ["did you mean 'length'?"]),
        ("cleaning: [{kind: length, min_char: 3}]", ["did you mean 'min_chars'?"]),
        ("sources: [{kind: files, name: web, paths: [a]}]\nmix: {wbe: 0.5, web: 0.5}", ["did you mean 'web'?"]),
        ("cleaning: [{kind: language, languages: [eng]}]", ["'eng' is no language", "did you mean 'en'?"]),
    ],
)
def test_a_slip_is_answered_with_its_remedy(tmp_path: Path, text: str, parts: list[str]) -> None:
    """``true`` counted as 1, ``010`` as 8, and a misspelt kind was answered with 25 names."""
    message = refusal(tmp_path, text)
    assert all(part in message for part in parts), message
    assert "\n" not in message


def test_a_misspelt_set_key_is_answered_with_the_near_one() -> None:
    with pytest.raises(ConfigError, match=r"'tokenizer\.vocab_sise'|did you mean 'vocab_size'\?"):
        read(None, {"tokenizer.vocab_sise": 300})
    with pytest.raises(ConfigError, match=r"did you mean 'dataset'\?"):
        read(None, {"dataste": "x"})


def test_a_file_that_is_no_configuration_is_not_read_whole(tmp_path: Path) -> None:
    """A corpus given in place of its configuration took minutes and all memory."""
    (tmp_path / "data.jsonl").write_text('{"text": "x"}\n' * 100_000)
    with pytest.raises(ConfigError, match=r"data\.jsonl: cannot read the configuration: over 1,048,576 bytes"):
        read(str(tmp_path / "data.jsonl"), {})
    with pytest.raises(ConfigError, match=r"cannot read the configuration: .*Is a directory"):
        read(str(tmp_path), {})


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
