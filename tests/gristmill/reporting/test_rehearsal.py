"""The verdict on each figure of a rehearsal, at its bounds, and the arithmetic of what the whole corpus takes."""

from typing import Any

import msgspec
import pytest
from manifests import token_file

from gristmill.reporting.forecast import Sampled, hours, projections
from gristmill.reporting.rehearsal import (
    BOUNDS,
    SAMPLED,
    Cut,
    Findings,
    Rehearsed,
    decoded,
    encoded,
    filled,
    health,
    page,
    percent,
)
from gristmill.reporting.tables import gigabytes


def sample(share: float) -> Sampled:
    return Sampled(share=share, documents=700, tokens=1_000_000, squares=2e9)


def findings(**changes: Any) -> Findings:
    """All good."""
    documents = {"read": 1000, "usable": 1000, "cleaned": 900, "deduplicated": 700, "published": 700}
    characters = {"usable": 5_000_000, "cleaned": 4_500_000, "deduplicated": 3_500_000, "published": 3_500_000}
    plain = Findings(
        documents=documents, characters=characters, quarantined=0, searched=True, unknown=0,
        sampled=sample(0.001), across=0, text_bytes={"web": 4_000_000}, source_tokens={"web": 1_000_000},
        targets={"web": 1.0}, mixed={"web": 7},
        files=[token_file(bytes=1_500_000, tokens=750_000)], cuts={}, in_force=[SAMPLED], work_bytes=8_000_000,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def rows(**changes: Any) -> dict[str, Any]:
    if "share" in changes:
        changes["sampled"] = sample(changes.pop("share"))
    return {str(row["figure"]): row for row in health(findings(**changes))}


def steps(**changes: int) -> dict[str, int]:
    return findings().documents | changes


def characters(cleaned: int) -> dict[str, int]:
    return findings().characters | {"usable": 1000, "cleaned": cleaned}


def mixture(web: int) -> dict[str, Any]:
    return {"targets": {"web": 0.4, "books": 0.6, "none": 0.0}, "mixed": {"web": web, "books": 1000 - web}}


def one_file(nbytes: int) -> list[Any]:
    return [token_file(bytes=nbytes, tokens=1024)]


def cut(most: int, whole: int) -> dict[str, Any]:
    """A format whose files have 1,000 ids where its own tools write them, cut at ``most``, of so many ids."""
    file = token_file(
        format="olmo", path="olmo/train/part-00000.npy", bytes=2 * min(most, whole), tokens=min(most, whole)
    )
    files = [file] * -(-whole // min(most, whole))
    return {"files": files, "share": 1, "cuts": {"olmo": Cut(key="max_tokens", most=most, usual=1000)}}


@pytest.mark.parametrize(
    ("figure", "changes", "expected"),
    [
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=29)}, "bad"),
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=30)}, "warning"),
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=59)}, "warning"),
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=60)}, "good"),
        ("dedup retention", {"documents": steps(cleaned=1000, deduplicated=849)}, "good"),
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=85)}, "warning"),
        ("dedup retention", {"documents": steps(cleaned=100, deduplicated=100)}, "warning"),
        ("dedup retention", {"searched": False}, "warning"),
        ("unknown ids", {"unknown": 4999}, "good"),
        ("unknown ids", {"unknown": 5000}, "warning"),
        ("unknown ids", {"unknown": 10_000}, "warning"),
        ("unknown ids", {"unknown": 10_001}, "bad"),
        ("window filled", {"files": [token_file(tokens=820)]}, "good"),
        ("window filled", {"files": [token_file(tokens=819)]}, "warning"),
        ("window filled", {"files": [token_file(tokens=512)]}, "warning"),
        ("window filled", {"files": [token_file(tokens=511)]}, "bad"),
        ("share against mix: web", mixture(400), "good"),
        ("share against mix: web", mixture(381), "good"),
        ("share against mix: web", mixture(419), "good"),
        ("share against mix: web", mixture(379), "warning"),
        ("share against mix: web", mixture(421), "warning"),
        ("share against mix: web", mixture(319), "bad"),
        ("share against mix: web", mixture(481), "bad"),
        ("share against mix: web", mixture(0), "bad"),
        ("shard size: nanogpt", {"files": one_file(100), "share": 1}, "good"),
        ("shard size: nanogpt", {"files": one_file(10**9)}, "good"),
        ("shard size: olmo", cut(most=1000, whole=1000), "good"),
        ("shard size: olmo", cut(most=999, whole=1000), "good"),
        ("shard size: olmo", cut(most=499, whole=1000), "warning"),
        ("shard size: olmo", cut(most=99, whole=1000), "bad"),
        ("shard size: olmo", cut(most=10**6, whole=1999), "good"),
        ("shard size: olmo", cut(most=10**6, whole=2001), "warning"),
        ("shard size: olmo", cut(most=10**6, whole=10_001), "bad"),
        ("characters lost in cleaning", {"characters": characters(501)}, "good"),
        ("characters lost in cleaning", {"characters": characters(500)}, "warning"),
        ("characters lost in cleaning", {"characters": characters(201)}, "warning"),
        ("characters lost in cleaning", {"characters": characters(199)}, "bad"),
        ("characters lost in cleaning", {"characters": characters(1100)}, "good"),
        ("quarantined", {"quarantined": 9, "documents": steps(read=10_000)}, "good"),
        ("quarantined", {"quarantined": 10, "documents": steps(read=10_000)}, "warning"),
        ("quarantined", {"quarantined": 100, "documents": steps(read=10_000)}, "warning"),
        ("quarantined", {"quarantined": 101, "documents": steps(read=10_000)}, "bad"),
        ("validation also in train", {"across": 0}, "good"),
        ("validation also in train", {"across": 1}, "bad"),
        ("bytes per token: web", {"text_bytes": {"web": 2_499_999}}, "warning"),
        ("bytes per token: web", {"text_bytes": {"web": 2_500_000}}, "good"),
        ("bytes per token: web", {"text_bytes": {"web": 7_999_999}}, "good"),
        ("bytes per token: web", {"text_bytes": {"web": 8_000_000}}, "warning"),
    ],
)
def test_the_verdict_at_above_and_below_a_bound(figure: str, changes: dict[str, Any], expected: str) -> None:
    """A bound that is off by one step, or turned around, calls a spoilt corpus good."""
    row = rows(**changes)[figure]
    assert row["verdict"] == expected, row
    assert bool(row["remedy"]) == (expected != "good")


