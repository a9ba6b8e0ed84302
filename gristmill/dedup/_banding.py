"""How many bands of how many rows make candidates at a threshold: the choice of datasketch's ``MinHashLSH``."""

from functools import cache

import numpy as np


@cache
def best_banding(threshold: float, num_perm: int, missed_weight: float) -> tuple[int, int]:
    """Bands and rows, ``bands * rows <= num_perm``, that minimise the weighted error.

    The error is (1 - missed_weight) times the integral below the threshold of P(s) = 1 - (1 - s ** rows) ** bands, the
    chance that a pair of similarity s becomes a candidate, plus ``missed_weight`` times that of 1 - P(s) above it. Of
    equal choices the one of fewest bands, then rows, is taken. Grid, error and result are those of datasketch, whose
    own function costs every process 1.3 s for the import of scipy.
    """
    # P is a polynomial of degree bands * rows: Gauss-Legendre with this many nodes integrates it without an error.
    nodes, weights = np.polynomial.legendre.leggauss(min(num_perm // 2 + 1, 256))
    below, above = (nodes + 1) / 2 * threshold, (nodes + 1) / 2 * (1 - threshold) + threshold
    least, chosen = np.inf, (1, 1)
    for bands in range(1, num_perm + 1):
        rows = np.arange(1, num_perm // bands + 1)[:, None]
        false = (1 - (1 - below**rows) ** bands) @ weights * threshold / 2
        missed = ((1 - above**rows) ** bands) @ weights * (1 - threshold) / 2
        errors = (1 - missed_weight) * false + missed_weight * missed
        place = int(np.argmin(errors))
        if errors[place] < least:
            least, chosen = errors[place], (bands, place + 1)
    return chosen
