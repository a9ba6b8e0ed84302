import pyarrow.compute as pc
from texts import documents, sample

from gristmill.cleaning.base import verdicts
from gristmill.cleaning.gopher_quality import GopherQuality
from gristmill.cleaning.gopher_repetition import GopherRepetition
from gristmill.cleaning.length import Length
from gristmill.cleaning.repeated_lines import RepeatedLines

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
        pairs = zip(batch["id"].to_pylist(), found.to_pylist(), strict=True)
        assert {name: why for name, why in pairs if why} == {name: why for name, why in expected.items() if why}
        assert any(expected.values())
