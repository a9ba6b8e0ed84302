"""The document rules of the C4 paper; ``c4_lines`` holds the rules for lines and runs before."""

from typing import Any, ClassVar

from pydantic import Field

from gristmill.cleaning._line_ends import sentences
from gristmill.cleaning._phrases import documents_with
from gristmill.cleaning._regex import Phrase
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables
from gristmill.cleaning.base import Measured


class C4(TableFilter):
    """Drops placeholder text, code and stubs (Raffel et al. 2020, section 2.2; values as in datatrove).

    A document goes if it holds one of ``phrases`` (reason ``lorem_ipsum``; whatever their case), one of
    ``brackets`` (``curly_bracket``), or fewer than ``min_sentences`` sentences (``too_few_sentences``): one per line,
    and one more for each sentence end of any script inside a line; white space follows those of Latin text. Of code
    only the placeholder text goes: brackets and the want of sentences are its nature.
    """

    version: ClassVar[int] = 2

    genres: ClassVar[dict[str, dict[str, Any]]] = {"code": {"brackets": "", "min_sentences": 0}}

    phrases: tuple[Phrase, ...] = Field(
        ("lorem ipsum",), description="A document that holds one of these goes, whatever their case."
    )
    brackets: str = Field("{", description="A document that holds one of these characters goes; empty: none does.")
    min_sentences: int = Field(5, ge=0, description="Fewest sentences of a document.")

    def figures(self, tables: Tables) -> dict[str, Measured]:
        return {
            "lorem_ipsum": Measured(values=documents_with(tables, self.phrases)),
            "curly_bracket": Measured(values=documents_with(tables, tuple(self.brackets))),
            "too_few_sentences": Measured(values=sentences(tables), least=self.min_sentences),
        }
