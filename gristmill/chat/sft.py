"""Conversations: whole, padded, and only what the assistant says is learned."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gristmill.chat import _templates
from gristmill.chat._templates import Span
from gristmill.packing._padded import Pieces, beginnings, best_fit_padded
from gristmill.packing.base import RowPacking, Segments


class Sft(RowPacking):
    """Rows of whole conversations: from a buffer the largest that fits what is left of the row, else padding.

    Each starts with the start-of-text id, which padding consists of as well, as in nanochat's fine-tuning; targets are
    what the template marks by ``{% generation %}``. One longer than a row never fits, so it is dropped, or cut to the
    row, before rows are made, and counted.
    """

    template: str = Field(
        "chatml", description="chatml, or a Jinja template with {% generation %} around what to learn."
    )
    long: Literal["drop", "truncate"] = Field(
        "drop", description="What becomes of a conversation longer than a row: it is left out, or its end is."
    )
    buffer: int = Field(100, ge=1, description="Conversations to choose from.")
    refill: int = Field(1, ge=1, description="Conversations that arrive at a time.")

    @model_validator(mode="after")
    def _template_known(self) -> Self:
        _templates.check(self.template)
        return self

    def render(self, messages: list[dict[str, str]]) -> list[Span]:
        """A conversation as spans of text, in order; see ``_templates.rendered``."""
        return _templates.rendered(self.template, messages)

    def arrange(self, lengths: np.ndarray) -> Segments:
        pieces = beginnings(lengths, self.capacity)
        kept = np.arange(len(lengths)) if self.long == "truncate" else np.flatnonzero(lengths <= self.capacity)
        pieces = Pieces(document=kept, skipped=pieces.skipped[kept], taken=pieces.taken[kept])
        order, row = best_fit_padded(pieces.taken, capacity=self.capacity, buffer=self.buffer, refill=self.refill)
        return pieces.segments(order, row, np.setdiff1d(np.arange(len(lengths)), kept))
