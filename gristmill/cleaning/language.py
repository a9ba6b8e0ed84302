"""Documents by the language that they are written in."""

import math
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, Field

from gristmill.cleaning.base import Filter, Measured
from gristmill.errors import alternatives
from gristmill.text.languages import LANGUAGES, identifier, middle


def _known(code: str) -> str:
    if code not in LANGUAGES:
        raise ValueError(f"{code!r} is no language by an ISO 639 code; {alternatives(code, sorted(LANGUAGES))}")
    return code


Code = Annotated[str, AfterValidator(_known)]


class Language(Filter):
    """Drops documents that are not in one of ``languages`` with a confidence of ``min_confidence`` or more.

    Languages are ISO 639 codes, two letters where there are two; text in Wu and Cantonese is often taken for ``wuu``
    and ``yue`` beside ``zh``. The identifier is py3langid, whose model comes with its package, and it judges
    ``sample_characters`` from the middle of a document, since licences and menus at its ends are often in English.
    0.65 is the bound of FineWeb (Penedo et al. 2024), there for fastText's confidence. Reason: ``language``.
    White space counts as one blank, however lines end or are wrapped.
    """

    version: ClassVar[int] = 2

    # Measured on 1,611 documents in ten languages, whole texts: py3langid (BSD) 99.3 % right at 5 MB/s, fastText's
    # lid.176.ftz 99.8 % at 7 (its weights are CC BY-SA), lingua 98.6 % at 0.9, CLD2 92.7 % at 33, failing on control
    # characters; whatlang mistook half of the Japanese and Chinese pages that hold some English.
    languages: tuple[Code, ...] = Field(
        min_length=1,
        description="ISO 639 codes of the languages that stay; a wrong one is answered with all there are.",
    )
    min_confidence: float = Field(0.65, ge=0, le=1, description="Least confidence of the identifier, 0 to 1.")
    sample_characters: int = Field(
        5000, ge=100, description="Characters that are judged, from the middle of the document."
    )

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        confidences = [self._confidence(text) for text in documents.column("text").to_pylist()]
        return {"language": Measured(values=np.array(confidences, np.float64), least=self.min_confidence)}

    def _confidence(self, text: str) -> float:
        """Below any threshold for another language."""
        found, confidence = identifier().classify(middle(text, self.sample_characters))
        return float(confidence) if found in self.languages else -math.inf
