"""Characters that no reader sees: controls go, and every line ends in one newline character."""

import numpy as np
import pyarrow as pa

from gristmill.cleaning._utf8 import NEWLINE, RETURN, TAB, Utf8, before, view, without
from gristmill.cleaning.base import Rule

C1_LEAD = 0xC2
"""U+0080 to U+009F are the byte 0xC2 and a byte below 0xA0."""
_KEPT, _GONE, _LEAD, _RETURN = range(4)
_CLASSES = np.full(256, _KEPT, np.uint8)
_CLASSES[[*range(32), 127]] = _GONE
_CLASSES[[TAB, NEWLINE]] = _KEPT
_CLASSES[C1_LEAD] = _LEAD
_CLASSES[RETURN] = _RETURN


class Control(Rule):
    """Removes the characters of category Cc except tab and newline; CRLF and a lone CR become one newline each.

    The line ends are settled first, so a control character between CR and LF leaves two newlines.
    """

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        utf8 = view(texts)
        classes = _CLASSES[utf8.data]
        found = np.flatnonzero(classes)
        classes = classes[found]
        leads = found[classes == _LEAD]
        leads = leads[utf8.data[leads + 1] < 0xA0]
        returns, gone = found[classes == _RETURN], found[classes == _GONE]
        if len(returns) + len(gone) + len(leads) == 0:
            return texts
        data = utf8.data.copy()
        data[returns] = NEWLINE
        paired = returns[before(utf8, returns + 1, NEWLINE)]
        return without(Utf8(data, utf8.offsets), np.sort(np.concatenate((gone, leads, leads + 1, paired))))