def test_all_is_good_where_all_is_good() -> None:
    """Guards the tests above: each verdict comes from what was changed."""
    assert {row["verdict"] for row in health(findings())} == {"good"}
    assert {name.partition(":")[0] for name in rows()} == set(BOUNDS)


def test_every_verdict_that_can_be_reached_has_a_remedy() -> None:
    """A warning without a remedy leaves its reader alone."""
    for name, bound in BOUNDS.items():
        assert bool(bound.below) == (bound.low != float("-inf")), name
        assert bool(bound.above) == (bound.high != float("inf")), name


def test_without_a_mixture_no_share_is_judged() -> None:
    """Shares that nobody asked for are neither good nor bad."""
    assert not [name for name in rows(targets={}) if name.startswith("share against mix")]


def test_no_validation_no_overlap() -> None:
    """A zero that was not counted would be taken for a proof."""
    assert "validation also in train" not in rows(across=None)


def test_a_source_of_which_nothing_was_published_has_no_bytes_per_token() -> None:
    """A division by zero after hours of work."""
    assert "bytes per token: books" not in rows(text_bytes={"web": 4_000_000, "books": 0})


def test_nothing_left_of_anything() -> None:
    """Everything may be dropped but one document without characters."""
    nothing = dict.fromkeys(findings().documents, 0)
    none = Sampled(share=0.1, documents=0, tokens=0, squares=0)
    empty = {"documents": nothing, "characters": nothing, "sampled": none, "files": [], "text_bytes": {}}
    assert "shard size: nanogpt" not in rows(**empty)
    assert filled([]) == 1


