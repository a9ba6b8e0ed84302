"""What the tests read: a tokenizer, hard inputs and texts in ``tests/data``, and texts made from them."""

import atexit
import base64
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import pre_tokenizers

DATA = Path(__file__).resolve().parents[1] / "data"
GPT2 = DATA / "gpt2.json"
HARD = DATA / "hard-inputs"
SHAKESPEARE = DATA / "tinyshakespeare.txt"
SHARED = DATA.parents[1].parent / "shared"
"""A folder beside the project with a large corpus and more tokenizers; a clone does not have it."""

needs_shared = pytest.mark.shared
"""For a test that reads ``SHARED``: left out, with the reason, where that folder is not there."""


def _page(scene: str, chance: Random) -> str:
    """A scene as a page of the web has it: menu, links, an address, a list, a template, code and a notice around it."""
    number, lines = chance.randrange(1000), scene.split("\n")
    menu = chance.choice(["Home\nAbout\nContact us\nSign in", "Skip to content\nMenu\nMenu\nMenu", ""])
    link = f"See https://example.org/plays/{number}?page=2#top or write to player.{number}@theatre.example for more."
    items = "\n".join(f"- {line}..." for line in lines[2:8])
    end = chance.choice(
        [
            "Read more...\nThis site uses cookies. Please enable javascript.\nTerms of use. Privacy policy.",
            "if (page) {\n\treturn page.scenes[0];  // the first\n}",
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit.",
            "#" * 40 + "\n" + "* * *\n" * 12,
        ]
    )
    return "\n".join([menu, *lines[:20], link, items, end])


@cache
def real_texts() -> tuple[str, ...]:
    """Some 1,000 texts of 100 to 6,000 characters: scenes of Shakespeare, one in eight as a page of the web, and as
    many declarations in twelve languages. One text in fifty is repeated with a word changed."""
    chance = Random(2357)
    speeches = SHAKESPEARE.read_text(encoding="utf-8").split("\n\n")
    rows = (DATA / "declaration.jsonl").read_text(encoding="utf-8").splitlines()
    declarations = [json.loads(row)["text"].split("\n") for row in rows]
    articles = ["\n".join(lines[first : first + 9]) for first in range(0, 90, 9) for lines in declarations]
    texts: list[str] = []
    while speeches:
        count = chance.choice([1, 2, 4, 8, 12, 16])
        scene, speeches = "\n\n".join(speeches[:count]), speeches[count:]
        texts += [scene] if len(scene) >= 100 else []
        if len(texts) % 8 == 7 and articles:
            texts += [articles.pop(0), _page(scene, chance)]
        if len(texts) % 50 == 49:
            texts.append(scene.replace(" the ", " that ", 1))
    return tuple(texts)


ODD = [
    *(
        "",
        " ",
        "\n",
        "\r\n",
        "\t \t",
        "x",
        "'",
        "don't WE'LL 's'S",
        "\ufeffstart",
        "mid\ufeffdle",
        "\u200b\u200b",
        "\x00\x07",
    ),
    *(
        "e\u0301 \u00e9 \u1e9b\u0323",
        "\ufb01\u2167\u00bd\u0663\u0969",
        "\uff11\uff12\u3000\uff21",
        "\u2028a\u2029b\u0085c",
    ),
    *(
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7 \u2764\ufe0f",
        "\U00010348\U00012000\U00020000",
        "\ufffd\ufffe",
    ),
    *(
        "<|endoftext|>",
        "a<|endoftext|>b<|fim_prefix|>",
        "<s></s><unk><pad>",
        "[INST] <|im_start|>user",
        "\u1112\u1161\u11ab \ud55c",
    ),
    *(
        "0123456789abcdef" * 200,
        "=" * 3000,
        "- " * 1500,
        " " * 4000 + "x",
        "\n \n\t" * 1000,
        "'s" * 900,
        "\u0301" * 700,
    ),
]
"""Edges of words, lines, forms and special tokens."""

BLOCKS = [0x20, 0x80, 0x180, 0x370, 0x5D0, 0x900, 0xE00, 0x10A0, 0x1100, 0x13A0, 0x1E00, 0x2000, 0x2190, 0x2460, 0x3000]
BLOCKS += [0x3130, 0x4E00, 0xA000, 0xAC00, 0xE000, 0xF900, 0xFE00, 0xFF00, 0x10000, 0x1D400, 0x1F300, 0x20000, 0xE0000]
"""First characters of the runs that odd texts draw from, each 128 long."""


