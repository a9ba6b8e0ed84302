"""Where the documents of input that is gone stand in published files, for loaders to pass over."""

from collections import defaultdict

import msgspec
import numpy as np

from gristmill.config import PrepareConfig
from gristmill.storage import stores
from gristmill.types import DOCUMENT, Manifest, PublishedFile


def tombstones(removed: list[int], manifest: Manifest, config: PrepareConfig) -> bytes:
    """JSON: the ``shards``, and per published file the half-open ``spans`` of ids, EOT included, of their documents.
    Files of rows name the shards of their documents themselves."""
    generations: dict[int, set[int]] = defaultdict(set)
    for row in manifest.source_shards:
        if row.index in removed:
            generations[row.generation].add(row.index)
    spans = {}
    for (kind, _, _), streams in _streams(manifest).items():
        if config.format(kind).holds == "rows":
            continue
        begun = False
        for file in streams:
            found, begun = _spans(file, generations[file.generation], begun, manifest, config)
            if found:
                spans[file.path] = found
    return msgspec.json.format(msgspec.json.encode({"shards": removed, "spans": spans}), indent=0) + b"\n"


def _streams(manifest: Manifest) -> dict[tuple[str, str, int], list[PublishedFile]]:
    """The files that hold one stream, in order: a document may go on in the next one."""
    found: dict[tuple[str, str, int], list[PublishedFile]] = defaultdict(list)
    for file in manifest.files:
        found[file.format, file.split, file.generation].append(file)
    return found


def _spans(
    file: PublishedFile, shards: set[int], begun: bool, manifest: Manifest, config: PrepareConfig
) -> tuple[list[list[int]], bool]:
    """Spans of a file, and whether the last one goes on in the next; ``begun``: one goes on in this."""
    if not shards:
        return [], False
    documents = np.frombuffer(stores.at(config.destination).read(f"documents/{file.path}"), DOCUMENT)
    first = file.boundaries[0].token if file.boundaries else file.tokens
    sizes = documents["length"].astype(np.int64) + (manifest.eot_side[file.format] != "none")
    edges = np.concatenate([[0, first], first + np.cumsum(sizes)])
    gone = np.concatenate([[begun and first > 0], np.isin(documents["shard"], list(shards))])
    turns = np.flatnonzero(np.diff(np.concatenate([[False], gone, [False]]).astype(np.int8))).reshape(-1, 2)
    found = [[int(edges[low]), min(int(edges[high]), file.tokens)] for low, high in turns.tolist()]
    return found, bool(gone[-1]) and int(edges[-1]) > file.tokens
