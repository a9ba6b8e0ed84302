"""Documents that say the same line over and over."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from gristmill.cleaning._repeats import piece_groups
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables
from gristmill.cleaning.base import Measured


class RepeatedLines(TableFilter):
    """Drops documents in which some line occurs more than ``max_repeats`` times.

    Lines are compared without the white space around them; empty lines do not count. The default is the bound of
    practitioners' guides. It would drop 54 % of the modules of Python's own library and 59 % of C headers, for lines
    such as ``else:`` and ``#endif``; 100 drops 1 % and 5 % of them. Reason: ``repeated_line``.
    """

    genres: ClassVar[dict[str, dict[str, Any]]] = {"code": {"max_repeats": 100}}

    max_repeats: int = Field(5, ge=1, description="Most times that a line may occur.")

    def figures(self, tables: Tables) -> dict[str, Measured]:
        found = piece_groups(tables.lines)
        times = np.minimum(tables.lines.counts, 1)
        np.maximum.at(times, tables.lines.documents[found.firsts], found.sizes)
        return {"repeated_line": Measured(values=times, most=self.max_repeats)}
