"""Documents by what a trained model thinks of them."""

from typing import Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from gristmill.cleaning._models import check_file, package, scorer
from gristmill.cleaning.base import Filter, Measured
from gristmill.settings import Location


class ModelScore(Filter):
    """Drops documents whose score by the model at ``path`` is outside ``min`` to ``max``, both included.

    ``fasttext``: the probability of ``label`` (such as ``__label__hq``), 0 to 1. ``kenlm``: the perplexity per word,
    lower for text more like the training data; words are what stands between white space, so prepare texts as the
    model's were. The file's content is not part of any fingerprint unless ``sha256`` is given, which is then checked.
    Neither package is installed with gristmill. Reasons: ``score_too_low``, ``score_too_high``. Raises ``ConfigError``
    for a missing package (it names what to install), a missing or wrong file, and an unknown label.
    """

    backend: Literal["fasttext", "kenlm"] = Field(description="Which library scores.")
    path: Location = Field(min_length=1, description="File of the model.")
    label: str = Field(
        "", description="Label whose probability is the score, such as __label__hq; fasttext alone has one."
    )
    min: float | None = Field(None, description="Least score; null: any.")
    max: float | None = Field(None, description="Most score; null: any.")
    sha256: str = Field(
        "",
        pattern=r"^([0-9a-f]{64})?$",
        description="Of the file, which is checked and becomes part of the fingerprint; empty: neither.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.backend == "fasttext") != bool(self.label):
            raise ValueError("label is needed by fasttext, and kenlm has none")
        if self.min is None and self.max is None:
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError(f"max {self.max} is below min {self.min}")
        return self

    def check(self) -> None:
        package(self.backend)
        check_file(self.path, self.sha256)

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        score = scorer(self.backend, self.path, self.label, self.sha256)
        scores = np.array([score(text) for text in documents.column("text").to_pylist()], np.float64)
        bounds = {
            "score_too_low": Measured(values=scores, least=self.min),
            "score_too_high": Measured(values=scores, most=self.max),
        }
        return {
            reason: figure for reason, figure in bounds.items() if figure.least is not None or figure.most is not None
        }
