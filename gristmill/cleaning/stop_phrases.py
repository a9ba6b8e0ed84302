"""Documents that give themselves away by a phrase."""

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning._regex import Phrase, any_of
from gristmill.cleaning.base import Filter, Measured


class StopPhrases(Filter):
    """Drops documents with more than ``max_found`` occurrences of ``phrases``, literal, whatever their case.

    Reason: ``stop_phrase``.
    """

    phrases: tuple[Phrase, ...] = Field(min_length=1, description="Literal phrases, whatever their case.")
    max_found: int = Field(0, ge=0, description="Most occurrences of them in a document.")

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        found = pc.count_substring_regex(documents["text"], any_of(self.phrases), ignore_case=True)
        return {"stop_phrase": Measured(values=found.to_numpy(zero_copy_only=False), most=self.max_found)}
