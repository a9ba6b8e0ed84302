"""The accounts of a data set whose sources are mixed."""

from collections import Counter
from pathlib import Path

from gristmill.config import PrepareConfig
from gristmill.types import Manifest


def check_mixed(config: PrepareConfig, manifest: Manifest) -> None:
    """Shards, sources, files and totals tell one story, repetitions apart."""
    shards, totals, sources = manifest.source_shards, manifest.totals, manifest.sources.values()
    for shard in shards:
        assert shard.documents == shard.kept + sum(shard.dropped.values()) + sum(shard.quarantined.values())
    assert totals["input_documents"] == sum(shard.documents for shard in shards)
    assert Counter(manifest.dropped) == sum((Counter(shard.dropped) for shard in shards), Counter())
    for name, one in (("documents", "kept"), ("tokens", "tokens")):
        assert totals[name] == sum(getattr(shard, one) for shard in shards) == sum(row[name] for row in sources)
        assert totals[f"repeated_{name}"] == sum(row[f"repeated_{name}"] for row in sources)
    files = [file for file in manifest.files if file.format == manifest.files[0].format]
    assert sum(file.eos for file in files) == totals["documents"] + totals["repeated_documents"]
    assert sum(file.tokens - file.eos for file in files) == totals["tokens"] + totals["repeated_tokens"]
    train = [file for file in files if file.split == "train"]
    assert sum(file.eos for file in train) == sum(row["train_documents"] for row in sources)
    assert sum(file.tokens - file.eos for file in train) == sum(row["train_tokens"] for row in sources)
    assert all((Path(config.destination) / file.path).stat().st_size == file.bytes for file in manifest.files)
