"""What is shown of two texts that are nearly the same."""

import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.commands.word_diff import word_diff

WORD = st.lists(st.sampled_from(["one", "two", "three", " ", "\n", ". ", "\u4e2d"]), max_size=30).map("".join)


@pytest.mark.parametrize(
    ("kept", "dropped", "shown"),
    [
        ("the same", "the same", ""),
        ("a b c", "a x c", "a [-b-]{+x+} c"),
        ("a b", "a b c", "a b{+ c+}"),
        ("\u4e2d\u6587\u5b57", "\u4e2d\u65e5\u5b57", "\u4e2d[-\u6587-]{+\u65e5+}\u5b57"),
        ("a  b", "a b", "a[-  -]{+ +}b"),
        ("", "a", "{+a+}"),
    ],
)
def test_changes_are_marked(kept: str, dropped: str, shown: str) -> None:
    """Whole sentences beside each other hide the one word that differs; scripts without spaces have words too."""
    assert word_diff(kept, dropped) == shown


def test_far_from_a_change_words_are_left_out() -> None:
    """A page with one changed word would be shown whole."""
    words = [f"w{number}" for number in range(300)]
    other = [*words]
    other[150] = "new"
    assert word_diff(" ".join(words), " ".join(other)) == (
        " ...  w146 w147 w148 w149 [-w150-]{+new+} w151 w152 w153 w154 ... ".replace("...  ", "... ")
    )


@given(WORD, WORD)
def test_both_texts_can_be_read_out_of_it(kept: str, dropped: str) -> None:
    """A word that is marked on the wrong side, or lost, tells a wrong story."""
    found = word_diff(kept, dropped)
    if found and " ... " not in found:
        assert re.sub(r"\{\+.*?\+\}", "", found, flags=re.DOTALL).replace("[-", "").replace("-]", "") == kept
        assert re.sub(r"\[-.*?-\]", "", found, flags=re.DOTALL).replace("{+", "").replace("+}", "") == dropped
    assert bool(found) == (kept != dropped)


def test_megabytes_are_compared_in_seconds() -> None:
    """Two long documents that share few words took minutes."""
    chance = np.random.default_rng(0)
    kept, dropped = (" ".join(f"w{number}" for number in chance.integers(0, 500, 200_000)) for _ in range(2))
    start = time.process_time()
    found = word_diff(kept, dropped)
    assert time.process_time() - start < 5
    assert re.search(r"\.\.\. \([\d,]+ more words not compared\)$", found)
