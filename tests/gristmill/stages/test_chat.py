"""Conversations from a file to rows: every line accounted for, masks on what the assistant says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import EOT, byte_tokenizer
from tokenizers import Tokenizer

from gristmill import plugins
from gristmill.errors import InputError
from gristmill.packing.sft import Sft
from gristmill.readers.loader import Loader
from gristmill.readers.rows import Rows
from gristmill.stages import chat
from gristmill.stages.chat import ChatReport, pack_conversations
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.base import Tokenizer as Kind

START, END = 257, 258


def tokenizer(folder: Path) -> Encoder:
    """An id a byte, and chatml's two markers as special tokens."""
    made = Tokenizer.from_file(str(byte_tokenizer(folder / "plain.json")))
    made.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    made.save(str(folder / "tokenizer.json"))
    kind = plugins.load("tokenizers", {"kind": "huggingface", "path": str(folder / "tokenizer.json")})
    assert isinstance(kind, Kind)
    kind.prepare([], folder / "loaded")
    return kind.load(folder / "loaded")


def talk(question: str, answer: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


def packed(folder: Path, lines: list[Any], **settings: Any) -> ChatReport:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "talks.jsonl").write_text(text + "\n\n")
    (folder / "loaded").mkdir()
    encoder = tokenizer(folder)
    return pack_conversations(
        [folder / "talks.jsonl"], folder / "loaded", encoder, Sft(**settings), folder / "talks.parquet"
    )


def test_rows_hold_the_conversations_and_learn_the_answers(tmp_path: Path) -> None:
    """Ids and masks against the template written out, through the reader that a training loop uses."""
    lines = [talk(f"q{number}" * (number % 5), f"a{number}" * (1 + number % 7)) for number in range(60)]
    report = packed(tmp_path, lines, length=127)
    plain = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    plain.encode_special_tokens = True

    def ids(text: str) -> list[int]:
        found: list[int] = plain.encode(text, add_special_tokens=False).ids
        return found

    wanted = {}
    for line in lines:
        question, answer = (message["content"] for message in line["messages"])
        asked = [START, *ids("user\n"), *ids(question), END, *ids("\n")]
        told = [START, *ids("assistant\n")], [*ids(answer), END], ids("\n")
        row = [EOT, *asked, *told[0], *told[1], *told[2]]
        learn = [False] * (1 + len(asked) + len(told[0])) + [True] * len(told[1]) + [False]
        wanted[tuple(row)] = learn
    samples = Rows(tmp_path / "talks.parquet")
    found = samples.read(np.arange(samples.blocks.sum()))
    seen = 0
    for row, mask in zip(found.ids.tolist(), found.mask.tolist(), strict=True):
        starts = [place for place, token in enumerate(row) if token == EOT]
        for start, stop in zip(starts, [*starts[1:], len(row)], strict=True):
            if stop - start > 1:
                assert mask[start:stop] == wanted[tuple(row[start:stop])]
                seen += 1
            else:
                assert mask[start] is False
    assert seen == report.packed == report.conversations == 60
    assert report.learned == found.mask.sum() == sum(map(sum, wanted.values()))
    assert Loader(samples, batch=samples.blocks.sum()).next().mask.sum() == report.learned


def test_every_line_is_accounted_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over-long ones, bad lines and those without an answer are told, with the line; and there is an end."""
    monkeypatch.setattr(chat, "TOGETHER", 2)
    lines = [
        talk("q", "a"), "not json", talk("long " * 90, "a"), {"messages": [{"role": "user", "content": "q"}]},
        {"messages": "none"}, talk("q", "b"), talk("q", "c"),
    ]  # fmt: skip
    report = packed(tmp_path, lines, length=99)
    assert (report.conversations, report.packed) == (7, 3)
    assert report.dropped == {"bad_line": 2, "nothing_to_learn": 1, "too_long": 1}
    assert [sample.split(": ")[1] for sample in report.samples] == ["bad_line", "nothing_to_learn", "bad_line"]
    assert "talks.jsonl:2: " in report.samples[0]


def test_a_long_conversation_is_cut_when_asked(tmp_path: Path) -> None:
    report = packed(tmp_path, [talk("q", "long " * 90), talk("long " * 90, "a")], length=99, long="truncate")
    assert report.packed == 1, "of the other one nothing to learn is left"
    assert report.dropped == {"nothing_to_learn": 1}
    assert report.account["cropped"] > 300


def test_when_nothing_is_left_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no conversation can be used"):
        packed(tmp_path, ["{}"])
    assert not (tmp_path / "talks.parquet").exists()
