"""One spelling for each character: the Unicode normalisation forms."""

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.cleaning._utf8 import rows, view
from gristmill.cleaning.base import Rule

FIRST_ACTIVE = {"NFC": 0xCC, "NFD": 0xC3, "NFKC": 0xC2, "NFKD": 0xC2}
"""UTF-8 bytes below this never change under the form: they stop before U+0300, U+00C0 and U+00A0."""


class Unicode(Rule):
    """Normalises texts to ``form`` (Unicode Standard Annex 15), by the tables of Arrow's utf8proc.

    NFC and NFD keep the meaning of every character; NFKC and NFKD also replace compatibility characters (full-width
    letters, ligatures, superscripts), which loses distinctions such as that between ``x2`` and ``x`` squared.
    """

    form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFC"

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        utf8 = view(texts)
        active = np.flatnonzero(self._active()[utf8.data])
        if len(active) == 0:
            return texts
        # Arrow takes 7 ms per MB: only the documents with a character that may change pay it.
        chosen = np.zeros(len(texts), np.bool_)
        chosen[rows(active, utf8.offsets)] = True
        mask = pa.array(chosen)
        return pc.replace_with_mask(texts, mask, pc.utf8_normalize(texts.filter(mask), self.form))

    def _active(self) -> np.ndarray:
        """For each UTF-8 byte, whether a character with it may change."""
        active = np.arange(256) >= FIRST_ACTIVE[self.form]
        if self.form == "NFC":
            # Cyrillic, Han from U+4000 and Hangul U+B000 to U+DFFF: full blocks whose characters are all composed.
            active[[0xD0, 0xD1, *range(0xE4, 0xEA), 0xEB, 0xEC, 0xED]] = False
        return active
