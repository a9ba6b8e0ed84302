"""What a run that goes on with a published data set says of other rules, and of files that moved or changed."""

from pathlib import Path
from typing import Any

import pytest
from corpora import request, write_documents
from first_day import TEXTS, check_never_twice, first_day, published

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, OtherRules


def asked(folder: Path, **settings: Any) -> PrepareConfig:
    return request(folder, **settings)


@pytest.mark.parametrize("dedup", [[], [{"kind": "exact"}]])
@pytest.mark.parametrize("on_removed", ["keep", "tombstone"])
def test_a_renamed_file_is_not_new(tmp_path: Path, dedup: list[Any], on_removed: str) -> None:
    """Its documents stood in the data set twice, or were listed as gone while its copies were dropped."""
    config = first_day(tmp_path, dedup=dedup, on_removed=on_removed)
    (tmp_path / "in" / "log.jsonl").rename(tmp_path / "in" / "log-1.jsonl")
    manifest = pipeline.prepare(config)
    assert len(manifest.generations) == 1
    write_documents(tmp_path / "in" / "log.jsonl", ["a new day"])
    manifest = pipeline.prepare(config)
    assert published(config) == [*TEXTS, "a new day"]
    assert manifest.generations[-1].removed == []
    assert pipeline.prepare(config) == manifest


def appended(folder: Path) -> None:
    write_documents(folder / "log.jsonl", [*TEXTS, "one more"])


def test_without_dedup_a_longer_file_is_never_published_twice(tmp_path: Path) -> None:
    """One line appended to a log published the whole of it once more, with a word on removed shards alone."""
    check_never_twice(tmp_path, appended)


def test_a_changed_file_is_not_listed_as_gone_while_dedup_drops_its_copies(tmp_path: Path) -> None:
    """Loaders pass over what is listed, and its copies were dropped: the documents were in no epoch any more."""
    config = first_day(tmp_path, dedup=[{"kind": "exact"}], on_removed="tombstone")
    appended(tmp_path / "in")
    with pytest.raises(ConfigError, match="would mark its old documents as gone"):
        pipeline.prepare(config)


RULES = [{"kind": "length", "min_chars": 3}]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"cleaning": [{"kind": "length", "min_chars": 5}]}, "cleaning.0.min_chars: 3 -> 5"),
        ({"cleaning": [*RULES, {"kind": "control"}]}, "cleaning: [length] -> [length, control]"),
        ({"dedup": [{"kind": "exact"}]}, "dedup: [] -> [exact]"),
        ({"split": {"fraction": 0.5}}, "split: none -> fraction"),
        ({"ordering": {"kind": "nanogpt", "seed": 7}}, "ordering.seed: 2357 -> 7"),
        ({"formats": [{"kind": "nanogpt", "eot": "none"}]}, 'formats.0.eot: "append" -> "none"'),
        ({"keep_copy": "content"}, 'keep_copy: "first" -> "content"'),
        ({"tokenizer": {"kind": "bytes"}}, "tokenizer: huggingface -> bytes"),
    ],
)
def test_a_refusal_names_key_old_and_new_value(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    """It named the sources, whatever rule was changed."""
    rest: dict[str, Any] = {"cleaning": RULES, "ordering": {"kind": "nanogpt", "seed": 2357}}
    first_day(tmp_path, **rest)
    with pytest.raises(OtherRules) as refused:
        pipeline.prepare(asked(tmp_path, **{**rest, **changed}))
    assert told in str(refused.value)
    assert "sources" not in str(refused.value)


def test_a_refusal_names_keys_of_a_source(tmp_path: Path) -> None:
    """Rules of a source, and how it is read, belong to it by name."""
    first_day(tmp_path)
    source = {"kind": "files", "name": "web", "paths": [str(tmp_path / "in")]}
    for own, told in (
        ({"text_key": "body"}, 'sources.web.text_key: "text" -> "body"'),
        ({"cleaning": RULES}, "sources.web.cleaning: [] -> [length]"),
    ):
        with pytest.raises(OtherRules) as refused:
            pipeline.prepare(asked(tmp_path, sources=[source | own]))
        assert told in str(refused.value)


def test_a_refusal_says_when_a_file_has_other_content(tmp_path: Path) -> None:
    """Nothing in the configuration differs then, and no key could be named."""
    words = " ".join(f"word{number}" for number in range(20))
    evaluation = write_documents(tmp_path / "evaluation.jsonl", [words])
    rules = {"dedup": [{"kind": "decontaminate", "paths": [str(evaluation)]}]}
    first_day(tmp_path, **rules)
    write_documents(evaluation, [words, words])
    with pytest.raises(OtherRules, match="dedup: the same settings, with other files or another version"):
        pipeline.prepare(asked(tmp_path, **rules))
