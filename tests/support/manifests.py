"""A made-up manifest, and a data set on disk that has one."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gristmill.manifest import MANIFEST, VERSION, encoded, seal
from gristmill.stages.ingest.generations import finished
from gristmill.storage import disk
from gristmill.types import Generation, Loss, Manifest, PublishedFile, RuleRecord, SourceShard, TokenizerRecord


def token_file(**changes: Any) -> PublishedFile:
    plain = PublishedFile(
        path="nanogpt/train.bin",
        format="nanogpt",
        split="train",
        generation=1,
        bytes=2468,
        sha256="ab" * 32,
        documents=1234,
        tokens=1_234_567,
        eos=1234,
        max_id=299,
        block_bytes=1 << 20,
        blocks=[],
        boundaries=[],
    )
    return msgspec.structs.replace(plain, **changes)


def source_shard(**changes: Any) -> SourceShard:
    plain = SourceShard(
        index=0, source="web", uri="a.jsonl", part=None, identity="7:1", generation=1, signed=[],
        stored_sha256="", sha256="cd" * 32, documents=5, kept=3, dropped={"blank": 1},
        quarantined={"json_syntax": 1}, tokens=99,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def rule_record(**changes: Any) -> RuleRecord:
    plain = RuleRecord(
        source="web", rule="length", documents_in=4, documents_out=3, characters_in=900, characters_out=400,
        dropped={"too_short": 1}, tokens_lost=124,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def loss(**changes: Any) -> Loss:
    plain = Loss(
        source="web", stage="cleaning", rule="blank", reason="blank", documents=1, characters=20, tokens=5, counted=True
    )
    return msgspec.structs.replace(plain, **changes)


def mixture() -> Manifest:
    """Of a data set in which two sources are mixed, one of them repeated."""
    names = ("repeated_documents", "repeated_tokens", "train_documents", "train_characters", "train_tokens")
    web = {"documents": 6, "tokens": 8530, **dict(zip(names, (4, 450, 10, 40_000, 8980), strict=True))}
    books = {"documents": 20, "tokens": 1000, **dict(zip(names, (0, 0, 20, 40_000, 1000), strict=True))}
    return manifest(
        totals=manifest().totals | {"repeated_documents": 4, "repeated_tokens": 450},
        sources={
            "books": {**books, "target_tokens": 1000, "deviation_tokens": 0},
            "web": {**web, "target_tokens": 9000, "deviation_tokens": -20},
        },
    )


def manifest(**changes: Any) -> Manifest:
    plain = Manifest(
        manifest_version=VERSION,
        dataset="demo",
        generations=[
            Generation(
                number=1, code_version="0", config_fingerprint="f" * 32, shards=1, documents=3, tokens=99, removed=[],
                decided="", tombstones="",
            )
        ],
        code_version="0",
        config={"sources": [], "split": {"kind": "fraction", "fraction": 0.01}},
        config_fingerprint="f" * 32,
        config_parts={"split": "e" * 32},
        tokenizer=TokenizerRecord(
            kind="train", name="trained bpe 300", file="tokenizer.json", sha256="ef" * 32, vocab_size=300, eot_id=0,
            fast_path="fastokens 1", documents_compared=17,
        ),
        dtype="uint16",
        eot_side={"nanogpt": "append"},
        totals={"input_documents": 5, "documents": 3, "tokens": 99, "characters": 400},
        dropped={"blank": 1},
        quarantined={"json_syntax": 1},
        sources={"web": {"documents": 3, "tokens": 99}},
        rules=[rule_record()],
        losses=[loss(), loss(stage="quarantine", rule="", reason="json_syntax", counted=False)],
        files=[token_file(), token_file(path="nanogpt/val.bin", split="val", documents=1, tokens=20)],
        attachments=[],
        source_shards=[source_shard()],
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def write_manifest(output: Path, made: Manifest) -> Path:
    """Seal a manifest and put it where a data set has it."""
    for name in (MANIFEST, finished(len(made.generations))):
        disk.write(output / name, encoded(seal(made)))
    return output / MANIFEST


def data_set(output: Path, ids: "np.ndarray | list[int]", **changes: Any) -> Path:
    """A published data set with one train file of uint16 ``ids``."""
    array = np.array(ids, "<u2")
    disk.write(output / "nanogpt" / "train.bin", array.tobytes())
    files = [token_file(bytes=array.nbytes, tokens=len(array))]
    write_manifest(output, manifest(files=files, **changes))
    return output
