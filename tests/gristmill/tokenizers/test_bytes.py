"""One id a byte."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT

from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.bytes import Bytes


def made(folder: Path) -> Encoder:
    Bytes().prepare([], folder)
    assert (folder / Bytes().load(folder).file).is_file()
    return Bytes().load(folder)


@given(st.lists(ANY_TEXT))
def test_ids_are_the_bytes_of_each_text(texts: list[str]) -> None:
    """Offsets in characters instead of bytes would cut every text that is not ASCII."""
    encoder = Bytes().load(Path())
    encoded = encoder.encode(texts)
    assert encoded.ids.dtype == np.uint32
    assert [part.tolist() for part in np.split(encoded.ids, encoded.offsets[1:-1])] == [
        list(text.encode()) for text in texts
    ] or not texts
    assert encoded.offsets.tolist() == np.cumsum([0, *(len(text.encode()) for text in texts)]).tolist()
    assert encoder.decode(encoded.ids) == "".join(texts)


def test_the_end_of_text_has_an_id_of_its_own_that_no_text_gives(tmp_path: Path) -> None:
    encoder = made(tmp_path)
    assert encoder.eot_id == 256
    assert encoder.vocab_size == 257
    assert encoder.encode(["<|endoftext|>\xff\x00"]).ids.max() < 256
    assert encoder.decode(np.array([104, 105, 256, 33, 256])) == "hi<|endoftext|>!<|endoftext|>"


def test_a_window_that_cuts_a_character_can_be_shown(tmp_path: Path) -> None:
    """Three windows are shown after every run; they begin anywhere."""
    assert made(tmp_path).decode(np.frombuffer("\u4e2d!".encode()[1:], np.uint8).astype(np.uint32)).endswith("!")
