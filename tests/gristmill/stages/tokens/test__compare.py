"""A fast library that is wrong where the battery did not look: found in the run, with the place and both ids."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import fastokens
import numpy as np
import pytest
from corpora import published, request, small_corpus, write_documents
from data import GPT2
from hypothesis import given
from hypothesis import strategies as st

from gristmill import pipeline
from gristmill.errors import InputError
from gristmill.manifest import read_manifest
from gristmill.reporting.health import warnings
from gristmill.stages.tokens._compare import LEAST, LONGEST, Check, sample
from gristmill.tokenizers import _hf
from gristmill.tokenizers.base import Encoded, Encoder

TRIGGER = "zyzzyva"
KEYS = st.integers(0, 2**128 - 1).map("{:032x}".format)


class Wrong:
    """Gives the ids of the real library but for texts with one rare word, where the last is another."""

    def __init__(self, real: Any) -> None:
        self._real = real

    @staticmethod
    def from_json_str(document: str) -> "Wrong":
        return Wrong(fastokens._native.Tokenizer.from_json_str(document))

    def encode_batch_flat(self, texts: list[str], **settings: bool) -> tuple[bytes, bytes]:
        ids, offsets = self._real.encode_batch_flat(texts, **settings)
        wrong, ends = np.frombuffer(ids, np.uint32).copy(), np.frombuffer(offsets, np.uint64)
        for number, text in enumerate(texts):
            if TRIGGER in text:
                wrong[int(ends[number + 1]) - 1] = 0
        return wrong.tobytes(), offsets


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_hf.fastokens, "Tokenizer", Wrong)


@given(documents=st.integers(0, 20_000), share=st.floats(0, 1), key=KEYS)
def test_the_sample_has_the_share_asked_for_and_64_at_least(documents: int, share: float, key: str) -> None:
    """1 % of a small shard is nothing, and a shard of which nothing is compared proves nothing."""
    chosen = sample(documents, share, key)
    assert len(chosen) == documents
    assert chosen.sum() == min(documents, max(LEAST, int(np.ceil(share * documents))))
    assert (chosen == sample(documents, share, key)).all()


def test_another_content_has_another_sample_spread_over_the_piece() -> None:
    """The first 64 of every shard would leave all others untried for ever."""
    found = [np.flatnonzero(sample(100_000, 0.01, f"{number:032x}")) for number in range(20)]
    assert len({tuple(rows) for rows in found}) == 20
    assert all(np.histogram(rows, 10, (0, 100_000))[0].min() > 50 for rows in found)


@pytest.mark.usefixtures("wrong")
def test_a_difference_fails_the_shard_with_the_text_and_both_ids(tmp_path: Path) -> None:
    texts = [f"document {number}" for number in range(50)]
    write_documents(tmp_path / "in" / "a.jsonl", [*texts, f"{'word ' * 40}{TRIGGER}"])
    with pytest.raises(InputError) as caught:
        pipeline.prepare(request(tmp_path))
    message = str(caught.value)
    assert message.startswith("shard-00000: tokenizer ")
    assert f"fastokens {_hf.version('fastokens')} gives other ids than the reference from id 206 of" in message
    assert f"word {TRIGGER}'" in message
    assert ": [0] instead of [64]; tokenizer.on_mismatch: fallback" in message
    assert caught.value.reason == "bad_ids"
    assert not list((tmp_path / "work" / "tokenize").glob("*"))


@pytest.mark.usefixtures("wrong")
def test_with_fallback_the_reference_encodes_the_shard(tmp_path: Path) -> None:
    """The bytes must be those of a machine on which the fast library is right, and the manifest must say it."""
    good, bad = [f"good {number}" for number in range(200)], [f"{TRIGGER} {number}" for number in range(70)]
    write_documents(tmp_path / "in" / "0.jsonl", good)
    write_documents(tmp_path / "in" / "1.jsonl", bad)
    tokenizer = {"kind": "huggingface", "path": str(tmp_path / "tokenizer.json"), "on_mismatch": "fallback"}
    config = request(tmp_path, tokenizer=tokenizer)
    manifest = pipeline.prepare(config)
    assert published(config) == [*good, *bad]
    assert manifest.tokenizer.documents_different == 64
    assert manifest.tokenizer.documents_compared == 64
    assert warnings(read_manifest(tmp_path / "out"))[-1].endswith(
        "differ on 64 documents compared; the reference encoded their shards"
    )


def test_without_a_difference_the_manifest_says_how_many_were_compared(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "0.jsonl", small_corpus(100))
    manifest = pipeline.prepare(request(tmp_path))
    assert manifest.tokenizer.fast_path == f"fastokens {_hf.version('fastokens')}"
    assert (manifest.tokenizer.documents_compared, manifest.tokenizer.documents_different) == (64, 0)
    assert warnings(manifest) == []


def test_all_documents_are_compared_where_that_is_asked_for(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "0.jsonl", small_corpus(100))
    tokenizer = {"kind": "huggingface", "path": str(tmp_path / "tokenizer.json"), "compare_share": 1.0}
    assert pipeline.prepare(request(tmp_path, tokenizer=tokenizer)).tokenizer.documents_compared == 100


class Counting(Encoder):
    """Remembers what the reference was given; its ids are the characters."""

    name, file, vocab_size, eot_id, fast_path = "counting", "x", 128, None, "fast 1"

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def encode(self, texts: list[str]) -> Encoded:
        offsets = np.cumsum([0, *map(len, texts)])
        return Encoded(ids=np.frombuffer("".join(texts).encode(), np.uint8).astype(np.uint32), offsets=offsets)

    def encode_reference(self, texts: list[str]) -> Encoded:
        self.lengths += map(len, texts)
        return self.encode(texts)


def test_of_a_long_document_its_beginning_is_compared() -> None:
    """The reference takes 200 bytes of memory a byte of text, and hours or a crash on some megabytes."""
    encoder = Counting()
    check = Check(encoder, np.ones(3, bool))
    texts = ["a", "b" * (3 * LONGEST), "c" * LONGEST]
    check.add(texts, encoder.encode(texts))
    assert encoder.lengths == [1, LONGEST, LONGEST]
    assert check.compared == 3


SINGLE = """
import json, re, sys, time
from gristmill import config, pipeline
pipeline.prepare(config.parse(json.load(open(sys.argv[1]))))
peak = re.search(r"VmHWM:\\s*([0-9]+) kB", open("/proc/self/status").read())  # ru_maxrss begins with the parent's
print(int(peak[1]) // 1024, int(time.process_time()))
"""


def test_megabytes_without_a_space_take_seconds_and_little_memory(tmp_path: Path) -> None:
    """One such page held other pipelines for hours; 8 MB of one word, merged as one, took 670 MB in the stage alone.
    500 MB for the whole of it, one process with every library."""
    word = "".join(chr(97 + place * place % 26) for place in range(9973)) * 840
    write_documents(tmp_path / "in" / "a.jsonl", ["a" * (4 << 20), word, "and another"])
    config = request(tmp_path, tokenizer={"kind": "huggingface", "path": str(GPT2)})
    (tmp_path / "config.json").write_text(config.model_dump_json())
    done = subprocess.run(
        [sys.executable, "-c", SINGLE, str(tmp_path / "config.json")], capture_output=True, text=True, check=True
    )
    megabytes, seconds = map(int, done.stdout.split())
    assert megabytes < 500
    assert seconds < 30
