"""Near copies by MinHash, against datasketch and against the true similarity."""

import json
import re
import tracemalloc
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from data import HARD as HARD_INPUTS
from data import SHARED, needs_shared, odd_texts
from datasketch import MinHash as Reference
from hypothesis import given
from hypothesis import strategies as st
from pairing import copies, groups, texts_of
from texts import ANY_TEXT, documents, real_texts, sample

from gristmill.dedup import _shingles
from gristmill.dedup._banding import best_banding
from gristmill.dedup.minhash import PRESETS, MinHash
from gristmill.errors import ConfigError
from gristmill.plugins import load

HARD = HARD_INPUTS / "dedup"
SCHEMES = pytest.mark.parametrize("scheme", ["fast", "datasketch"])


def made(**settings: Any) -> MinHash:
    kind = load("dedup", {"kind": "minhash", **settings})
    assert isinstance(kind, MinHash)
    return kind


def word_shingles(text: str, ngram: int = 5) -> set[str]:
    """Of an ASCII text."""
    words = re.findall("[a-z0-9]+", text.lower())
    return {" ".join(words[place : place + ngram]) for place in range(len(words) - ngram + 1)}


def edited(share: float, seed: int, words: int = 600) -> tuple[str, str]:
    """A made-up text and a copy with a share of its words replaced."""
    draw = np.random.default_rng(seed)
    first = [f"w{number}" for number in draw.integers(0, 5000, words)]
    second = [f"edit{place}" if draw.random() < share else word for place, word in enumerate(first)]
    return " ".join(first), " ".join(second)


@pytest.mark.parametrize(("num_perm", "seed"), [(128, 1), (112, 1), (64, 2357)])
def test_signatures_are_those_of_datasketch(num_perm: int, seed: int) -> None:
    """Bit for bit, on real documents: signatures made with datasketch before must match the new ones."""
    texts = [text for text in sample(4_000) if text.isascii()]
    signed = made(scheme="datasketch", num_perm=num_perm, seed=seed, unit="words").sign(documents(texts))
    assert signed.check.dtype == np.uint32
    compared = 0
    for text, row, valid in zip(texts, signed.check, signed.valid.tolist(), strict=True):
        expected = Reference(num_perm=num_perm, seed=seed)
        expected.update_batch([shingle.encode() for shingle in word_shingles(text)])
        assert row.tolist() == expected.hashvalues.tolist()
        assert valid == (not expected.is_empty())
        compared += valid
    assert compared > 50


def test_signatures_of_chinese_are_those_of_datasketch() -> None:
    text = texts_of(HARD / "chinese.jsonl")[0]
    expected = Reference(num_perm=128, seed=1)
    expected.update_batch([text[place : place + 5].encode() for place in range(len(text) - 4)])
    signed = made(scheme="datasketch").sign(documents([text]))
    assert signed.check.tolist() == [expected.hashvalues.tolist()]


def test_fast_signatures_differ_from_datasketch_in_the_hash_alone() -> None:
    texts = [text for text in real_texts(40) if len(text) < 20_000]
    signed = made(num_perm=64).sign(documents(texts))
    hashes, offsets = _shingles.shingles(documents(texts).column("text"))
    for document, row in enumerate(signed.check):
        expected = Reference(num_perm=64, seed=1, hashfunc=lambda shingle: int(shingle) >> 32)
        expected.update_batch(hashes[offsets[document] : offsets[document + 1]])
        assert row.tolist() == (expected.hashvalues & 0xFF).tolist()


@SCHEMES
@given(texts=st.lists(ANY_TEXT, max_size=8), first=st.integers(0, 8), piece=st.sampled_from([64, 1 << 18]))
def test_a_signature_depends_on_its_own_text_alone(scheme: str, texts: list[str], first: int, piece: int) -> None:
    """Otherwise the same document in two shards, or in batches of another size, would not be seen to repeat."""
    kind = made(scheme=scheme, num_perm=16, bands=4, rows=4, ngram=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_shingles, "PIECE", piece)
        found = kind.sign(documents(texts).slice(min(first, len(texts))))
    for place, text in enumerate(texts[first:]):
        alone = kind.sign(documents([text]))
        assert found.bands[place].tolist() == alone.bands[0].tolist()
        assert found.check[place].tolist() == alone.check[0].tolist()
        assert found.valid[place] == alone.valid[0]


@SCHEMES
def test_the_arrays_are_as_the_contract_says(scheme: str) -> None:
    kind = made(scheme=scheme)
    for batch in (documents(["a b c d e f", "short", ""]), documents([])):
        signed = kind.sign(batch)
        assert (signed.bands.dtype, signed.bands.shape) == (np.uint64, (len(batch), kind.band_count()))
        width = kind.check_dtype().shape
        assert (signed.check.dtype, signed.check.shape) == (kind.check_dtype().base, (len(batch), *width))
        assert (signed.valid.dtype, signed.valid.tolist()) == (bool, [True, False, False][: len(batch)])
        assert kind.confirmed(signed.check[:0], signed.check[:0]).tolist() == []


