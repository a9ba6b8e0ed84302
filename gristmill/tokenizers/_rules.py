"""Which tokenizers cut text into words in a way that is known, so that ``_cuts`` may cut it too."""

from typing import Any

from tokenizers import pre_tokenizers

from gristmill.tokenizers._cuts import AROUND, Words
from gristmill.tokenizers._encodings import ENCODINGS
from gristmill.types import Value

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
WORDS = {
    _GPT2: Words(digits=None, newlines="plain"),
    ENCODINGS["gpt2"].pattern: Words(digits=None, newlines="plain"),
    _CL100K.replace("DIGITS", "{1,3}"): Words(digits=3, newlines="gathered"),
    _CL100K.replace("DIGITS", ""): Words(digits=1, newlines="gathered"),
    ENCODINGS["cl100k_base"].pattern: Words(digits=3, newlines="unknown"),
}
"""The expressions of GPT-2 and GPT-NeoX, of dolma2 and Llama 3, of Qwen, and two as tiktoken has them."""

UNUSED = (0xC0, 0xC1, *range(0xF5, 0x100))
"""Bytes that UTF-8 does not have; GPT-NeoX lacks them."""

BYTES = set(pre_tokenizers.ByteLevel.alphabet()) - set(map(chr, UNUSED))
"""How a byte-level vocabulary writes the others; these 13 it writes as the character of their number."""


class Rules(Value, frozen=True, kw_only=True):
    """How texts of one tokenizer may be cut."""

    words: Words
    tokens: dict[int, str]
    """Added tokens that are found in a text, by their ids, which nothing else has."""


def rules_of(document: dict[str, Any]) -> Rules | None:
    """The rules for a ``tokenizer.json``; None where it is not known how its texts may be cut."""
    model, normalizer = document["model"], document.get("normalizer")
    words = WORDS.get(_expression(document.get("pre_tokenizer") or {}))
    tokens = _active(document.get("added_tokens") or [])
    odd = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    if (
        words is None
        or tokens is None
        or model.get("type") != "BPE"
        or any(model.get(name) for name in odd)
        or not model["vocab"].keys() >= BYTES
        or normalizer not in (None, {"type": "NFC"})
        or _merged(model, tokens)
    ):
        return None
    return Rules(words=words, tokens=tokens)


def rules_of_ranks(ranks: dict[bytes, int], pattern: str) -> Rules | None:
    """The same for a file of ranks with its pattern, which looks for no added tokens."""
    known = pattern in WORDS and ranks.keys() >= {bytes([byte]) for byte in range(256) if byte not in UNUSED}
    return Rules(words=WORDS[pattern], tokens={}) if known else None


def _active(added: list[dict[str, Any]]) -> dict[int, str] | None:
    """The added tokens that are found in a text, by id; None where they do more than stand for themselves."""
    active = [token for token in added if not token["special"]]
    texts = [token["content"] for token in active]
    for token in active:
        if token["single_word"] or token["lstrip"] or token["rstrip"]:
            return None
    if not all(text.isascii() and 0 < len(text) < AROUND for text in texts):
        return None
    if any(_overlap(token["content"], text) for token in added if token["special"] for text in texts):
        return None  # where a special token stands, no other is looked for
    return {token["id"]: token["content"] for token in active}


def _merged(model: dict[str, Any], tokens: dict[int, str]) -> bool:
    """Whether merges give the id of one of ``tokens`` too."""
    doubles = {text for text, number in model["vocab"].items() if number in tokens}
    pairs = model["merges"] if doubles else []
    return any((pair.replace(" ", "") if isinstance(pair, str) else "".join(pair)) in doubles for pair in pairs)


def _overlap(one: str, other: str) -> bool:
    """Whether a text can hold both at places that meet."""
    return (
        one in other
        or other in one
        or any(one.endswith(other[:n]) or other.endswith(one[:n]) for n in range(1, min(len(one), len(other))))
    )


def _expression(pre_tokenizer: dict[str, Any]) -> str:
    """The expression that cuts words for a byte-level model; empty where it is not known."""
    steps = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space", True):
        return ""
    if len(steps) == 1 and steps[0].get("use_regex", True):
        return _GPT2
    if len(steps) == 2 and steps[0]["type"] == "Split" and not steps[1].get("use_regex", True):
        whole = (steps[0]["behavior"], steps[0]["invert"]) in [("Removed", True), ("Isolated", False)]
        return str(steps[0]["pattern"].get("Regex")) if whole else ""
    return ""
