"""Documents one by one: every target once, and nothing of two documents in a sample."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_sets import EOT, GENERATIONS, ids_of, learned, published
from reader_sets import Documents as Listed

from gristmill.errors import ConfigError, InputError
from gristmill.readers import documents as module
from gristmill.readers.documents import Documents
from gristmill.readers.loader import Loader


def parts(generations: list[Listed], size: int, shards: set[int]) -> list[list[int]]:
    """The ids of each document of some shards, EOT included, apart where a file ends in it."""
    found = []
    for number, documents in enumerate(generations):
        position = 0
        for place, (shard, length) in enumerate(documents):
            ids = [*ids_of(number, place, length), EOT]
            edges = [edge for edge in range(0, position + len(ids), size) if position < edge < position + len(ids)]
            for low, high in zip([position, *edges], [*edges, position + len(ids)], strict=True):
                if shard in shards:
                    found.append(ids[low - position : high - position])
            position += len(ids)
    return found


@settings(deadline=None, max_examples=60)
@given(
    GENERATIONS,
    st.integers(1, 12),
    st.integers(20, 90),
    st.sets(st.integers(0, 3), max_size=2),
    st.sampled_from([None, ["s0"], ["s1"], ["s0", "s1"]]),
    st.integers(1, 4),
)
def test_every_target_is_there_once_and_nothing_crosses_a_document(
    tmp_path_factory: pytest.TempPathFactory,
    generations: list[Listed],
    length: int,
    size: int,
    removed: set[int],
    sources: list[str] | None,
    block: int,
) -> None:
    """Against the documents written out; with sources chosen, and the documents of input that is gone passed over."""
    output = published(tmp_path_factory.mktemp("set"), generations, cut=size, removed=tuple(removed))
    chosen = {n for n in range(4) if (sources is None or f"s{n % 2}" in sources) and n not in removed}
    whole = parts(generations, size, chosen)
    wanted = [ids[start : start + length + 1] for ids in whole for start in range(0, len(ids) - 1, length)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_DOCUMENTS", block)
        if not wanted:
            with pytest.raises(InputError, match="no document"):
                Documents(output, length=length, sources=sources)
            return
        samples = Documents(output, length=length, sources=sources)
    found = samples.read(np.arange(samples.blocks.sum()))
    assert [row[keep].tolist() for row, keep in zip(found.ids, found.mask, strict=True)] == wanted
    assert not found.ids[~found.mask].any()
    targets = [token for row in learned(Loader(samples, batch=len(wanted)).next()) for token in row]
    assert sorted(targets) == sorted(token for ids in whole for token in ids[1:])


def test_what_a_label_mask_hides_is_not_learned(tmp_path: Path) -> None:
    """Neither is what fills a sample up."""
    documents = [(number % 3, 5 + number) for number in range(30)]
    output = published(tmp_path, [documents], cut=70, removed=(1,), hide=3)
    samples = Documents(output, length=7)
    found = samples.read(np.arange(samples.blocks.sum()))
    whole = Documents(published(tmp_path / "plain", [documents], cut=70, removed=(1,)), length=7)
    plain = whole.read(np.arange(whole.blocks.sum()))
    assert np.array_equal(found.ids, plain.ids)
    assert np.array_equal(found.mask, plain.mask & (found.ids % 3 != 0))
    assert 0.2 < found.mask.mean() < plain.mask.mean() < 1


def test_an_unknown_source_is_refused(tmp_path: Path) -> None:
    output = published(tmp_path, [[(0, 5)]])
    with pytest.raises(ConfigError, match=r"no source 'books'; there are: s0, s1"):
        Documents(output, length=4, sources=["books"])


def test_a_mixture_by_source(tmp_path: Path) -> None:
    """Weights at load: no new tokens, no new files."""
    output = published(tmp_path, [[(number % 2, 5) for number in range(20)]])
    samples = {name: Documents(output, length=8, sources=[name]) for name in ("s0", "s1")}
    batch = Loader(samples, batch=400, weights={"s0": 0.75, "s1": 0.25}).next()
    assert (batch.x[:, 0] // 100 % 2 == 0).sum() == 300
