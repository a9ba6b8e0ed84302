"""Conversations from a file to rows: every line accounted for, masks on what the assistant says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from corpora import EOT, byte_tokenizer
from tokenizers import Tokenizer

from gristmill import plugins
from gristmill.chat import conversations
from gristmill.chat.conversations import ChatReport, pack_conversations
from gristmill.chat.sft import Sft
from gristmill.errors import ConfigError, InputError
from gristmill.readers.loader import Loader
from gristmill.readers.rows import Rows
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


def packed(folder: Path, lines: list[Any], output: str = "talks.parquet", **settings: Any) -> ChatReport:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "talks.jsonl").write_text(text + "\n\n")
    (folder / "loaded").mkdir(exist_ok=True)
    encoder = tokenizer(folder)
    format = "parquet_rows" if output.endswith(".parquet") else "olmo"
    return pack_conversations(
        [folder / "talks.jsonl"], folder / "loaded", encoder, Sft(**settings), folder / output, format=format
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


def test_olmo_gets_the_same_rows_with_every_conversation_before_its_end(tmp_path: Path) -> None:
    """OLMo-core takes an id of end of text for the last of a document; ours stand first. A mask that did not move with
    its ids would learn the question's last id and not the answer's."""
    lines = [talk(f"q{number}" * (number % 5), f"a{number}" * (1 + number % 7)) for number in range(60)]
    assert packed(tmp_path, lines, length=127) == packed(tmp_path, lines, "olmo", length=127)
    samples = Rows(tmp_path / "talks.parquet")
    rows = samples.read(np.arange(samples.blocks.sum()))
    settings = yaml.safe_load((tmp_path / "olmo" / "olmo-core.yaml").read_text())["dataset"]
    assert settings["sequence_length"] == 128
    ids = np.fromfile(settings["paths"][0], settings["dtype"]).reshape(-1, 128)
    mask = np.fromfile(settings["label_mask_paths"][0], bool).reshape(-1, 128)
    assert np.array_equal(ids[:, :-1], rows.ids[:, 1:])
    assert np.array_equal(mask[:, :-1], rows.mask[:, 1:])
    assert (ids[:, -1] == EOT).all()
    assert not mask[:, -1].any()
    documents = [piece for row in ids for piece in np.split(row, np.flatnonzero(row == EOT)) if (piece != EOT).any()]
    assert len(documents) == 60


def test_olmo_gets_no_file_when_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"talks\.jsonl: no conversation can be used"):
        packed(tmp_path, ["{}"], "olmo")
    assert not list((tmp_path / "olmo").rglob("*.*"))


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no format 'mds' of conversations; there are: parquet_rows, olmo"):
        pack_conversations([], tmp_path, tokenizer(tmp_path), Sft(), tmp_path / "x", format="mds")


@pytest.mark.parametrize("indent", [None, 1])
def test_conversations_in_an_array_are_read_as_from_lines(tmp_path: Path, indent: int | None) -> None:
    """An array of conversations was one bad line, an indented one as many as it has lines."""
    talks = [talk(f"q{n}", f"a{n}") for n in range(5)]
    by_line = packed(tmp_path, talks)
    rows = (tmp_path / "talks.parquet").read_bytes()
    report = packed(tmp_path, ["\ufeff" + json.dumps(talks, indent=indent)])
    assert (report.packed, report.dropped) == (by_line.packed, {})
    assert (tmp_path / "talks.parquet").read_bytes() == rows


def test_every_line_is_accounted_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over-long ones, bad lines and those without an answer are told, with the line; and there is an end."""
    monkeypatch.setattr(conversations, "TOGETHER", 2)
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
