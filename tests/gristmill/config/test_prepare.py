"""What a configuration means, what it refuses, and what changes its fingerprint."""

import datetime
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import remote
from config_texts import FULL, from_text, refusal
from remote import in_force

from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError
from gristmill.processes import pool


def test_a_whole_file_is_understood(tmp_path: Path) -> None:
    config = from_text(tmp_path, FULL)
    assert config.dataset == "web-2026"
    assert [source.label for source in config.sources] == ["web", "books"]
    assert [rule.kind() for rule in config.rules("web")] == ["unicode", "length"]
    assert [rule.settings()["min_chars"] for rule in config.rules("books")] == [500]
    assert config.split.settings() == {"kind": "fraction", "fraction": 0.0005}
    assert config.ordering.settings() == {"kind": "nanogpt", "seed": 2357}
    assert (config.execution.workers, config.execution.work) == (3, "/big/work")
    assert config.destination == "out/web"


@pytest.mark.parametrize(
    ("text", "key", "accepted"),
    [
        ("dataste: x", "dataste", "cleaning, dataset, dedup, execution, formats,"),
        (
            "execution: {wrokers: 3}",
            "execution.wrokers",
            "uploads, work, work_files, workers",
        ),
        ("tokenizer: {kind: train, vocab: 3}", "vocab", "eot, min_frequency, on_mismatch, on_special_id, sample_"),
        ("split: {fractoin: 0.1}", "fractoin", "there are: fraction"),
        ("cleaning: [{kind: length, min: 3}]", "min", "max_chars, min_chars"),
        ("sources: [{kind: files, paths: [x], cleaning: [{kind: length, min: 3}]}]", "min", "max_chars, min_chars"),
        ("formats: [{kind: nanogpt, eos: append}]", "eos", "there are: eot"),
    ],
)
def test_an_unknown_key_at_any_level_names_the_keys_there(tmp_path: Path, text: str, key: str, accepted: str) -> None:
    """A misspelt key that was ignored would leave its default in force, unseen."""
    message = refusal(tmp_path, text)
    assert f"unknown key '{key}'" in message
    assert accepted in message


