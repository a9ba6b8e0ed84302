"""Characters that no reader sees: controls go, and every line ends in one newline character."""

import numpy as np
import pyarrow as pa

from gristmill.cleaning._utf8 import NEWLINE, TAB, newlines, view, without
from gristmill.cleaning.base import Rule

C1_LEAD = 0xC2
"""U+0080 to U+009F are the byte 0xC2 and a byte below 0xA0."""
_KEPT, _GONE, _LEAD = range(3)
_CLASSES = np.full(256, _KEPT, np.uint8)
_CLASSES[[*range(32), 127]] = _GONE
_CLASSES[[TAB, NEWLINE]] = _KEPT
_CLASSES[C1_LEAD] = _LEAD


class Control(Rule):
    """Removes the characters of category Cc except tab and newline; CRLF and a lone CR become one newline each.

    The line ends are settled first, so a control character between CR and LF leaves two newlines.
    """

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        texts = newlines(texts)
        utf8 = view(texts)
        classes = _CLASSES[utf8.data]
        found = np.flatnonzero(classes)
        classes = classes[found]
        leads = found[classes == _LEAD]
        leads = leads[utf8.data[leads + 1] < 0xA0]
        gone = found[classes == _GONE]
        return without(utf8, np.sort(np.concatenate((gone, leads, leads + 1)))) if len(gone) + len(leads) else texts
