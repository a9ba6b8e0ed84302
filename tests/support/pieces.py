"""Small files that are cut into many pieces: by the real limits a piece holds 67 million characters."""

import pytest

from gristmill.sources import _lines, _streams, _unfolded
from gristmill.stages.ingest import fetch


def cut_small(patch: pytest.MonkeyPatch) -> None:
    """Cut after a kilobyte of lines."""
    patch.setattr(fetch, "PIECE_CHARACTERS", 1)
    patch.setattr(_streams, "PIECE", 1000)
    patch.setattr(_unfolded, "PIECE", 1000)
    patch.setitem(_lines.blocks.__kwdefaults__, "size", 1000)