@SCHEMES
def test_short_documents_are_no_copies(scheme: str) -> None:
    """Without a shingle all signatures are equal: cat and dog would be one document. Equal texts are for ``exact``."""
    texts = texts_of(HARD / "short.jsonl")
    assert len(texts) == 6
    batch = documents([*texts, *texts, "", "", " .,!?\n", "- - - - - - - -", "\u3002\uff0c" * 20, "\ufeff\u00a0" * 9])
    assert not made(scheme=scheme).sign(batch).valid.any()
    assert copies(made(scheme=scheme), batch) == set()


@SCHEMES
def test_chinese_near_copy_is_found_and_the_other_kept(scheme: str) -> None:
    """As words each of these documents is a single one."""
    texts = texts_of(HARD / "chinese.jsonl")
    pairs = copies(made(scheme=scheme), documents(texts))
    assert len(texts) == 3
    assert len(pairs) == 1
    assert copies(made(scheme=scheme, unit="words"), documents(texts)) == set()


@SCHEMES
@pytest.mark.parametrize("order", ["order_a", "order_b"])
def test_near_copies_over_two_files(scheme: str, order: str) -> None:
    """Each copy differs from its original by a few words; which one is compared first must not matter."""
    texts = texts_of(HARD / order / "part-0.jsonl", HARD / order / "part-1.jsonl")
    pairs = copies(made(scheme=scheme), documents(texts))
    assert (len(texts), groups(pairs, len(texts))) == (18, 12)
    similar = {
        pair
        for pair in combinations(range(18), 2)
        if len(set.intersection(*(word_shingles(texts[n]) for n in pair))) > 50
    }
    assert pairs == similar


@needs_shared
def test_planted_copies_of_the_corpus() -> None:
    """Every exact copy, and every copy with up to one edit in a hundred words; those at 8 % are another document."""
    texts: dict[str, str] = {}
    for path in sorted((SHARED / "corpus" / "small").glob("*.gz")):
        ids = texts_of(path, field="id")
        texts.update(zip(ids, texts_of(path), strict=True))
    planted = {name: name.split("~")[0] for name in texts if "~" in name and name.split("~")[0] in texts}
    names = sorted({*planted, *planted.values()})
    pairs = copies(made(), documents([texts[name] for name in names]))
    caught = Counter(
        copy.split("~")[1]
        for copy, original in planted.items()
        if (min(names.index(copy), names.index(original)), max(names.index(copy), names.index(original))) in pairs
    )
    assert Counter(name.split("~")[1] for name in planted)["exact"] == caught["exact"] > 3
    assert (caught["near0.005"], caught["near0.01"]) == (1, 1)


@SCHEMES
def test_the_estimate_is_near_the_true_similarity(scheme: str) -> None:
    """A weak hash or correlated permutations would move it by more than chance: 0.035 at most for 128 values."""
    kind = made(scheme=scheme)
    errors = []
    for seed, share in enumerate([0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.4, 1.0] * 6):
        pair = edited(share, seed, words=200 + 40 * (seed % 20))
        first, second = (word_shingles(text) for text in pair)
        check = kind.sign(documents(list(pair))).check
        true = len(first & second) / len(first | second)
        errors.append(float(kind.similarity(check[:1], check[1:])[0]) - true)
    assert np.abs(np.mean(errors)) < 0.012
    assert 0.01 < np.mean(np.abs(errors)) < 0.03
    assert np.max(np.abs(errors)) < 0.15


@given(st.integers(2, 64), st.floats(0.05, 1), st.integers(0, 2**32 - 1))
def test_datasketch_confirms_the_same_pairs(num_perm: int, threshold: float, seed: int) -> None:
    """Whole numbers of equal values over num_perm, compared as datasketch compares them: no rounding of its own."""
    draw = np.random.default_rng(seed)
    first = draw.integers(0, 2**32, (20, num_perm), np.uint32)
    second = np.where(draw.random((20, num_perm)) < draw.random((20, 1)), first, first ^ np.uint32(1))
    kind = made(scheme="datasketch", num_perm=num_perm, threshold=threshold, bands=1, rows=2)
    expected = [
        Reference(hashvalues=a, scheme="affine32").jaccard(Reference(hashvalues=b, scheme="affine32")) >= threshold
        for a, b in zip(first, second, strict=True)
    ]
    assert kind.confirmed(first, second).tolist() == expected


def test_many_pairs_are_confirmed_one_block_after_the_other() -> None:
    """Each pair by its own rows, over the edges of the blocks too."""
    kind = made(num_perm=128, threshold=0.5)
    draw = np.random.default_rng(0)
    first = draw.integers(0, 256, (30_000, 128), np.uint8)
    second = first.copy()
    changed = draw.random(len(first)) < 0.5
    second[changed, :100] += 1
    assert first.nbytes > 3 << 20
    assert (kind.confirmed(first, second) == ~changed).all()


