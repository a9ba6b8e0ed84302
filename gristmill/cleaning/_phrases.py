"""Where given phrases stand in a chunk, taken literally and whatever their case."""

import numpy as np
import pyarrow.compute as pc

from gristmill.cleaning._regex import any_of
from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import Bools, Ints, strings


def documents_with(tables: Tables, phrases: tuple[str, ...]) -> Bools:
    """Which documents hold any of the phrases."""
    if not phrases:
        return np.zeros(len(tables.lengths), np.bool_)
    found = pc.match_substring_regex(strings(tables.utf8), any_of(phrases), ignore_case=True)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def lines_with(tables: Tables, phrases: tuple[str, ...]) -> Ints:
    """The lines, ascending and each once, that hold any of the phrases; case is ignored for ASCII letters alone."""
    starts = tables.byte_offsets[tables.lines.starts]
    stops = tables.byte_offsets[tables.lines.stops]
    found = [np.empty(0, np.int64)]
    for phrase in phrases:
        wanted = phrase.encode().lower()
        places = _places(tables.folded, wanted)
        lines = np.searchsorted(starts, places, side="right") - 1
        found.append(lines[(lines >= 0) & (places + len(wanted) <= stops[lines])])
    return np.unique(np.concatenate(found))


def _places(data: bytes, wanted: bytes) -> Ints:
    """Bytes at which ``wanted`` starts, among them those where it runs over the end of its line."""
    places = []
    place = data.find(wanted)
    while place >= 0:
        places.append(place)
        place = data.find(wanted, place + 1)
    return np.array(places, np.int64)
