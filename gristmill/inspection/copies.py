"""Look for copies among the documents that a data set published, from its tokens alone."""

import tempfile

import numpy as np

from gristmill import config as configuration
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.manifest import read_manifest
from gristmill.plugins import kinds_by_fact
from gristmill.stages.dedup.find import find, searches
from gristmill.stages.dedup.recall import decode_published, document_files, earlier_shard
from gristmill.stages.dedup.records import EDGE, LOW, mapped
from gristmill.stages.dedup.sign import sign
from gristmill.storage import stores
from gristmill.types import DOCUMENT, StageReport


def look(output: str) -> list[str]:
    """Decode every published document in a temporary folder, sign it anew with the dedup kinds of the manifest, and
    name each kind that still finds pairs, and how many of them lie between validation and train.

    Where sources are mixed, two documents of one input shard in train that have the same number of ids count as a
    repetition that was asked for.

    Raises ``ConfigError`` when the manifest has none of the kinds that can be looked for.
    """
    manifest = read_manifest(output)
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as work:
        settings = {**manifest.config, "execution": {"work": work}, "against": []}
        comparing = kinds_by_fact("dedup", "compares_text", True)
        settings["dedup"] = [kind for kind in settings["dedup"] if kind["kind"] in comparing]
        if not settings["dedup"]:
            raise ConfigError(f"{output}: made without {' and '.join(comparing)}, so copies were never taken out of it")
        config = configuration.parse(settings, "manifest")
        files = document_files(output)
        recalled = [decode_published(output, path, number, config) for number, path in enumerate(files)]
        signed = [sign(earlier_shard(report.shard), report, config) for report in recalled]
        splits = [next(file.split for file in manifest.files if file.path == path) for path in files]
        records = [np.frombuffer(stores.at(output).read(f"documents/{path}"), DOCUMENT) for path in files]
        return _faults(output, signed, splits, records if config.mix else [], config)


def _faults(
    output: str, signed: list[StageReport], splits: list[str], records: list[np.ndarray], config: PrepareConfig
) -> list[str]:
    validation = np.array([split != "train" for split in splits])
    problems = []
    for search in searches(signed, config):
        edges = np.asarray(mapped(find(search, [0] * len(signed), signed, config), "edges", EDGE))
        edges = edges[~_repeated(edges, validation, records)]
        first, second = (validation[(edges[name] >> np.uint64(32)).astype(np.int64)] for name in ("first", "second"))
        across = int((first != second).sum())
        kind = config.dedup[search.kind].kind()
        if len(edges):
            problems.append(
                f"{output}: {len(edges)} pairs of {kind} copies among the published documents, {across} of them "
                "between validation and train; expected none"
            )
    return problems


def _repeated(edges: np.ndarray, validation: np.ndarray, records: list[np.ndarray]) -> np.ndarray:
    """bool: which pairs are of one document that is in train more than once; ``records`` is empty where none is."""
    if not records:
        return np.zeros(len(edges), bool)
    every = np.concatenate(records)
    starts = np.cumsum([0, *map(len, records)])
    file = {name: (edges[name] >> np.uint64(32)).astype(np.int64) for name in ("first", "second")}
    first, second = (every[starts[file[name]] + (edges[name] & LOW).astype(np.int64)] for name in file)
    found: np.ndarray = (first == second) & ~validation[file["first"]] & ~validation[file["second"]]
    return found
