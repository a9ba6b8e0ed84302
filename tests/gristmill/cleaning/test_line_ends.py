"""Every kind of rule and filter, on the same texts with other line ends."""

import itertools
from pathlib import Path

import pytest
from texts import documents, strings

from gristmill import plugins
from gristmill.cleaning._utf8 import newlines
from gristmill.cleaning.base import Filter, Rule, verdicts
from gristmill.cleaning.python import ALLOWED

LINE = "The river runs slowly past the old houses, and in the evening they come down to swim in it."
PARTS = {
    "prose": f"{LINE}\n\nHome\n{LINE[:40]}\n\n\nShare\nIt was so {LINE}\n",
    "list": "- one\n- two ...\n\n- three\n" * 9,
    "short": "ab\ncd\nef",
    "repeated": f"{LINE}\n" * 7,
    "indented": "if a:\n    b  =  1   \n\n\n\telse\n" * 3,
    "page": "<html><p>One\ntwo</p>\n<pre>a\n  b</pre>\n<div>three</div></html>",
    "mojibake": "caf\u00c3\u00a9 and th\u00c3\u00a8se\nplain\n\u00e2\u20ac\u0153quoted\u00e2\u20ac\u009d\n",
    "mails": "write to a@b.org\nor 10.0.0.1\nor www.b.org\n\U0001f600\n",
    "phrase": "buy now\nat our casino\n",
    "wrapped": f"{LINE}\n{LINE[:50]}\n{LINE[50:]} lorem ipsum {{",
    "blank": " \n\n \n",
}
TEXTS = [first + second for first, second in itertools.product(PARTS.values(), repeat=2)]
NEEDED = {
    "language": {"languages": ["en"]},
    "stop_phrases": {"phrases": ["casino", "now\nat"]},
    "numeric": {"column": "score", "min": 1},
    "python": {"function": "lined:judge"},
}
ELSEWHERE = {"model_score": "needs a model; its texts are those of every filter"}
SETTINGS = [
    (kind, settings)
    for kind in plugins.kinds("cleaning")
    if kind not in ELSEWHERE
    for settings in [
        NEEDED.get(kind, {}),
        *({"length": [{"min_chars": 100}], "html": [{"extract": "main"}]}).get(kind, []),
    ]
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_how_lines_end_changes_no_verdict_and_no_line(
    kind: str, settings: dict[str, object], end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus from Windows lost other documents, and kept other lines, than the same corpus with line feeds."""
    (tmp_path / "lined.py").write_text("def judge(text):\n    return text.count('\\n') < 9 or 'many'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(ALLOWED, "lined")
    other = [text.replace("\n", end) for text in TEXTS]
    cleaner = plugins.load("cleaning", {"kind": kind, **settings})
    if isinstance(cleaner, Rule):
        wanted = cleaner.rewrite(strings(TEXTS))
        assert newlines(cleaner.rewrite(strings(other))).to_pylist() == newlines(wanted).to_pylist()
        return
    assert isinstance(cleaner, Filter)
    columns: dict[str, list[str | None]] = {"score": ["1", "0"] * 60 + ["2"], "url": ["http://a.org"] * len(TEXTS)}
    (found,) = verdicts([cleaner], documents(other, **columns))
    (wanted,) = verdicts([cleaner], documents(TEXTS, **columns))
    assert found.reasons.to_pylist() == wanted.reasons.to_pylist()
    assert kind == "domains" or len(set(wanted.reasons.to_pylist())) > 1
