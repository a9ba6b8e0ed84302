"""Where given phrases stand in a chunk, whatever the case of their ASCII letters."""

import numpy as np

from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import Ints, rows


def lines_with(tables: Tables, phrases: tuple[str, ...]) -> Ints:
    """The lines, ascending and each once, that hold any of the phrases."""
    starts = tables.byte_offsets[tables.lines.starts]
    stops = tables.byte_offsets[tables.lines.stops]
    found = [np.empty(0, np.int64)]
    for phrase in phrases:
        places = _places(tables, phrase)
        lines = np.searchsorted(starts, places, side="right") - 1
        inside = (lines >= 0) & (places + len(phrase.encode()) <= stops[lines])
        found.append(lines[inside])
    return np.unique(np.concatenate(found))


def documents_with(tables: Tables, phrase: str) -> Ints:
    """The documents, ascending and each once, that hold the phrase."""
    places = _places(tables, phrase)
    documents = rows(places, tables.utf8.offsets)
    inside = places + len(phrase.encode()) <= tables.utf8.offsets[documents + 1]
    return np.unique(documents[inside])


def _places(tables: Tables, phrase: str) -> Ints:
    """Bytes at which the phrase starts; one that runs over the edge of a document is among them."""
    wanted = phrase.encode().lower()
    places = []
    place = tables.folded.find(wanted)
    while place >= 0:
        places.append(place)
        place = tables.folded.find(wanted, place + 1)
    return np.array(places, np.int64)
