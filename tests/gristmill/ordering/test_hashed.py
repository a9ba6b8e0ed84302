"""A shuffle by a keyed hash of the text."""

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gristmill.columns import strings
from gristmill.errors import ConfigError
from gristmill.ordering.hashed import Hashed

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=20)


@given(TEXTS, st.integers(0, 2**64 - 1))
def test_the_key_is_the_hash_of_the_text_and_the_seed(texts: list[str], seed: int) -> None:
    """Published orders must be reproducible by anyone from the documentation."""
    keys = Hashed(seed=seed).order_keys(strings(texts), first=5, documents=99)
    assert keys.dtype == np.uint64
    assert keys.tolist() == [xxhash.xxh3_64_intdigest(text.encode(), seed) for text in texts]


@given(TEXTS, TEXTS)
def test_new_documents_leave_the_order_of_old_ones(old: list[str], new: list[str]) -> None:
    """A data set that grows must not be shuffled anew."""
    before = Hashed().order_keys(strings(old), first=0, documents=len(old))
    after = Hashed().order_keys(strings([*new, *old]), first=0, documents=len(old) + len(new))
    assert after[len(new) :].tolist() == before.tolist()


def test_another_seed_is_another_order() -> None:
    texts = [f"document {number}" for number in range(100)]
    orders = {
        tuple(np.argsort(Hashed(seed=seed).order_keys(strings(texts), first=0, documents=100))) for seed in range(5)
    }
    assert len(orders) == 5


def test_keys_fill_the_key_space() -> None:
    """Buckets are cut from the key space: keys in one corner would put everything into one."""
    keys = Hashed().order_keys(strings([f"{number}" for number in range(4096)]), first=0, documents=4096)
    filled = np.bincount((keys >> np.uint64(60)).astype(np.int64), minlength=16)
    assert filled.min() > 180
    assert Hashed().key_space(4096) == 2**64


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_the_hash_cannot_take_is_refused(seed: int) -> None:
    with pytest.raises(ConfigError, match="seed"):
        Hashed.parse({"seed": seed})
