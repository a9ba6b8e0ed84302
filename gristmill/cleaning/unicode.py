"""One spelling for each character: the Unicode normalisation forms."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning._combining import crowded, sorted_marks
from gristmill.cleaning._utf8 import Bools, Ints, Utf8, rows, view
from gristmill.cleaning.base import Rule
from gristmill.columns import strings
from gristmill.errors import InputError

FIRST_ACTIVE = {"NFC": 0xCC, "NFD": 0xC3, "NFKC": 0xC2, "NFKD": 0xC2}
"""UTF-8 bytes below this never change under the form: they stop before U+0300, U+00C0 and U+00A0."""
COMPOSED = (0xD0, 0xD1, *range(0xE4, 0xEA), 0xEB, 0xEC, 0xED)
"""First bytes of blocks that are full and that NFC leaves alone: Cyrillic, Han from U+4000, Hangul from U+B000."""
E2_ACTIVE = (0x83, 0x84, 0x8C, 0xAB, 0xB3, 0xB5, 0xB7)
"""Second bytes after 0xE2 with characters that NFC changes, besides U+2000 and U+2001 after 0x80."""


class Unicode(Rule):
    """Normalises texts to ``form`` (Unicode Standard Annex 15), by the tables of Arrow's utf8proc.

    NFC and NFD keep the meaning of every character; NFKC and NFKD also replace compatibility characters (full-width
    letters, ligatures, superscripts), which loses distinctions such as that between ``x2`` and ``x`` squared. Takes
    time linear in the text, whatever it holds. Raises ``InputError`` when the texts of a batch become more than 2 GiB.
    """

    form: Literal["NFC", "NFD", "NFKC", "NFKD"] = Field("NFC", description="Normalisation form.")

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        utf8 = view(texts)
        active = self._active(utf8)
        if len(active) == 0:
            return texts
        # Arrow takes 7 ms per MB: only documents with a character that may change pay it.
        chosen = np.zeros(len(texts), np.bool_)
        chosen[rows(active, utf8.offsets)] = True
        mask = pa.array(chosen)
        changing = texts.filter(mask)
        if close := crowded(active, utf8):
            changing = self._eased(changing, [row in close for row in np.flatnonzero(chosen).tolist()])
        # Long offsets: a ligature may become eleven times its bytes, and short offsets would wrap without a word.
        normal = pc.utf8_normalize(changing.cast(pa.large_string()), self.form)
        try:
            return pc.replace_with_mask(texts.cast(pa.large_string()), mask, normal).cast(pa.string())
        except pa.ArrowInvalid as error:
            message = f"unicode: {texts.nbytes} bytes of text become more than 2 GiB in form {self.form}"
            raise InputError(f"{message}; lower limits.document_chars of the source", "limit") from error

    def _eased(self, texts: pa.StringArray, close: Sequence[bool]) -> pa.StringArray:
        """Texts of the same form that the normaliser is quick with; ``close``: which ones to look at."""
        values = texts.filter(pa.array(close, pa.bool_())).to_pylist()
        return pc.replace_with_mask(
            texts, pa.array(close, pa.bool_()), strings([sorted_marks(text, self.form) for text in values])
        )

    def _active(self, utf8: Utf8) -> Ints:
        """First bytes of the characters that may change."""
        table = np.arange(256) >= FIRST_ACTIVE[self.form]
        if self.form != "NFC":
            return np.flatnonzero(table[utf8.data])
        table[list(COMPOSED)] = False
        found = np.flatnonzero(table[utf8.data])
        return found[_may_compose(utf8.data, found)]


def _may_compose(data: np.ndarray, firsts: Ints) -> Bools:
    """False for typographic quotes, dashes, arrows and frames, the most common characters after letters."""
    possible = np.ones(len(firsts), np.bool_)
    e2 = np.flatnonzero(data[firsts] == 0xE2)
    second, third = data[firsts[e2] + 1], data[firsts[e2] + 2]
    possible[e2] = np.isin(second, E2_ACTIVE) | ((second == 0x80) & (third <= 0x81))
    return possible
