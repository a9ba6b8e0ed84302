"""EOS and special tokens stand where formats put them and nowhere else, or the document is named."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpora import byte_tokenizer, documents_of, request, write_documents
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from gristmill import pipeline
from gristmill.errors import ConfigError, InputError
from gristmill.inspection.explain import trace
from gristmill.inspection.verify import verify
from gristmill.stages.tokens import tokenize
from gristmill.stages.tokens.tokenizer import check_tokenizer
from gristmill.types import Manifest

PLAIN = [f"the quick brown fox number {number} jumps over the lazy dog and more" for number in range(60)]
TEXTS = [*PLAIN, "here <extra> is", "a tutorial says <|endoftext|> ends a text", "<unk> and [UNK] and <|endoftext|>"]


def ids(folder: Path, manifest: Manifest) -> np.ndarray:
    assert manifest.dtype == "uint16"
    return np.fromfile(folder / "out" / "nanogpt" / "train.bin", "<u2")


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("eot", ["append", "none"])
def test_special_tokens_in_text_are_text_for_every_trained_tokenizer(tmp_path: Path, algorithm: str, eot: str) -> None:
    """Unigram gave them their ids: the run failed at its end, or in silence where the format adds no EOS."""
    write_documents(tmp_path / "in" / "a.jsonl", TEXTS)
    tokenizer = {"kind": "train", "algorithm": algorithm, "vocab_size": 400, "special_tokens": ["<extra>", "fox"]}
    manifest = pipeline.prepare(request(tmp_path, tokenizer=tokenizer, formats=[{"kind": "nanogpt", "eot": eot}]))
    assert manifest.totals["documents"] == len(TEXTS)
    counts = np.bincount(ids(tmp_path, manifest), minlength=3)
    assert counts[:3].tolist() == [len(TEXTS) if eot == "append" else 0, 0, 0]


def word_level(folder: Path, unknown: str) -> dict[str, Any]:
    made = Tokenizer(models.WordLevel({"</s>": 0, "a": 1, "[UNK]": 2}, unk_token=unknown))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    (folder / "own.json").write_text(made.to_str())
    return {"kind": "huggingface", "path": str(folder / "own.json")}


@pytest.mark.parametrize("eot", ["append", "none"])
def test_eos_that_text_reaches_is_refused_before_work_begins(tmp_path: Path, eot: str) -> None:
    """Counted at the end, one EOS too many fails a run of days; without EOS in the format nobody counts."""
    write_documents(tmp_path / "in" / "a.jsonl", ["a zz a", "a"])
    config = request(tmp_path, tokenizer=word_level(tmp_path, "</s>"), formats=[{"kind": "nanogpt", "eot": eot}])
    for refused in (check_tokenizer, pipeline.prepare):
        with pytest.raises(ConfigError, match=r"own\.json: .* gets id 0 of EOS '</s>', which is the unknown token"):
            refused(config)
    assert not (tmp_path / "out").exists()


def test_documents_with_such_text_are_quarantined_where_that_is_asked_for(tmp_path: Path) -> None:
    """Each format has the others in the same split: a text file took those after them for earlier ones."""
    write_documents(tmp_path / "in" / "a.jsonl", ["a zz a", "a", "a a", "b"])
    tokenizer = word_level(tmp_path, "</s>") | {"on_special_id": "quarantine"}
    formats = [{"kind": "nanogpt"}, {"kind": "nanochat_text", "world_size": 1}]
    split = {"kind": "fraction", "fraction": 0.5}
    config = request(tmp_path, tokenizer=tokenizer, formats=formats, split=split)
    check_tokenizer(config)
    manifest = pipeline.prepare(config)
    assert manifest.quarantined == {"special_id": 2}
    assert [(file.format, file.documents) for file in manifest.files] == [
        ("nanogpt", 1),
        ("nanogpt", 1),
        ("nanochat_text", 1),
        ("nanochat_text", 1),
    ]
    assert ids(tmp_path, manifest).tolist() == [1, 1, 0]
    assert not verify(config.destination).problems
    (path,) = (tmp_path / "out" / "report" / "quarantine").iterdir()
    with pa.input_stream(str(path), compression="zstd") as stream:
        rows = [json.loads(line) for line in stream.read().splitlines()]
    assert [(row["uri"], row["place"]) for row in rows] == [
        (str(tmp_path / "in" / "a.jsonl"), "document a.jsonl:1"),
        (str(tmp_path / "in" / "a.jsonl"), "document a.jsonl:4"),
    ]
    assert [traced.fate for traced in trace(config.destination, "a.jsonl:4")] == ["quarantined: special_id"]
    assert [traced.fate for traced in trace(config.destination, "a.jsonl:2")] == ["published"]


@pytest.mark.parametrize("alone", [1 << 22, 8])
def test_what_the_proof_at_the_start_missed_is_quarantined(
    tmp_path: Path, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long document is written piece by piece: what was written of it must go again."""
    monkeypatch.setattr(tokenize, "ALONE", alone)
    document = json.loads(byte_tokenizer(tmp_path / "plain.json").read_text())
    document["model"]["vocab"] |= {"b" * 60: 300}  # text has it only as a whole word, by a lookup that is not tried
    document["model"]["ignore_merges"] = True
    (tmp_path / "own.json").write_text(json.dumps(document))
    texts = ["one two", f"{'b' * 60} c {'d ' * 20}", "three", "", f"{'b' * 60}", "four"]
    write_documents(tmp_path / "in" / "a.jsonl", filter(None, texts))
    tokenizer = {"kind": "huggingface", "path": str(tmp_path / "own.json"), "on_special_id": "quarantine"}
    manifest = pipeline.prepare(request(tmp_path, tokenizer=tokenizer | {"eot": "b" * 60}))
    assert manifest.quarantined == {"special_id": 2}
    published = "".join(chr(token) if token < 256 else "|" for token in ids(tmp_path, manifest).tolist())
    assert published.count("|") == manifest.totals["documents"] == 3
    assert not verify(str(tmp_path / "out")).problems


