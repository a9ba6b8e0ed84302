"""What every kind of samples offers to a loader."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Read:
    """Samples as arrays of (samples, length + 1): ``ids`` int64, and ``mask``, bool: whether to learn to predict it.
    Ids after the end of a sample are 0, and not to be learned."""

    ids: np.ndarray
    mask: np.ndarray


class Samples(Protocol):
    """Samples of ``length`` ids and their targets, by number."""

    length: int
    blocks: np.ndarray
    """int64: how many samples, numbered on, lie together; none of them 0."""

    @property
    def content(self) -> list[str]:
        """What decides what each number is: the same texts mean the same samples."""

    def read(self, numbers: np.ndarray) -> Read:
        """The samples with these numbers."""

    def expect(self, numbers: np.ndarray) -> None:
        """These will be read soon."""
