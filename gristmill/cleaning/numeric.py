"""Documents by a number that came with them: a score, a count, a year."""

import math
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from gristmill.cleaning._columns import column
from gristmill.cleaning.base import Filter, Measured

NUMBER = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"


class Numeric(Filter):
    """Drops documents whose number in ``column`` is outside ``min`` to ``max``, both included.

    A number is written in decimal digits, with a fraction and an exponent perhaps. Reasons: ``missing_number`` (null),
    ``not_a_number``, ``number_too_low``, ``number_too_high``. Raises ``ConfigError`` where there is no such column.
    """

    column: str = Field(min_length=1, description="Column of the number; name it in the source's columns.")
    min: float | None = Field(None, description="Least number; null: any.")
    max: float | None = Field(None, description="Most number; null: any.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is below min {self.min}")
        return self

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        values = column(documents, self.column, self.kind())
        written = pc.match_substring_regex(values, NUMBER)
        digits = pc.utf8_ltrim(pc.utf8_trim_whitespace(values), "+")  # Arrow reads no plus sign
        numbers = pc.if_else(written, digits, pa.scalar(None, pa.string())).cast(pa.float64())
        missing, strange = pc.is_null(values), pc.fill_null(pc.invert(written), False)
        figures = pc.fill_null(numbers, math.nan).to_numpy(zero_copy_only=False)
        found = {
            "missing_number": Measured(values=missing.to_numpy(zero_copy_only=False)),
            "not_a_number": Measured(values=strange.to_numpy(zero_copy_only=False)),
        }
        if self.min is not None:
            found["number_too_low"] = Measured(values=figures, least=self.min)
        if self.max is not None:
            found["number_too_high"] = Measured(values=figures, most=self.max)
        return found
