"""Counts of a token file taken from its bytes, block by block."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xxhash

from gristmill.types import Boundary, Value

BLOCK_BYTES = 1 << 20
"""A damaged file is located to this many bytes."""


class Recount(Value, frozen=True, kw_only=True):
    """What the bytes say."""

    tokens: int
    eos: int
    max_id: int
    boundaries_wrong: list[int]
    """Indices of the given boundaries at which no document starts, or another number of documents before it ended."""


def recount(blocks: Iterator[np.ndarray], *, eot_id: int | None, eot_side: str, boundaries: list[Boundary]) -> Recount:
    """Count ids, EOTs and the highest id of a file's ``blocks`` in one pass, and look at each boundary. The first is
    the first document that starts in the file: where ids stand before it, the EOT that ends them is none of its own."""
    marks = np.array([boundary.token for boundary in boundaries], np.int64)
    ordinals = np.array([boundary.document for boundary in boundaries], np.int64)
    tokens = eos = 0
    max_id = -1
    wrong: list[int] = []
    before = True  # a document may start at 0
    begun = int(eot_side == "append" and len(marks) > 0 and marks[0] > 0)
    for block in blocks:
        ends = block == eot_id if eot_id is not None else np.zeros(len(block), bool)
        low, high = np.searchsorted(marks, [tokens, tokens + len(block)])
        if eot_side != "none":
            for number in range(low, high):
                at = int(marks[number] - tokens)
                seen = eos + int(np.count_nonzero(ends[:at]))
                starts = bool(ends[at]) if eot_side == "prepend" else (bool(ends[at - 1]) if at else before)
                if not starts or seen - begun != ordinals[number]:
                    wrong.append(number)
        if len(block):
            max_id = max(max_id, int(block.max()))
            before = bool(ends[-1])
        eos += int(np.count_nonzero(ends))
        tokens += len(block)
    wrong += range(int(np.searchsorted(marks, tokens)), len(marks))
    return Recount(tokens=tokens, eos=eos, max_id=max_id, boundaries_wrong=wrong)


def block_digests(path: Path) -> list[str]:
    """xxh3_64 of every ``BLOCK_BYTES`` of a file, in hex."""
    found = []
    with path.open("rb") as file:
        while data := file.read(BLOCK_BYTES):
            found.append(xxhash.xxh3_64_hexdigest(data))
    return found