def test_an_unknown_kind_names_the_kinds(tmp_path: Path) -> None:
    assert "cleaning.1: unknown kind 'lenght'" in refusal(tmp_path, "cleaning: [{kind: unicode}, {kind: lenght}]")
    assert "fraction, last_shard, none" in refusal(tmp_path, "split: {kind: half}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("split: {fraction: 2}", "less than 1 (got 2)"),
        ("dataset: ../up", "got '../up'"),
        ("sources: []", "sources: List should have at least 1 item"),
        ("formats: [{kind: nanogpt}, {kind: nanogpt, eot: none}]", "'nanogpt' appears 2 times; list each kind once"),
        ("split: {kind: characters}", "characters needs ordering: {kind: input}, not 'hashed'"),
        ("tokenizer: {kind: huggingface}", "either path (a tokenizer.json) or name (on the hub)"),
        ("tokenizer: {kind: huggingface, path: a, name: b}", "either path (a tokenizer.json) or name (on the hub)"),
        ("on_bad_file: ignore", "'fail' or 'quarantine'"),
        ("execution: {workers: -1}", "got -1"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_can(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


def test_sources_need_distinct_names(tmp_path: Path) -> None:
    """Counts and rules by source would be mixed up."""
    two = "sources: [{kind: files, paths: [a]}, {kind: files, paths: [b]}]"
    assert "sources: 'files' appears 2 times; give each a different name" in refusal(tmp_path, two)
    named = two.replace("kind: files, paths: [b]", "kind: files, name: b, paths: [b]")
    assert [source.label for source in from_text(tmp_path, named).sources] == ["files", "b"]


SAME = [
    {"execution": {"workers": 9, "work": "elsewhere", "retries": 0, "shard_seconds": 5}},
    {"output": "elsewhere"},
    {"split": {"kind": "fraction", "fraction": 0.01}},
]
OTHER = [
    {"dataset": "x"},
    {"cleaning": [{"kind": "unicode"}, {"kind": "whitespace"}, {"kind": "control"}]},
    {"cleaning": [{"kind": "unicode", "form": "NFD"}, {"kind": "control"}, {"kind": "whitespace"}]},
    {"dedup": []},
    {"against": ["no data set is here"]},
    {"keep_copy": "content"},
    {"tokenizer": {"kind": "train", "vocab_size": 8193}},
    {"split": {"fraction": 0.011}},
    {"ordering": {"kind": "hashed", "seed": 1}},
    {"ordering": {"kind": "input"}},
    {"formats": [{"kind": "nanogpt", "eot": "none"}]},
    {"on_bad_document": "fail"},
    {"max_quarantined_share": 0.5},
    {"on_bad_file": "quarantine"},
    {"on_removed": "tombstone"},
    {"sources": [{"kind": "files", "paths": ["x"]}]},
    {"mix": {"stdlib_docs": 1.0}},
    {"mix": {"stdlib_docs": 1.0}, "total_tokens": 1000},
    {"mix": {"stdlib_docs": 1.0}, "max_repetition": 2.0},
    {"mix": {"stdlib_docs": 1.0}, "max_repetition": {"stdlib_docs": 2.5}},
]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mix": {"web": 1.0}}, "no share for stdlib_docs"),
        ({"mix": {"stdlib_docs": 1.1}}, "mix.stdlib_docs: Input should be less than or equal to 1"),
        ({"mix": {"stdlib_docs": float("nan")}}, "mix.stdlib_docs"),
        ({"mix": {"stdlib_docs": 1.0}, "max_repetition": 0}, "max_repetition"),
        ({"mix": {"stdlib_docs": 1.0}, "max_repetition": {"web": 2}}, "max_repetition: no source web"),
        ({"mix": {"stdlib_docs": 1.0}, "total_tokens": 0}, "total_tokens"),
        ({"total_tokens": 10}, "belong to mix"),
    ],
)
def test_a_mixture_that_cannot_be_meant_is_refused(change: dict[str, Any], message: str) -> None:
    """It is found before anything is read, not after a night of tokenizing."""
    with pytest.raises(ConfigError, match=message):
        parse(change)


@pytest.mark.parametrize("change", SAME, ids=str)
def test_how_and_where_are_not_in_the_fingerprint(change: dict[str, Any]) -> None:
    """More workers or another disk must not look like another data set."""
    assert parse(change).fingerprint() == PrepareConfig().fingerprint()


def test_every_setting_that_changes_bytes_is_in_the_fingerprint() -> None:
    """One that was left out would let an old output pass for a new one."""
    prints = {PrepareConfig().fingerprint(), *(parse(change).fingerprint() for change in OTHER)}
    assert len(prints) == len(OTHER) + 1
    changed = {key for change in OTHER for key in change}
    assert changed | {"execution", "on_skipped", "output", "packing", "rehearse"} == set(PrepareConfig.model_fields)


def test_a_configuration_survives_json_and_pickle(tmp_path: Path) -> None:
    """The server stores it as JSON and hands it back to the flow; a Dask worker gets it by pickle."""
    config = from_text(tmp_path, FULL)
    assert parse(json.loads(config.model_dump_json())) == config
    assert pickle.loads(pickle.dumps(config)) == config
    assert parse(json.loads(config.model_dump_json())).fingerprint() == config.fingerprint()


def test_a_configuration_is_no_mapping() -> None:
    """Prefect takes anything with ``keys`` apart."""
    assert not any(hasattr(PrepareConfig(), name) for name in ("keys", "values", "items"))


def test_a_dated_output_gets_a_place_a_day() -> None:
    """A nightly run would otherwise meet the data set of the day before."""
    day = datetime.date(2026, 3, 4)
    assert parse({"output": "out/{date}/web"}).dated(day).destination == "out/2026-03-04/web"
    assert parse({"output": "out/web"}).dated(day).destination == "out/web"


GENRES = """
sources:
  - {name: web, kind: files, paths: [a]}
  - {name: novels, kind: files, paths: [b], genre: book}
  - {name: posts, kind: files, paths: [c], genre: forum}
  - name: modules
    kind: files
    paths: [d]
    genre: code
    cleaning: [{kind: whitespace}, {kind: symbols, max_share: 0.4}]
cleaning:
  - {kind: whitespace, blank_lines: 2}
  - {kind: length, max_chars: 90000}
"""


def test_a_genre_gives_the_values_that_are_not_set(tmp_path: Path) -> None:
    """Novels judged as web pages, or code whose indentation is squeezed, with nothing in the configuration wrong."""
    rules = in_force(from_text(tmp_path, GENRES))
    assert {name: found[1].get("min_chars") for name, found in rules.items()} == {
        "web": 200,
        "novels": 500,
        "posts": 50,
        "modules": None,
    }
    assert [found[0]["mode"] for found in rules.values()] == ["prose", "prose", "prose", "code"]
    assert [found[0]["blank_lines"] for found in rules.values()] == [2, 2, 2, 1]
    assert [rules[name][1]["max_chars"] for name in ("web", "novels", "posts")] == [90000] * 3
    assert rules["modules"][1]["max_share"] == 0.4


def test_rules_of_a_genre_are_the_same_after_json(tmp_path: Path) -> None:
    """The server and every worker get the configuration as JSON, where set and unset values look alike."""
    config = from_text(tmp_path, GENRES)
    again = parse(json.loads(config.model_dump_json()))
    assert in_force(again) == in_force(config)
    assert parse(json.loads(again.model_dump_json())) == again == config
    assert again.fingerprint() == config.fingerprint()
    assert in_force(pickle.loads(pickle.dumps(config))) == in_force(config)


def test_rules_of_a_genre_are_the_same_in_a_worker_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents would be cleaned by other rules than those that the parent fingerprinted."""
    monkeypatch.setenv("PYTHONPATH", str(Path(remote.__file__).parent))
    config = from_text(tmp_path, GENRES)
    try:
        assert pool.call(remote.in_force, config=config) == in_force(config)
    finally:
        pool.close()


def test_genres_differ_in_the_fingerprint_where_their_rules_do() -> None:
    """Another genre that changes no rule must not make the work again; one that changes a rule must."""

    def fingerprint(genre: str, *rules: dict[str, Any]) -> str:
        source = {"kind": "files", "paths": ["x"], "genre": genre}
        return parse({"sources": [source], "cleaning": list(rules)}).fingerprint()

    unset, same, own = {"kind": "length"}, {"kind": "unicode"}, {"kind": "length", "min_chars": 9}
    genres = ["web", "book", "forum", "wiki"]
    assert len({fingerprint(genre, same) for genre in genres}) == 1
    assert len({fingerprint(genre, own) for genre in genres}) == 1
    assert len({fingerprint(genre, same, unset) for genre in [*genres, "code"]}) == 4
    assert fingerprint("code", same) != fingerprint("web", same)  # for the comparison of copies
    assert fingerprint("book", unset) == fingerprint("web", {"kind": "length", "min_chars": 500})


def test_common_rules_that_a_genre_leaves_alone_stay_common() -> None:
    """Who edits the rules of a stored configuration in a form would change nothing if each source held a copy."""
    stored = json.loads(PrepareConfig().model_dump_json())
    assert stored["sources"][0]["cleaning"] is None
    stored["cleaning"][0]["form"] = "NFKC"
    assert parse(stored).rules("stdlib_docs")[0].settings()["form"] == "NFKC"


def test_an_unknown_genre_and_one_against_a_setting_are_refused(tmp_path: Path) -> None:
    assert "'web', 'book', 'code', 'forum' or 'wiki'" in refusal(
        tmp_path, "sources: [{kind: files, paths: [x], genre: novel}]"
    )
    text = "sources: [{kind: files, paths: [x], genre: book}]\ncleaning: [{kind: length, max_chars: 300}]"
    message = refusal(tmp_path, text)
    assert "max_chars 300 is below min_chars 500" in message
    assert "genre book gives min_chars 500" in message
