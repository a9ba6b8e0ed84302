"""Two texts as one, with the words that only one of them has in brackets."""

import re
from difflib import SequenceMatcher
from itertools import islice

WORDS = re.compile(r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+|[^\S\n]+|.", re.DOTALL)
"""Words; of scripts without spaces, and of punctuation, single characters."""

MOST = 20_000
"""Words compared of each text, from the first difference on: a second at the most."""

AROUND = 8
"""Words shown before and after a change, white space included."""


def word_diff(kept: str, dropped: str) -> str:
    """The changes with some words around them: ``[-only in the first-]``, ``{+only in the second+}``, and `` ... `` for
    what is equal in between. Empty where the texts are equal."""
    first, second = WORDS.findall(kept), WORDS.findall(dropped)
    if first == second:
        return ""
    alike = next((place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), None)
    start = max(0, (min(len(first), len(second)) if alike is None else alike) - AROUND)
    one, other = (list(islice(words, start, start + MOST)) for words in (first, second))
    shown = [" ... "] if start else []
    groups = list(SequenceMatcher(None, one, other).get_grouped_opcodes(AROUND))
    for number, group in enumerate(groups):
        shown += [" ... "] if number else []
        for change, a, b, c, d in group:
            if change == "equal":
                shown += one[a:b]
            else:
                shown += [f"[-{''.join(one[a:b])}-]"] if b > a else []
                shown += [f"{{+{''.join(other[c:d])}+}}"] if d > c else []
    shown += [" ... "] if groups[-1][-1][2] < len(one) else []
    cut = max(len(first), len(second)) - start - MOST
    return "".join([*shown, f" ... ({cut:,} more words not compared)" if cut > 0 else ""])
