"""Batches as PyTorch tensors, read ahead in the background. PyTorch is imported when a ``Feed`` is made, not before."""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from gristmill.errors import ConfigError
from gristmill.readers.loader import Loader

AHEAD = 2
"""Batches that are ready before they are asked for."""


class Feed:
    """Endless ``x, y`` of a loader: int64 tensors (batch, length) on ``device``, ``y`` with ``ignore`` where there is
    nothing to learn.

    A thread reads ahead into one staging buffer a batch, page-locked where the device is a GPU, so the copy there runs
    beside the computation. The loader is the feed's from then on: only the feed's state is that of the training loop.

        feed = Feed(Loader(Windows("out/web", length=1024), batch=12), device="cuda")
        for x, y in feed:
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())

    Raises ``ConfigError`` when PyTorch is not installed; what the loader raises is raised where the batch was due.
    """

    def __init__(self, loader: Loader, *, device: str = "cpu", ignore: int = -100) -> None:
        try:
            import torch
        except ImportError:
            raise ConfigError("PyTorch is not installed: pip install 'gristmill[torch]'") from None
        self._torch, self._loader, self._ignore = torch, loader, ignore
        self._device = torch.device(device)
        self._state = loader.state_dict()
        self._pool = ThreadPoolExecutor(1, "gristmill-feed")
        self._coming: deque[Future[tuple[Any, dict[str, Any]]]] = deque()

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        while True:
            yield self.next()

    def next(self) -> tuple[Any, Any]:
        """The next ``x, y``."""
        while len(self._coming) <= AHEAD:
            self._coming.append(self._pool.submit(self._staged))
        staged, self._state = self._coming.popleft().result()
        moved = staged.to(self._device, non_blocking=True)
        return moved[0], moved[1]

    def state_dict(self) -> dict[str, Any]:
        """Of the loader, after the batches that were given out, whatever was read ahead."""
        return self._state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a feed or a loader left off; see ``Loader``."""
        for future in self._coming:
            future.cancel()
        wait(self._coming)
        self._coming.clear()
        self._loader.load_state_dict(state)
        self._state = self._loader.state_dict()

    def _staged(self) -> tuple[Any, dict[str, Any]]:
        """x and labels in one buffer, int64 (2, batch, length), and the state after them."""
        batch = self._loader.next()
        staged = self._torch.empty((2, *batch.x.shape), dtype=self._torch.int64, pin_memory=self._device.type == "cuda")
        view = staged.numpy()
        view[0], view[1] = batch.x, batch.labels(self._ignore)
        return staged, self._loader.state_dict()
