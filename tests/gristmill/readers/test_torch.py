"""Tensors for a training loop, read ahead; PyTorch is needed only there."""

import sys

import pytest
from reader_sets import Numbers

from gristmill.errors import ConfigError, InputError
from gristmill.readers._samples import Read
from gristmill.readers.loader import Loader
from gristmill.readers.torch import AHEAD, Feed


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"pip install 'gristmill\[torch\]'"):
        Feed(Loader(Numbers(9), batch=2))


def test_batches_and_state_are_those_of_the_loader() -> None:
    """What was read ahead must not count as trained on."""
    torch = pytest.importorskip("torch")
    plain, loader = (Loader(Numbers(9, 5, length=3), batch=4, seed=1) for _ in range(2))
    feed = Feed(loader)
    for _ in range(5):
        batch, (x, y) = plain.next(), feed.next()
        assert x.dtype == y.dtype == torch.int64
        assert x.numpy().tolist() == batch.x.tolist()
        assert y.numpy().tolist() == batch.labels().tolist()
        assert feed.state_dict() == plain.state_dict()
    again = Feed(Loader(Numbers(9, 5, length=3), batch=4, seed=1))
    again.next()
    again.load_state_dict(feed.state_dict())
    assert again.next()[0].tolist() == feed.next()[0].tolist() == plain.next().x.tolist()


class Broken(Numbers):
    """Fails from the third batch on."""

    reads = 0

    def read(self, numbers: "object") -> Read:
        self.reads += 1
        if self.reads > 2:
            raise InputError("the file is cut")
        return super().read(numbers)  # type: ignore[arg-type]


def test_a_failure_shows_where_the_batch_was_due() -> None:
    """In a thread it would be printed and the loop would wait for ever."""
    pytest.importorskip("torch")
    assert AHEAD > 0
    feed = Feed(Loader(Broken(9), batch=1))
    feed.next()
    feed.next()
    with pytest.raises(InputError, match="the file is cut"):
        feed.next()