def test_a_chance_agreement_of_bytes_is_taken_off() -> None:
    """Otherwise the threshold would be lower for the narrow check: unlike bytes are equal once in 256."""
    kind = made(num_perm=256, bands=8, rows=8)
    check = np.zeros((2, 256), np.uint8)
    check[1, 1:] = 1
    assert kind.similarity(check[:1], check[1:]).tolist() == [0.0]
    assert kind.similarity(check[:1], check[:1]).tolist() == [1.0]


def test_a_band_is_equal_only_in_the_same_place() -> None:
    """Equal values in other bands must not make candidates, or periodic signatures would match everything."""
    texts = [*real_texts(60), *odd_texts()[::10]]
    signed = made(bands=16, rows=8).sign(documents(texts))
    valid = signed.bands[signed.valid]
    assert len(np.unique(valid)) == sum(len(np.unique(valid[:, band])) for band in range(16))


def test_the_choice_of_bands_at_the_defaults() -> None:
    """Written down: another choice is another data set, and the fingerprint must say so."""
    assert made().banding() == best_banding(0.8, 128, 0.9) == (14, 9)
    assert made(confirm="none").banding() == best_banding(0.8, 128, 0.5) == (9, 13)
    assert (made(confirm="none").identity()["bands"], made(confirm="none").identity()["rows"]) == (9, 13)
    assert made(confirm="none", bands=7, rows=11).banding() == (7, 11)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("datatrove", {"num_perm": 112, "bands": 14, "rows": 8, "ngram": 5, "unit": "words", "threshold": 0.8}),
        ("nemo", {"num_perm": 260, "bands": 20, "rows": 13, "ngram": 24, "unit": "characters", "threshold": 0.8}),
        ("seed", {"num_perm": 128, "bands": None, "rows": None, "ngram": 5, "unit": "auto", "threshold": 0.8}),
    ],
)
def test_presets(preset: str, expected: dict[str, Any]) -> None:
    kind = made(preset=preset)
    assert {name: getattr(kind, name) for name in expected} == expected
    assert load("dedup", json.loads(json.dumps(kind.settings()))) == kind
    changed = made(preset=preset, threshold=0.7, ngram=9)
    assert (changed.threshold, changed.ngram, changed.num_perm) == (0.7, 9, expected["num_perm"])
    assert preset in PRESETS


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("confirm", ["none", "signature"])
def test_presets_find_close_copies_only(preset: str, confirm: str) -> None:
    close, far = edited(0.005, 1), edited(0.3, 2)
    kind = made(preset=preset, confirm=confirm)
    assert copies(kind, documents([*close, *far, *close])) == set(combinations([0, 1, 4, 5], 2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bands": 20}, "give bands and rows together"),
        ({"rows": 20}, "give bands and rows together"),
        ({"bands": 20, "rows": 13}, "20 bands of 13 rows need num_perm 260 or more, not 128"),
        ({"preset": "dataset"}, "preset: .*'datatrove', 'nemo' or 'seed'.*got 'dataset'"),
        ({"preset": ["nemo"]}, "preset: "),
        ({"confirm": "sets"}, "confirm: .*'none', 'signature' or 'exact'"),
        ({"threshold": 0}, "threshold: .*greater than 0"),
        ({"threshold": 80}, "threshold: .*less than or equal to 1"),
        ({"ngram": 0}, "ngram: .*greater than or equal to 1"),
        ({"num_perm": 1}, "num_perm: .*greater than or equal to 2"),
        ({"seed": -1}, "seed: "),
        ({"scheme": "sha1"}, "scheme: .*'fast' or 'datasketch'"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^minhash: (Value error, )?{message}"):
        made(**settings)


@pytest.mark.parametrize("script", ["abcdefghij klm", "\u4e2d\u6587\u5b57"])
def test_memory_does_not_grow_with_a_document(script: str) -> None:
    """One document of the largest size that is read must not take what a whole shard may."""
    kind = made(num_perm=16, bands=4, rows=4)
    batch = documents([script * (12_000_000 // len(script.encode()))])
    tracemalloc.start()
    signed = kind.sign(batch)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert signed.valid.tolist() == [True]
    assert 1 << 20 < peak < 12 << 20


def test_seed_and_scheme_change_every_band() -> None:
    """Signatures of another seed must not be taken for comparable ones."""
    batch = documents(list(edited(0.0, 3)))
    every = [made(seed=seed, scheme=scheme).sign(batch).bands for seed in (1, 2) for scheme in ("fast", "datasketch")]
    assert all(len(set(bands[0].tolist()) & set(other[0].tolist())) == 0 for bands, other in combinations(every, 2))
