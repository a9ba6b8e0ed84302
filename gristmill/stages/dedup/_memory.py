"""How the memory that a worker may take is shared out in the search for duplicates.

Everything here says how many records are looked at together, never what is found in them. Of ``execution.memory`` 36 %
go to keys (16 million of them at 2 GB), a quarter to candidates and an eighth to their comparison; the rest is for what
a process takes anyway (95 MB) and for pages of mapped files.
"""

KEY_BYTES = 45
"""A key while it is sorted."""

PAIR_BYTES = 56
"""A candidate while it is sorted."""

EDGE_BYTES = 48
"""A confirmed pair while verdicts are made."""

SPAN_BYTES = 100
"""A span while it is sorted."""


def keys(memory: int) -> int:
    """Keys a search."""
    return max(1, memory * 36 // 100 // KEY_BYTES)


def candidates(memory: int) -> int:
    """Candidates confirmed and written together. One large group may double them."""
    return max(1, memory // 4 // PAIR_BYTES)


def compared(memory: int, row: int) -> int:
    """Candidates compared together, by two rows of so many bytes each."""
    return max(1, memory // 8 // (2 * row))


def edges(memory: int) -> int:
    """Confirmed pairs taken into memory together."""
    return max(1, memory // 8 // EDGE_BYTES)


def resident(memory: int) -> int:
    """Bytes of an array over all documents that stays in memory; a larger one is a mapped file."""
    return memory // 4


def spans(memory: int) -> int:
    """Spans a search."""
    return max(1, memory * 3 // 4 // SPAN_BYTES)
