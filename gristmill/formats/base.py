"""What every output format offers: its dtype rule, its files, its own bytes read back."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from gristmill.plugins import Plugin
from gristmill.types import Value

EotSide = Literal["append", "prepend", "none"]


class OutputFile(Value, frozen=True, kw_only=True):
    """One file to publish: the half-open token range of a split's stream (EOT included) that it holds."""

    path: str
    """Relative to ``OUTPUT/<format>/``."""
    split: str
    start: int
    stop: int


class Format(Plugin):
    """Settings and byte layout of one trainer's files."""

    dtypes: ClassVar[tuple[str, ...]] = ("<u2", "<u4")
    """Token types that the reader of this format takes, narrowest first."""

    holds: ClassVar[Literal["tokens", "rows"]] = "tokens"
    """One stream of ids, or packed rows."""

    eot: EotSide = "append"

    def files(self, lengths: dict[str, int]) -> list[OutputFile]:
        """The files that hold the streams of ``lengths`` tokens (EOT included) per split; no stream is empty."""
        raise NotImplementedError

    def header(self, file: OutputFile, dtype: np.dtype) -> bytes:
        """Bytes before the first token."""
        return b""

    def sidecars(self, tokenizer: Path) -> dict[str, bytes]:
        """Further small files by name; ``tokenizer`` is the archived tokenizer's folder."""
        return {}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        """The tokens of a published file in order, a few MB at a time.

        Raises ``VerificationError`` when the layout is broken (a cut item, a wrong header).
        """
        raise NotImplementedError
