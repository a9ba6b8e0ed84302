"""A ``tokenizer.json`` changed so that text which spells a special token has other ids, those of ordinary text."""

from typing import Any

OUT_OF_REACH = "\0gristmill\0"
"""Put before the name of a piece. The tokenize stage quarantines a document that spells even this."""


def as_text(document: dict[str, Any], specials: set[str]) -> dict[str, Any]:
    """``document`` without a way from text to the pieces ``specials`` of its model; every other id stays. The same
    object where there is no such way.

    A piece of one character stays in reach: nothing else would spell that character.
    """
    model = document["model"]
    gone = _spelled_by_text(model, {special for special in specials if len(special) > 1})
    added = document.get("added_tokens") or []
    found = {token["content"] for token in added if not token["special"]} & specials
    if not gone and not found:
        return document
    # The library numbers added tokens that the model lacks in their order: those renamed come last, and shift nothing.
    added = [token | {"special": token["special"] or token["content"] in specials} for token in added]
    added.sort(key=lambda token: token["content"] in gone)
    return document | {"model": _without(model, gone), "added_tokens": added}


def _spelled_by_text(model: dict[str, Any], specials: set[str]) -> set[str]:
    """Those of ``specials`` that the model may take for a part of a text."""
    vocabulary = model["vocab"]
    there = specials & (vocabulary.keys() if isinstance(vocabulary, dict) else {piece for piece, _ in vocabulary})
    if model.get("type") != "BPE" or model.get("ignore_merges") or not there:
        return there
    return there & {_merged(merge, model) for merge in model["merges"]}


def _parts(merge: Any) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def _merged(merge: Any, model: dict[str, Any]) -> str:
    left, right = _parts(merge)
    return left + right.removeprefix(model.get("continuing_subword_prefix") or "")


def _without(model: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    """``model`` with the pieces ``gone`` under names out of reach, and without the merges that make or use them."""

    def renamed(piece: str) -> str:
        return OUT_OF_REACH + piece if piece in gone else piece

    vocabulary, changed = model["vocab"], dict(model)
    if isinstance(vocabulary, dict):
        changed["vocab"] = {renamed(piece): number for piece, number in vocabulary.items()}
    else:
        changed["vocab"] = [[renamed(piece), score] for piece, score in vocabulary]
    if "merges" in model:
        changed["merges"] = [m for m in model["merges"] if not gone & {*_parts(m), _merged(m, model)}]
    if model.get("unk_token"):
        changed["unk_token"] = renamed(model["unk_token"])
    return changed
