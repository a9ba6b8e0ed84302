"""Every document is published, dropped with a reason or quarantined, and every table says the same."""

import json
import re
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import regex
from corpora import documents_of, published, reports, request, write_documents
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.types import Manifest

TEXT = st.one_of(
    st.sampled_from(
        ["", " ", "\t\n", "\u00a0\u2003", "\x00", "\u200b\u3164", "<|endoftext|>", "e\u0301", "a  b", "a b", " a b\n"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text("ab \n", max_size=6),
)
FILES = st.lists(st.lists(TEXT, max_size=8), min_size=1, max_size=4)
UNSEEN = regex.compile(r"[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*")
LONG = {"kind": "length", "min_chars": 3}
SHORT = {"kind": "length", "min_chars": 0, "max_chars": 9}
RULES = st.lists(st.sampled_from([{"kind": "unicode"}, LONG, SHORT]), max_size=2)
ORDER = st.sampled_from(["input", "nanogpt", "hashed"])
SPLIT = st.sampled_from([{"kind": "none"}, {"kind": "fraction", "fraction": 0.3}, {"kind": "last_shard"}])


def slow_clean(text: str, rules: list[dict[str, Any]]) -> str | None:
    """The text after the rules, or None where one drops it; blank at the end is dropped too."""
    for rule in rules:
        if rule["kind"] == "unicode":
            text = unicodedata.normalize("NFC", text)
        elif not rule["min_chars"] <= len(text) <= rule.get("max_chars", len(text)):
            return None
    return None if UNSEEN.fullmatch(text) else text


def slow_prepare(sources: list[tuple[list[list[str]], list[dict[str, Any]]]], dedup: bool) -> list[str]:
    """The documents kept, in input order: what a loop over all of them gives."""
    seen: set[str] = set()
    kept = []
    for files, rules in sources:
        for text in (text for file in files for text in file if text):
            cleaned = slow_clean(text, rules)
            if cleaned is None:
                continue
            normal = re.sub(r"[ \t\n\r\f\v]+", " ", cleaned).strip(" ")
            if not dedup or normal not in seen:
                kept.append(cleaned)
            seen.add(normal)
    return kept


def check_accounts(config: PrepareConfig, manifest: Manifest) -> None:
    """Reports, shards, sources, files and totals tell one story."""
    for report in reports(config):
        accounted = report.docs_out + sum(report.dropped.values()) + report.quarantined
        assert report.docs_in == accounted, report
        assert report.quarantined == sum(report.quarantine_reasons.values()), report
    shards, totals = manifest.source_shards, manifest.totals
    for shard in shards:
        assert shard.documents == shard.kept + sum(shard.dropped.values()) + sum(shard.quarantined.values())
    assert totals["input_documents"] == sum(shard.documents for shard in shards)
    assert totals["documents"] == sum(shard.kept for shard in shards)
    assert totals["tokens"] == sum(shard.tokens for shard in shards)
    assert Counter(manifest.dropped) == sum((Counter(shard.dropped) for shard in shards), Counter())
    assert Counter(manifest.quarantined) == sum((Counter(shard.quarantined) for shard in shards), Counter())
    assert sum(source["documents"] for source in manifest.sources.values()) == totals["documents"]
    assert sum(source["tokens"] for source in manifest.sources.values()) == totals["tokens"]
    assert sum(file.documents for file in manifest.files) == sum(file.eos for file in manifest.files)
    assert sum(file.eos for file in manifest.files) == totals["documents"]
    assert sum(file.tokens - file.eos for file in manifest.files) == totals["tokens"]
    for file in manifest.files:
        assert file.tokens * 2 == file.bytes == (Path(config.destination) / file.path).stat().st_size


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FILES, FILES, RULES, RULES, st.booleans(), ORDER, SPLIT)
@example([["a b", "a  b"]], [["a b"]], [], [], True, "hashed", {"kind": "fraction", "fraction": 0.3})
def test_published_documents_are_those_of_a_slow_loop(
    web: list[list[str]],
    books: list[list[str]],
    rules: list[dict[str, Any]],
    book_rules: list[dict[str, Any]],
    dedup: bool,
    ordering: str,
    split: dict[str, Any],
) -> None:
    """Any corpus, cut into any files: no document lost, repeated, changed or put in the wrong account."""
    wanted = slow_prepare([(web, rules), (books, book_rules)], dedup)
    if not wanted or not any(web) or not any(books):  # a source of empty files alone is refused
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source, files in (("web", web), ("books", books)):
            for number, texts in enumerate(files):
                write_documents(folder / source / f"{number}.jsonl", texts)
        config = request(
            folder,
            sources=[
                {"kind": "files", "name": "web", "paths": [str(folder / "web")]},
                {"kind": "files", "name": "books", "paths": [str(folder / "books")], "cleaning": book_rules},
            ],
            cleaning=rules,
            dedup=[{"kind": "exact"}] if dedup else [],
            ordering={"kind": ordering},
            split=split,
            max_quarantined_share=1.0,
        )
        manifest = pipeline.prepare(config)
        found = published(config)
        assert sorted(found) == sorted(wanted)
        if ordering == "input" and split["kind"] == "none":
            assert found == wanted
        check_accounts(config, manifest)


def test_a_document_cut_by_a_character_split_is_counted_once(tmp_path: Path) -> None:
    """It stands in both files with its EOT, but is one document; counted twice, sums no longer match or a run fails."""
    write_documents(tmp_path / "in" / "a.jsonl", ["abcdefgh", "ijklmnop"])
    config = request(tmp_path, split={"kind": "characters", "fraction": 0.25})
    manifest = pipeline.prepare(config)
    folder = tmp_path / "out" / "nanogpt"
    assert documents_of(folder / "train.bin") == ["abcdefgh", "ijkl"]
    assert documents_of(folder / "val.bin") == ["mnop"]
    assert manifest.totals["documents"] == 2
    assert manifest.sources == {"web": {"documents": 2, "tokens": 16}}
    assert [file.eos for file in manifest.files] == [2, 1]


def test_quarantined_documents_are_counted_by_reason_and_published_beside_the_data(tmp_path: Path) -> None:
    """What could not be used must be found again by file and line, not only as a number."""
    path = write_documents(tmp_path / "in" / "a.jsonl", ["good"] * 7)
    path.write_bytes(path.read_bytes() + b'{"text": 1}\n{"text": "cut\n{"other": "x"}\n')
    config = request(tmp_path, max_quarantined_share=0.5)
    manifest = pipeline.prepare(config)
    assert manifest.quarantined == {"json_syntax": 1, "missing_text": 1, "non_string_text": 1}
    check_accounts(config, manifest)
    listed = [file.path for file in manifest.attachments if "quarantine" in file.path]
    with pa.input_stream(str(tmp_path / "out" / listed[0]), compression="zstd") as stream:
        lines = [json.loads(line) for line in stream.read().splitlines()]
    assert [(line["place"], line["reason"], line["uri"]) for line in lines] == [
        ("line 8", "non_string_text", str(path)),
        ("line 9", "json_syntax", str(path)),
        ("line 10", "missing_text", str(path)),
    ]