@cache
def odd_texts() -> tuple[str, ...]:
    """A thousand made-up texts of up to 5,000 characters, from every script and kind of blank that has tripped a
    tokenizer or a filter."""
    chance = Random(65537)
    runs = [[chr(first + step) for step in range(128)] for first in BLOCKS]
    ends = ["", " ", "a", " 1", "\n", "!"]
    joined = [end.join(run) for run in runs for end in ends]
    pools = [
        "abcXYZ",
        " \t\n\r\u00a0\u2003\u3000\u0085\x0b\x1c",
        "0189\u00b2\u0663",
        "'\"!?.,-_<>|#",
        "\u4e2d\u6587\ud55c\u3042",
    ]
    pools += ["\u00e9\u00fc\u00df\u0430\u0411", "\U0001f44d\U0001f3fd\u200d\ufe0f", "\u0301\u0323"]
    mixed = [
        "".join(chance.choice(chance.choice(pools)) for _ in range(chance.choice([3, 12, 60, 300]))) for _ in range(500)
    ]
    strewn = [
        "".join(chance.choice(chance.choice(runs)) for _ in range(chance.choice([8, 90, 500]))) for _ in range(400)
    ]
    return (*ODD, *joined, *mixed, *strewn)


@cache
def made(name: str) -> Path:
    """The path of a file that is made for this process and removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="gristmill-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / name


@cache
def gpt2_ranks() -> Path:
    """GPT-2's vocabulary as a file of tiktoken: base64 of the bytes, and the rank, a token a line."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    byte_of = {chr(byte): byte for byte in plain}
    byte_of |= {chr(0x100 + place): byte for place, byte in enumerate(sorted({*range(256)} - {*plain}))}
    assert set(byte_of) == set(pre_tokenizers.ByteLevel.alphabet())
    ranks = json.loads(GPT2.read_text(encoding="utf-8"))["model"]["vocab"]
    rows = sorted((rank, bytes(map(byte_of.__getitem__, token))) for token, rank in ranks.items() if rank < 50256)
    path = made("r50k_base.tiktoken")
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in rows))
    return path


@cache
def wide_vocabulary() -> Path:
    """A ``tokenizer.json`` of 70,000 words, more than 16 bits hold."""
    model = {"type": "WordLevel", "vocab": {"<eod>": 0} | {f"w{n}": n for n in range(1, 70_000)}, "unk_token": "<eod>"}
    document = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
    path = made("vocab70000.tokenizer.json")
    path.write_text(json.dumps(document))
    return path


CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The expression that cuts words for dolma2 and others of its family."""

SHARED_TOKENIZERS = {
    "dolma2": "allenai_dolma2.json",
    "neox": "allenai_eleuther-ai-gpt-neox-20b-pii-special.json",
}


def _added(first: int, normalized: bool, special: bool, tokens: list[str]) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": special}
    return [{"id": first + place, "content": token} | flags for place, token in enumerate(tokens)]


@cache
def tokenizer_file(name: str) -> Path:
    """A ``tokenizer.json``: ``gpt2``; ``like_dolma2`` and ``like_neox``, the words and added tokens of those with the
    merges of GPT-2; ``dolma2`` and ``neox`` themselves, which only ``SHARED`` has."""
    if name == "gpt2":
        return GPT2
    if name in SHARED_TOKENIZERS:
        return SHARED / "fixtures" / "tokenizers" / SHARED_TOKENIZERS[name]
    document = json.loads(GPT2.read_text(encoding="utf-8"))
    private = ["|||PHONE_NUMBER|||", "|||EMAIL_ADDRESS|||", "|||IP_ADDRESS|||"]
    if name == "like_dolma2":
        split = {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Removed", "invert": True}
        bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, bytes_]}
        document["added_tokens"] += _added(50257, False, False, [*private, "<|extra_id_0|>"])
        document["added_tokens"] += _added(50261, False, True, ["<|im_start|>", "<|im_end|>", "<|pad|>"])
    else:
        document["normalizer"] = {"type": "NFC"}
        document["added_tokens"] += _added(50257, True, False, [*(" " * count for count in range(24, 1, -1)), *private])
    path = made(f"{name}.json")
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


TOKENIZERS = [
    "gpt2",
    "like_dolma2",
    "like_neox",
    *(pytest.param(name, marks=needs_shared) for name in SHARED_TOKENIZERS),
]
"""Names for ``tokenizer_file``, as a test's parameters."""
