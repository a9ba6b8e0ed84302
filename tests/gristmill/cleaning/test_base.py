from typing import get_args

import pyarrow.compute as pc
import pytest
from texts import documents, sample

from gristmill import plugins
from gristmill.cleaning.base import Cleaner, verdicts
from gristmill.cleaning.gopher_quality import GopherQuality
from gristmill.cleaning.gopher_repetition import GopherRepetition
from gristmill.cleaning.length import Length
from gristmill.cleaning.repeated_lines import RepeatedLines
from gristmill.sources.base import Genre

FILTERS = [Length(min_chars=100), RepeatedLines(max_repeats=3), GopherQuality(), GopherRepetition()]


def test_verdicts_are_those_of_one_filter_after_the_other() -> None:
    """A document counted by two filters breaks the sum of documents in, out and dropped."""
    batch = documents(sample())
    left, wanted = batch, []
    for cleaner in FILTERS:
        reasons = cleaner.reasons(left)
        wanted.append(dict(zip(left["id"].to_pylist(), reasons.to_pylist(), strict=True)))
        left = left.filter(pc.is_null(reasons))
    for found, expected in zip(verdicts(FILTERS, batch), wanted, strict=True):
        pairs = zip(batch["id"].to_pylist(), found.reasons.to_pylist(), strict=True)
        assert {name: why for name, why in pairs if why} == {name: why for name, why in expected.items() if why}
        assert any(expected.values())


@pytest.mark.parametrize("kind", plugins.kinds("cleaning"))
def test_presets_are_of_genres_and_fields_that_there_are(kind: str) -> None:
    """A preset for ``novel``, or of a value that its field refuses, would be found by the one user who needs it."""
    found = plugins.find("cleaning", kind)
    assert issubclass(found, Cleaner)
    assert set(found.genres) <= set(get_args(Genre))
    for preset in found.genres.values():
        assert preset
        settings = found.parse(preset).settings()
        assert all(settings[name] == value for name, value in preset.items())


def test_a_genre_changes_what_nobody_set_and_remembers_what_was() -> None:
    """A preset over a setting drops documents against the user's word; one that passes for a setting stays for good."""
    assert Length().for_genre("book").min_chars == 500
    assert Length(max_chars=900).for_genre("book") == Length(min_chars=500, max_chars=900)
    assert Length(max_chars=900).for_genre("book").model_fields_set == {"max_chars"}
    assert Length(min_chars=200).for_genre("book").min_chars == 200
    assert Length().for_genre("book").for_genre("forum").min_chars == 50
    assert RepeatedLines().for_genre("wiki") == RepeatedLines()
