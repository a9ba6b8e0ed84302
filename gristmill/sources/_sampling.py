"""Which documents of a source are used: a share of them by hash, or no more than a rehearsal needs.

Both rules look at the documents and the number of shards alone, never at workers or the order in which they finish.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import xxhash

from gristmill.columns import each, utf8
from gristmill.types import ShardRef

SHARE_BYTES = 1 << 20
"""``limit_bytes`` is given out in shares of about this size, so that a share holds at least a few documents."""

_HASHES = 1 << 64
_BETWEEN = b"\xff"
"""Stands between id and text in the hash; UTF-8 never holds it."""


def shared_out(shards: Sequence[ShardRef], *, documents: int | None, nbytes: int | None) -> list[ShardRef]:
    """The shards to read for at most so many documents and bytes of text, each with its share in ``take``.

    As few shards as the limits need are used: one a document, one a ``SHARE_BYTES``. They are spread evenly over the
    source from its first shard to its last (which ``split: last_shard`` holds out), and the limits divided evenly
    between them, so the result is a sample of the whole and not its head. A shard that holds less than its share
    leaves the rest of it unused: a limit is a ceiling, not a target.
    """
    limits = {name: limit for name, limit in (("documents", documents), ("bytes", nbytes)) if limit is not None}
    if not limits:
        return list(shards)
    used = min(len(shards), documents or len(shards), -(-nbytes // SHARE_BYTES) if nbytes else len(shards))
    return [
        msgspec.structs.replace(
            shards[(len(shards) - 1) * number // max(used - 1, 1)],
            index=number,
            take={name: _share(limit, number, used) for name, limit in limits.items()},
        )
        for number in range(used)
    ]


def _share(limit: int, number: int, used: int) -> int:
    """What falls to one of ``used`` shards; all shares add up to ``limit`` and differ by at most one."""
    return limit * (number + 1) // used - limit * number // used


def sampled(documents: pa.RecordBatch, rate: float | None, seed: int) -> pa.RecordBatch:
    """The documents whose xxh3_64, seeded, over id and text lies below ``rate`` of all hashes; None: every one."""
    if rate is None or not len(documents):
        return documents
    ceiling = int(rate * _HASHES)
    pairs = zip(each(documents.column("id")), each(documents.column("text")), strict=True)
    mask = np.fromiter((_hash(name, text, seed) < ceiling for name, text in pairs), bool, len(documents))
    return documents if mask.all() else documents.filter(pa.array(mask))


def _hash(name: memoryview, text: memoryview, seed: int) -> int:
    state = xxhash.xxh3_64(name, seed=seed)
    state.update(_BETWEEN)
    state.update(text)
    value: int = state.intdigest()
    return value


class Allowance:
    """What may still be taken of a shard."""

    def __init__(self, take: dict[str, int] | None) -> None:
        limits = take or {}
        self._documents = limits.get("documents")
        self._bytes = limits.get("bytes")
        self.spent = False
        """Nothing more can be taken: reading on would be in vain."""

    def cut(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        """The first documents, up to the first that does not fit; they count as taken."""
        if not len(documents):
            return documents
        fitting = len(documents)
        edges, _ = utf8(documents.column("text"))
        if self._documents is not None:
            fitting = min(fitting, self._documents)
        if self._bytes is not None:
            fitting = min(fitting, int(np.searchsorted(edges[1:], self._bytes, "right")))
        self._take(fitting, int(edges[fitting]), len(documents))
        return documents.slice(0, fitting)

    def _take(self, count: int, nbytes: int, offered: int) -> None:
        self._documents = None if self._documents is None else self._documents - count
        self._bytes = None if self._bytes is None else self._bytes - nbytes
        self.spent = count < offered or self._documents == 0 or self._bytes == 0
