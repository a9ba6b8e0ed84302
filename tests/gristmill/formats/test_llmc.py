"""llm.c's shards."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from data import GPT2, SHAKESPEARE
from streams import Documents, put
from tokenizers import Tokenizer

from gristmill.errors import VerificationError
from gristmill.formats.llmc import LlmC

GOLDEN = {
    "train": ("8a70606be574040c26d225694f5f9759973b419852d22f7fe5c118e1b359dcc8", 611_544),
    "val": ("fe99db720dc7c83e694806d4e047a952909411da1daccde4ccc2e55f40882a62", 66_560),
}
"""Of the files that llm.c's ``tinyshakespeare.py`` wrote, and their sizes in its docstring."""


def test_tiny_shakespeare_is_as_llm_c_wrote_it(tmp_path: Path) -> None:
    """Each speech is a document; the first 32,768 ids are for validation, wherever that cuts."""
    encoder = Tokenizer.from_file(str(GPT2))
    text = SHAKESPEARE.read_text(encoding="utf-8")
    speeches = text.replace("\n\n", "\n\n\0").split("\0")
    ids = [token for speech in speeches for token in [50256, *encoder.encode(speech).ids]]
    for split, own in (("val", ids[:32768]), ("train", ids[32768:])):
        put(tmp_path / split, LlmC(name="tiny"), {split: Documents([own], "none")})
        path = tmp_path / split / f"tiny_{split}_{int(split == 'train'):06d}.bin"
        data = path.read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == GOLDEN[split]


def test_shards_are_exact_and_documents_go_on(tmp_path: Path) -> None:
    """Validation is shard 0; the rest of a document opens the next shard without an EOT."""
    put(tmp_path, LlmC(shard_tokens=5, least_tokens=0), {"train": Documents([[1, 2, 3], [4, 5, 6, 7, 8]], "prepend")})
    shards = [np.fromfile(tmp_path / f"tokens_train_{number:06d}.bin", "<u2")[512:].tolist() for number in (1, 2)]
    assert shards == [[0, 1, 2, 3, 0], [4, 5, 6, 7, 8]]


def test_what_is_too_little_for_a_step_joins_the_shard_before(tmp_path: Path) -> None:
    """The C loader stops at a shard with fewer ids than one step needs."""
    put(tmp_path, LlmC(shard_tokens=5, least_tokens=3), {"train": Documents([list(range(1, 11))], "prepend")})
    header = np.fromfile(tmp_path / "tokens_train_000002.bin", "<i4", 3)
    assert header.tolist() == [20240520, 1, 6]
    assert not (tmp_path / "tokens_train_000003.bin").exists()


def test_a_header_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Trailing bytes: modded-nanogpt reads over them, llm.c stops."""
    put(tmp_path, LlmC(), {"val": Documents([[1, 2]], "prepend")})
    path = tmp_path / "tokens_val_000000.bin"
    path.write_bytes(path.read_bytes() + b"\0\0")
    with pytest.raises(VerificationError, match=r"no header of llm\.c for 4 uint16 ids"):
        list(LlmC().blocks(path, np.dtype("<u2")))