def test_a_cut_document_is_quarantined_on_both_sides(tmp_path: Path) -> None:
    """Half of it would stay in the validation split."""
    write_documents(tmp_path / "in" / "a.jsonl", ["a a", "a a a a a a b", "a a"])
    tokenizer = word_level(tmp_path, "</s>") | {"on_special_id": "quarantine"}
    split = {"kind": "characters", "fraction": 0.5}
    manifest = pipeline.prepare(request(tmp_path, tokenizer=tokenizer, split=split))
    assert manifest.quarantined == {"special_id": 1}
    assert manifest.totals["documents"] == 2


def expression(folder: Path, pattern: str) -> dict[str, Any]:
    """A byte tokenizer that cuts words by ``pattern``."""
    document = json.loads(byte_tokenizer(folder / "plain.json").read_text())
    made = Tokenizer.from_str(json.dumps(document))
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    (folder / "own.json").write_text(made.to_str())
    return {"kind": "huggingface", "path": str(folder / "own.json")}


@pytest.mark.parametrize("alone", [1 << 22, 8])
def test_an_expression_that_gives_up_names_tokenizer_shard_and_document(
    tmp_path: Path, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library panics, which is no ``Exception``: the worker died, was tried four times, and nobody knew by what."""
    monkeypatch.setattr(tokenize, "ALONE", alone)
    texts = ["fine", "y" + "x" * 60 + " z", "fine as well"]
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    config = request(tmp_path, tokenizer=expression(tmp_path, "(x+x+)+y"))
    check_tokenizer(config)
    with pytest.raises(
        InputError, match=r"shard-00000, document a\.jsonl:2: tokenizer .*own\.json: .*'yxxx.*retry-limit"
    ):
        pipeline.prepare(config)


def test_an_expression_that_gives_up_on_the_battery_leaves_other_text_alone(tmp_path: Path) -> None:
    """It is not known at the start whether such text will come."""
    write_documents(tmp_path / "in" / "a.jsonl", ["fine", "b!"])
    pipeline.prepare(request(tmp_path, tokenizer=expression(tmp_path, r"(?:a|aa)+b|.")))
    assert documents_of(tmp_path / "out" / "nanogpt" / "train.bin") == ["fine", "b!"]
