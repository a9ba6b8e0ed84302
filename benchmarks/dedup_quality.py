"""Recall and precision of near-duplicate detection, next to datasketch's MinHashLSH on the same shingles.

    python benchmarks/dedup_quality.py CORPUS [--pairs 2000] [--threshold 0.8] [--seeds 10]

Makes document pairs with known shares of edited words from a folder of jsonl.gz files, computes the true Jaccard
similarity of their sets of shingles, and counts which pairs at or above the threshold are found. Rows of the same bands
and confirmation are comparable. Recall and precision are means over the seeds with the standard error of the mean after
a ``+``. Then looks for the copies that the corpus itself names by ``~`` and the edit level in the id of the copy.
"""

import argparse
import gzip
import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasketch import MinHash as Reference
from datasketch import MinHashLSH

from gristmill.columns import strings
from gristmill.dedup._shingles import Unit, pieces, shingles
from gristmill.dedup.base import Signatures
from gristmill.dedup.minhash import PRESETS, MinHash
from gristmill.types import DOCUMENT_SCHEMA

LEVELS = (0.0, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08, 0.12, 0.2, 0.4)
"""Shares of a document's words (or characters, where it has no spaces) that are edited: J = 0.8 is at about 0.022."""
SIZES = (400, 10_000)
"""Characters of the documents that pairs are made of."""


class Line(msgspec.Struct):
    """The fields of a corpus line that are read."""

    id: str
    text: str


def batches(folder: Path, documents: int = 1000) -> Iterator[pa.RecordBatch]:
    """The corpus in file order."""
    decoder = msgspec.json.Decoder(Line)
    for path in sorted(folder.glob("*.jsonl.gz")):
        lines = decoder.decode_lines(gzip.decompress(path.read_bytes()))
        for first in range(0, len(lines), documents):
            part = lines[first : first + documents]
            yield batch([line.text for line in part], [line.id for line in part])


def batch(texts: list[str], ids: list[str]) -> pa.RecordBatch:
    """A batch of the document schema."""
    columns = [strings(ids), strings(texts), strings(["corpus"] * len(texts))]
    return pa.record_batch(columns, schema=DOCUMENT_SCHEMA)


def edited(text: str, share: float, draw: random.Random) -> str:
    """The text with about a share of its words replaced, left out or doubled."""
    spaced = " " in text[:1000].strip() and text.count(" ") * 20 > len(text)
    words = text.split(" ") if spaced else list(text)
    found: list[str] = []
    for word in words:
        if draw.random() >= share:
            found.append(word)
            continue
        found += draw.choice(([draw.choice(words)], [], [word, draw.choice(words)]))
    return (" " if spaced else "").join(found)


