"""Documents that are mostly punctuation and symbols."""

from typing import Any, ClassVar

from pydantic import Field

from gristmill.cleaning._characters import SYMBOL
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables, share
from gristmill.cleaning.base import Measured


class Symbols(TableFilter):
    """Drops documents in which more than ``max_share`` of all characters are punctuation or symbols.

    Those are the Unicode categories P and S. Bounds of practitioners' guides: 0.3 for prose, 0.5 for code, 0.2 for
    Chinese. Reason: ``too_many_symbols``.
    """

    genres: ClassVar[dict[str, dict[str, Any]]] = {"code": {"max_share": 0.5}}

    max_share: float = Field(0.3, ge=0, le=1, description="Most share of characters that are punctuation or symbols.")

    def figures(self, tables: Tables) -> dict[str, Measured]:
        shares = share(tables.count(tables.flag(SYMBOL)), tables.lengths)
        return {"too_many_symbols": Measured(values=shares, most=self.max_share)}
