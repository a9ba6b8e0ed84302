"""What the sources of rows share: which keys of a row are the document, and what a file may cost."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from gristmill.sources._limits import Limits
from gristmill.sources._rows import Fields
from gristmill.sources.base import Source
from gristmill.types import DOCUMENT_SCHEMA


class KeyedSource(Source):
    """Base of sources whose rows are objects or columns."""

    version: ClassVar[int] = 2

    text_key: str = Field(
        "text",
        description="Key or column of the text. Where no key is called doc.text, its dot steps into an object.",
    )
    text_join: str | None = Field(
        None, description='Joins a text that is a list of strings: "\\n\\n" for paragraphs; default: a list is no text.'
    )
    id_key: str | None = Field(None, description="Key of the document's id; default: file name and line or row.")
    source_key: str | None = Field(None, description="Key whose value names the source; default: this source's name.")
    columns: list[str] = Field([], description="Further keys to carry along, as text.")
    limits: Limits = Field(Limits(), description="What one file may cost before it, or a document of it, is refused.")

    links: Literal["refuse", "follow"] = Field(
        "refuse",
        description="What a link does that leads out of the input folder: stop the run, or be read; the manifest names "
        "the file that it leads to.",
    )

    @field_validator("text_key", "id_key", "source_key", "columns")
    @classmethod
    def _readable(cls, value: str | list[str] | None) -> str | list[str] | None:
        for key in [value] if isinstance(value, str) else value or []:
            if not all(key.split(".")) or not key.isprintable() or '"' in key or "\\" in key:
                raise ValueError(f"{key!r} is not a key; give names joined by dots, without quotes or backslashes")
        return value

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for name in self.columns:
            if name in DOCUMENT_SCHEMA.names or self.columns.count(name) > 1:
                raise ValueError(f"columns: {name!r} is taken; id, text and source are always there, others once")
        return self

    def identity(self) -> dict[str, Any]:
        """As of every source; how much memory a file may ask for decides whether it is read, not what is read of it."""
        found = super().identity()
        return {**found, "limits": {key: value for key, value in found["limits"].items() if key != "window_bytes"}}

    def fields(self) -> Fields:
        """The keys, as the readers of rows want them."""
        return Fields(
            text_key=self.text_key,
            id_key=self.id_key,
            source_key=self.source_key,
            columns=self.columns,
            label=self.label,
            text_join=self.text_join,
        )
