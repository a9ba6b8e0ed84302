"""Look for copies among the documents that a data set published, from its tokens alone."""

import tempfile

import numpy as np

from gristmill import config as configuration
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.manifest import read_manifest
from gristmill.stages.find import find, searches
from gristmill.stages.recall import document_files, earlier_shard, recall
from gristmill.stages.records import EDGE, mapped
from gristmill.stages.sign import sign
from gristmill.types import StageReport

COMPARED = ("exact", "minhash")
"""The kinds that need nothing but the text: tokens have no URL."""


def look(output: str) -> list[str]:
    """Decode every published document in a temporary folder, sign it anew with the dedup kinds of the manifest, and
    name each kind that still finds pairs, and how many of them lie between validation and train.

    Raises ``ConfigError`` when the manifest has none of the kinds that can be looked for.
    """
    manifest = read_manifest(output)
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as work:
        settings = {**manifest.config, "execution": {"work": work}, "against": []}
        settings["dedup"] = [kind for kind in settings["dedup"] if kind["kind"] in COMPARED]
        if not settings["dedup"]:
            raise ConfigError(f"{output}: made without {' and '.join(COMPARED)}, so copies were never taken out of it")
        config = configuration.parse(settings, "manifest")
        files = document_files(output)
        recalled = [recall(output, path, number, config) for number, path in enumerate(files)]
        signed = [sign(earlier_shard(report.shard), report, config) for report in recalled]
        splits = [next(file.split for file in manifest.files if file.path == path) for path in files]
        return _faults(output, signed, splits, config)


def _faults(output: str, signed: list[StageReport], splits: list[str], config: PrepareConfig) -> list[str]:
    ranks = list(range(len(signed)))
    validation = np.array([split != "train" for split in splits])
    problems = []
    for search in searches(signed, config):
        edges = mapped(find(search, ranks, signed, config), "edges", EDGE)
        first, second = (validation[(edges[name] >> np.uint64(32)).astype(np.int64)] for name in ("first", "second"))
        across = int((first != second).sum())
        kind = config.dedup[search.kind].kind()
        if len(edges):
            problems.append(
                f"{output}: {len(edges)} pairs of {kind} copies among the published documents, {across} of them "
                "between validation and train; expected none"
            )
    return problems
