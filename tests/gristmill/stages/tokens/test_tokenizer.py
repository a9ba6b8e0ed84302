"""The tokenizer of a data set: what formats can hold, what ends a document, and that it stays the one it is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import EOT, byte_tokenizer, documents_of, request, small_corpus, write_documents
from data import gpt2_ranks, wide_vocabulary

from gristmill import pipeline
from gristmill.errors import ConfigError, VerificationError
from gristmill.inspection import against
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.readers.windows import Windows
from gristmill.stages.dedup.recall import published_encoder
from gristmill.stages.tokens.tokenizer import check_tokenizer
from gristmill.storage import disk

RANKS = gpt2_ranks()


def test_a_format_of_uint16_refuses_a_wider_vocabulary_before_anything_is_read(tmp_path: Path) -> None:
    """Ids above 65,535 would wrap around to those of other words, without any sign of it."""
    tokenizer = {"kind": "huggingface", "path": str(wide_vocabulary()), "eot": "<eod>"}
    with pytest.raises(ConfigError, match=r"nanogpt holds uint16 ids, but tokenizer .* goes up to id 69999, .* uint32"):
        check_tokenizer(request(tmp_path, tokenizer=tokenizer))


def test_an_end_of_text_that_the_post_processor_adds_too_is_there_once(tmp_path: Path) -> None:
    """Tokenizers of chat models add BOS and EOS by a template: with ours they would be double, or in the middle."""
    document = json.loads(byte_tokenizer(tmp_path / "plain.json").read_text())
    special = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [special, {"Sequence": {"id": "A", "type_id": 0}}, special],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [EOT], "tokens": ["<|endoftext|>"]}},
    }
    (tmp_path / "template.json").write_text(json.dumps(document))
    texts = small_corpus(70)
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    config = request(tmp_path, tokenizer={"kind": "huggingface", "path": str(tmp_path / "template.json")})
    manifest = pipeline.prepare(config)
    assert manifest.tokenizer.fast_path.startswith("fastokens ")
    assert documents_of(tmp_path / "out" / "nanogpt" / "train.bin") == texts
    assert [file.eos for file in manifest.files] == [len(texts)]


@pytest.mark.parametrize(
    "tokenizer",
    [{"kind": "bytes"}, {"kind": "tiktoken", "path": str(RANKS), "encoding": "gpt2"}],
    ids=lambda settings: settings["kind"],
)
def test_every_kind_makes_a_data_set_that_verifies(tmp_path: Path, tokenizer: dict[str, Any]) -> None:
    texts = [*small_corpus(70), "<|endoftext|> \U0001f469\u200d\U0001f469"]
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    config = request(tmp_path, tokenizer=tokenizer)
    manifest = pipeline.prepare(config)
    ids = np.fromfile(tmp_path / "out" / "nanogpt" / "train.bin", "<u2")
    shown = published_encoder(tmp_path / "out", manifest).decode(ids)
    assert shown == "".join(f"{text}<|endoftext|>" for text in texts)
    assert verify(config.destination).problems == []
    assert against.compare(config.destination, config) == []


@pytest.mark.parametrize("name", ["ranks.tiktoken", "gristmill.json"])
def test_another_tokenizer_in_its_place_is_refused(tmp_path: Path, name: str) -> None:
    """Decoded by other ranks or another pattern, a data set is other text; nothing else would show it."""
    write_documents(tmp_path / "in" / "a.jsonl", small_corpus(5))
    config = request(tmp_path, tokenizer={"kind": "tiktoken", "path": str(RANKS), "encoding": "gpt2"})
    manifest = pipeline.prepare(config)
    path = tmp_path / "out" / "tokenizer" / name
    path.write_bytes(path.read_bytes().replace(b" 995\n", b" 996\n").replace(b"p{N}", b"p{L}"))
    assert any(f"tokenizer/{name}: sha256" in problem for problem in verify(config.destination).problems)
    for use in (
        lambda: against.compare(config.destination, config),
        lambda: published_encoder(tmp_path / "out", manifest),
    ):
        with pytest.raises(VerificationError, match=rf"{name}: sha256 .*; the ids were made with"):
            use()


def test_a_training_loop_that_has_another_tokenizer_is_refused(tmp_path: Path) -> None:
    """A model of one vocabulary on the ids of another trains without an error and learns nothing."""
    write_documents(tmp_path / "in" / "a.jsonl", small_corpus(5))
    config = request(tmp_path)
    pipeline.prepare(config)
    own = byte_tokenizer(tmp_path / "own.json")
    assert read_manifest(tmp_path / "out").tokenizer.file == "tokenizer.json"
    windows = Windows(tmp_path / "out", length=8, tokenizer=disk.digest(own))
    assert windows.read(np.arange(1)).ids.shape == (1, 9)
    own.write_text(own.read_text() + "\n")
    with pytest.raises(ConfigError, match=r"its ids are of tokenizer .*tokenizer\.json \(sha256 "):
        Windows(tmp_path / "out", length=8, tokenizer=disk.digest(own))
