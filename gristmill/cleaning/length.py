"""Documents with too few or too many characters."""

from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from gristmill.cleaning.base import Filter, Measured


class Length(Filter):
    """Drops documents outside ``min_chars`` to ``max_chars``, both included; a character is a Unicode code point.

    The lower bounds by genre are the usual ones of practitioners' guides, which give 100 for Chinese; code takes that
    of forums, since a useful script can be as short as a useful answer. Reasons: ``too_short``, ``too_long``.
    """

    genres: ClassVar[dict[str, dict[str, Any]]] = {
        "web": {"min_chars": 200},
        "book": {"min_chars": 500},
        "code": {"min_chars": 50},
        "forum": {"min_chars": 50},
        "wiki": {"min_chars": 200},
    }

    min_chars: int = Field(200, ge=0, description="Fewest code points of a document.")
    max_chars: int | None = Field(None, ge=0, description="Most code points of a document; null: any number.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max_chars is not None and self.max_chars < self.min_chars:
            raise ValueError(f"max_chars {self.max_chars} is below min_chars {self.min_chars}")
        return self

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        lengths = pc.utf8_length(documents.column("text")).to_numpy(zero_copy_only=False)
        found = {"too_short": Measured(values=lengths, least=self.min_chars)}
        return found if self.max_chars is None else found | {"too_long": Measured(values=lengths, most=self.max_chars)}