def test_a_file_is_judged_by_what_is_usual_for_its_format() -> None:
    """17 MB was called good beside "1-2 GB", and a file of a terabyte was foretold for a format that cuts."""
    files = [token_file(format="olmo", path="olmo/train/part-00000.npy", bytes=4_000_000, tokens=2_000_000)]
    cuts = {"olmo": Cut(key="max_tokens", most=512 << 20, usual=512 << 20)}
    row = rows(files=files, cuts=cuts, share=1e-6)["shard size: olmo"]
    assert [row[name] for name in ("value", "usual", "verdict")] == ["1.07 GB", "about 1.07 GB", "good"]
    row = rows(files=files, cuts=cuts, share=1)["shard size: olmo"]
    assert [row[name] for name in ("value", "usual", "verdict")] == ["4 MB", "one file, below 1.07 GB", "good"]
    row = rows(files=files, share=1e-6)["shard size: olmo"]
    assert [row[name] for name in ("value", "usual", "verdict")] == ["4,000.00 GB", "one file", "good"]


def test_what_is_done_already_is_not_advised() -> None:
    """Who has minhash, and is told to add minhash, stops reading remedies."""
    few = {"documents": steps(cleaned=100, deduplicated=90), "across": 2, "unknown": 10_000}
    for kinds, told, untold in (
        (["exact", "bytes"], ["add {kind: minhash}", "train the tokenizer on this corpus"], ["lower the threshold"]),
        (
            ["minhash", "train"],
            ["lower the threshold", "train it on more", "add {kind: exact}"],
            ["add {kind: minhash}"],
        ),
        (["exact", "minhash"], ["when parts of them were removed"], ["add {kind: exact}", "a sample has fewer"]),
    ):
        said = " ".join(str(row["remedy"]) for row in rows(**few, in_force=kinds).values())
        assert all(part in said for part in told), said
        assert not any(part in said for part in untold), said


def test_validation_files_are_no_shards() -> None:
    """They are small by intention."""
    files = [token_file(tokens=10_240, bytes=10**9), token_file(split="val", tokens=7, bytes=14)]
    found = rows(files=files, share=1)
    assert found["shard size: nanogpt"]["verdict"] == found["window filled"]["verdict"] == "good"


def test_what_the_whole_corpus_takes_is_shown_with_its_arithmetic() -> None:
    """A projection that nobody can check is a guess."""
    assert projections(sample(0.001), 1_500_000, 8_000_000, bounded=True) == [
        "tokens: 1,000,000 / 0.001 = 1,000,000,000, in 99 of 100 cases 884,855,393 to 1,115,144,607",
        "output: 1.5 MB / 0.001 = 1.50 GB",
        "work area: 8 MB / 0.001 = 8.00 GB",
    ]
    assert projections(sample(0.001), 0, 0, bounded=False)[0].endswith(" = 1,000,000,000")
    assert hours(7200, 36, 0.01, 2) == "hours: (7,200.0 s reading all input + 36.0 s / 0.01) / 2 workers = 1.50 h"
    assert hours(0, 36, 0.01, 1).endswith("/ 1 worker = 1.00 h")


def test_the_published_verdict_can_be_read_back() -> None:
    """The terminal and the server show what the file has."""
    found = decoded(encoded(findings()))
    assert found == Rehearsed(
        rows=health(findings()), projections=projections(sample(0.001), 1_500_000, 8_000_000, False)
    )
    text = page(found, "hours: 1 < 2")
    assert "| dedup retention | 77.8 % | 60-85 % | good |" in text
    assert "- hours: 1 &#60; 2" in text


def test_text_of_a_source_is_harmless_on_the_page() -> None:
    """Names of sources are data."""
    text = page(decoded(encoded(findings(text_bytes={"<b>": 9}, source_tokens={"<b>": 3}))))
    assert "<b>" not in text
    assert "bytes per token: &#60;b&#62;" in text


def test_small_and_large_numbers() -> None:
    """0.02 % shown as 0.0 % says that there is nothing."""
    assert [percent(share) for share in (0, 0.0002, 0.0512, 0.7)] == ["0.0 %", "0.02 %", "5.12 %", "70.0 %"]
    assert [gigabytes(size) for size in (0, 1.5e6, 2e9, 4e12)] == ["0 MB", "1.5 MB", "2.00 GB", "4,000.00 GB"]
