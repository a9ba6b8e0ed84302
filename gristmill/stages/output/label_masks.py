"""Label masks of token files: described where they are published, made again where they are verified."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill.formats.base import raw_blocks
from gristmill.stages.output.recount import block_digests
from gristmill.types import LabelMask, PublishedFile

WORDS = {0: "hidden", 1: "to learn"}
"""What a byte of a mask says of its id."""


def as_bytes(blocks: Iterator[np.ndarray]) -> Iterator[bytes]:
    """Blocks of bool as they stand in a file."""
    return (block.tobytes() for block in blocks)


def label_mask(path: Path, name: str) -> LabelMask:
    """The manifest's record of the mask in the file ``path``, published as ``name``; counted from its bytes."""
    hidden = sum(int(np.count_nonzero(block == 0)) for block in raw_blocks(path, np.dtype("u1")))
    return LabelMask(path=name, hidden=hidden, blocks=block_digests(path))


def wrong_mask(path: Path, name: str, file: PublishedFile, wanted: Iterator[np.ndarray]) -> list[str]:
    """What is wrong with the mask of ``file`` in ``path``, published as ``name``, against ``wanted``, made again from
    the ids. Empty where the file is missing or of another size: its sum tells that."""
    assert file.mask is not None, "called for a file with a mask"
    if not path.is_file() or path.stat().st_size != file.tokens:
        return []
    position = hidden = 0
    with path.open("rb") as stream:
        for block in wanted:
            values = block.view("u1")
            found = np.frombuffer(stream.read(len(values)), "u1")
            wrong = np.flatnonzero(found != values)
            if wrong.size:
                at = int(wrong[0])
                said = WORDS.get(int(found[at]), f"byte {found[at]}")
                return [f"{name}: id number {position + at}: {said}; expected {WORDS[int(values[at])]} by its ids"]
            position, hidden = position + len(values), hidden + int(np.count_nonzero(values == 0))
    if hidden != file.mask.hidden:
        return [f"{name}: {hidden} ids hidden; expected {file.mask.hidden}"]
    return []
