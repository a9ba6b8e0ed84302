"""Ids that repeat with a short period: what a model learns from them is to loop."""

from collections.abc import Iterable, Iterator

import numpy as np

MAX_PERIOD = 13
LEAST_REPEATS = 32
"""Both as OLMo's instance filter has them: 31 repeats stay, 32 do not, whatever the period."""


def repeated(ids: np.ndarray, *, max_period: int = MAX_PERIOD, least: int = LEAST_REPEATS) -> np.ndarray:
    """bool, as ``ids`` (a row, or rows): where an id belongs to ``least`` or more repeats of 1 to ``max_period`` ids
    within its row. A last repeat that is cut short belongs to them and does not count.

    Equal ids a period apart are rare in text, and only those are looked at further: 13 comparisons an id.
    """
    rows = np.atleast_2d(ids)
    found = np.zeros(rows.shape, bool)
    for period in range(1, min(max_period, rows.shape[1] // least) + 1):
        equal = np.zeros(rows.shape, bool)  # the first ``period`` of a row stay False: no run goes on from row to row
        np.equal(rows[:, period:], rows[:, :-period], out=equal[:, period:])
        places = np.flatnonzero(equal)
        run = period * (least - 1)
        starts = places[: max(0, len(places) - run + 1)]
        starts = starts[places[run - 1 :] - starts == run - 1]
        if len(starts):
            edges = np.zeros(found.size + 1, np.int64)
            np.add.at(edges, starts - period, 1)
            np.add.at(edges, starts + run, -1)
            found |= (np.cumsum(edges[:-1]) > 0).reshape(rows.shape)
    return found.reshape(ids.shape)


def repeated_blocks(blocks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """bool: ``repeated`` of the ids of all blocks in a row, in blocks of other sizes, as many in all.

    Whether an id is marked depends on fewer than ``MAX_PERIOD * LEAST_REPEATS`` ids on each side of it.
    """
    reach = MAX_PERIOD * LEAST_REPEATS
    ids, given = np.empty(0, np.uint32), 0
    for block in blocks:
        ids = np.concatenate([ids.astype(block.dtype), block])
        settled = len(ids) - reach
        if settled > given:
            yield repeated(ids)[given:settled]
            ids, given = ids[max(0, settled - reach) :], min(reach, settled)
    yield repeated(ids)[given:]
