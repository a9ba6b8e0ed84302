"""The choice of bands and rows, against datasketch's own."""

import pytest
from datasketch import MinHashLSH

from gristmill.dedup._banding import best_banding


@pytest.mark.parametrize("missed_weight", [0.5, 0.9])
@pytest.mark.parametrize("num_perm", [16, 64, 112, 128])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.75, 0.8, 0.85])
def test_bands_and_rows_are_those_of_datasketch(threshold: float, num_perm: int, missed_weight: float) -> None:
    """A user who moves over with the same settings would get other candidates."""
    reference = MinHashLSH(threshold=threshold, num_perm=num_perm, weights=(1 - missed_weight, missed_weight))
    assert best_banding(threshold, num_perm, missed_weight) == (reference.b, reference.r)


@pytest.mark.parametrize(("threshold", "num_perm"), [(1.0, 2), (0.001, 2), (1.0, 128), (0.999, 7), (0.5, 4096)])
def test_every_setting_has_a_banding(threshold: float, num_perm: int) -> None:
    """Also where datasketch refuses a single band."""
    bands, rows = best_banding(threshold, num_perm, 0.9)
    assert bands >= 1
    assert rows >= 1
    assert bands * rows <= num_perm