def pairs(folder: Path, count: int) -> tuple[list[str], list[str]]:
    """Originals spread over the corpus and their edited copies, the levels in turn."""
    texts = [
        text
        for found in batches(folder)
        for text in found.column("text").filter(pc.less(pc.utf8_length(found.column("text")), SIZES[1])).to_pylist()
        if len(text) >= SIZES[0]
    ]
    originals = texts[:: max(1, len(texts) // count)][:count]
    draw = random.Random(1)
    return originals, [edited(text, LEVELS[place % len(LEVELS)], draw) for place, text in enumerate(originals)]


def true_similarity(first: list[str], second: list[str], ngram: int, unit: Unit) -> np.ndarray:
    """Jaccard similarity of the sets of shingles; 0 where one has none."""
    (one, starts), (two, others) = (shingles(strings(texts), ngram, unit) for texts in (first, second))
    found = np.zeros(len(first))
    for place in range(len(first)):
        a, b = one[starts[place] : starts[place + 1]], two[others[place] : others[place + 1]]
        common = len(np.intersect1d(a, b))
        found[place] = common / max(len(np.union1d(a, b)), 1)
    return found


def signed(kind: MinHash, texts: list[str]) -> Signatures:
    """Signatures of all texts."""
    return kind.sign(batch(texts, [str(place) for place in range(len(texts))]))


def found_by(kind: MinHash, one: Signatures, two: Signatures) -> np.ndarray:
    """Which pairs are candidates in some band and confirmed."""
    candidate: np.ndarray = (one.bands == two.bands).any(axis=1) & one.valid & two.valid
    candidate &= kind.confirmed(one.check, two.check)
    return candidate


def reference_sketches(kind: MinHash, texts: list[str]) -> list[Reference]:
    """datasketch's own sketch of each text's spelled shingles."""
    found = [Reference(num_perm=kind.num_perm, seed=kind.seed)]
    found += [found[0].copy() for _ in texts[1:]]
    for piece in pieces(strings(texts), kind.ngram, kind.unit):
        spelled, start = piece.spelled(), 0
        for document, count in zip(piece.documents.tolist(), piece.counts.tolist(), strict=True):
            if count:
                found[document].update_batch(spelled[start : start + count])
            start += count
    return found


def found_by_reference(kind: MinHash, originals: list[str], copies: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which copies ``MinHashLSH`` answers with their original, and which of these its estimate confirms."""
    given = {"params": (kind.bands, kind.rows)} if kind.bands else {}
    index = MinHashLSH(threshold=kind.threshold, num_perm=kind.num_perm, **given)
    one, two = reference_sketches(kind, originals), reference_sketches(kind, copies)
    for place, sketch in enumerate(one):
        if not sketch.is_empty():
            index.insert(place, sketch)
    candidate = np.array([place in index.query(sketch) for place, sketch in enumerate(two)])
    estimate = np.array([a.jaccard(b) for a, b in zip(one, two, strict=True)])
    return candidate, candidate & (estimate >= kind.threshold)


def compare(settings: dict[str, Any], seeds: range, originals: list[str], copies: list[str]) -> None:
    """Print the rows of one preset, each the mean over the seeds."""
    kind = MinHash.parse(settings)
    true = true_similarity(originals, copies, kind.ngram, kind.unit)
    wanted = true >= kind.threshold
    print(f"\n{kind.preset}: {wanted.sum()} of {len(true)} pairs have a true similarity of {kind.threshold} or more")
    print(f"  {'':36}{'bands':>7}{'found':>8}{'recall':>15}{'precision':>15}{'F1':>7}{'error':>8}{'bias':>9}")
    for scheme, confirm in product(("fast", "datasketch"), ("none", "signature")):
        found, errors = [], []
        for seed in seeds:
            ours = MinHash.parse({**settings, "scheme": scheme, "confirm": confirm, "seed": seed})
            one, two = signed(ours, originals), signed(ours, copies)
            found.append(found_by(ours, one, two))
            errors.append((ours.similarity(one.check, two.check) - true)[one.valid & two.valid])
        error = f"{np.abs(errors).mean():8.4f}{np.mean(errors):9.4f}"
        row(f"ours, {scheme}, confirm {confirm}", ours.banding(), found, wanted, error)
    banding = MinHash.parse({**settings, "confirm": "none"}).banding()
    sets = [found_by_reference(kind.model_copy(update={"seed": seed}), originals, copies) for seed in seeds]
    row("datasketch.MinHashLSH", banding, [candidates for candidates, _ in sets], wanted)
    row("datasketch.MinHashLSH + its estimate", banding, [confirmed for _, confirmed in sets], wanted)


def row(name: str, banding: tuple[int, int], sets: list[np.ndarray], wanted: np.ndarray, error: str = "") -> None:
    """Print how well one method did; ``error`` is that of its estimate, mean absolute and mean."""
    found = np.array([each.sum() for each in sets])
    right = np.array([(each & wanted).sum() for each in sets])
    recalls, precisions = right / max(int(wanted.sum()), 1), right / np.maximum(found, 1)
    recall, precision = recalls.mean(), precisions.mean()
    f1 = 2 * recall * precision / max(recall + precision, 1e-9)
    shape = f"{banding[0]}x{banding[1]}"
    print(
        f"  {name:36}{shape:>7}{found.mean():8.0f}{spread(recalls):>15}{spread(precisions):>15}{f1:7.3f}{error}",
        flush=True,
    )


def spread(values: np.ndarray) -> str:
    """The mean and its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.3f}+{error:.3f}"


def named_pairs(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Originals, copies and levels of the copies that the corpus names."""
    texts = {
        name: text
        for found in batches(folder)
        for name, text in zip(found["id"].to_pylist(), found["text"].to_pylist(), strict=True)
    }
    copies = [name for name in texts if "~" in name and name.split("~")[0] in texts]
    originals = [texts[name.split("~")[0]] for name in copies]
    return originals, [texts[name] for name in copies], [name.split("~")[1] for name in copies]


def planted(kind: MinHash, originals: list[str], copies: list[str], levels: list[str]) -> str:
    """How many of the named copies are found, by level of edits."""
    caught = found_by(kind, signed(kind, originals), signed(kind, copies))
    total, right = Counter(levels), Counter(np.array(levels)[caught].tolist())
    return ", ".join(f"{level} {right[level]}/{total[level]}" for level in sorted(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--seeds", type=int, default=10, help="how many sets of permutations the rows are means over")
    chosen = parser.parse_args()
    originals, copies = pairs(chosen.corpus, chosen.pairs)
    for preset in PRESETS:
        settings = {"preset": preset, "threshold": chosen.threshold}
        compare(settings, range(1, chosen.seeds + 1), originals, copies)
    named = named_pairs(chosen.corpus)
    print(f"\n{len(named[0])} copies named in the corpus, found of all")
    for settings in ({}, {"threshold": 0.7}, {"confirm": "none"}, {"preset": "datatrove", "confirm": "none"}):
        print(f"  {settings!s:46}{planted(MinHash.parse(settings), *named)}")


if __name__ == "__main__":
    main()
