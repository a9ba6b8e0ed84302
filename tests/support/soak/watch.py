"""Somebody who looks at the output all the time."""

import threading
import time
from types import TracebackType
from typing import Self

from soak.bench import Bench, problems_of
from soak.places import Place


class Watcher:
    """Looks at a place from another thread until it is left; ``problems`` are what a reader could have met."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self._bench, self._place = bench, place
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.looks = 0
        self.problems: list[str] = []

    def _look(self) -> None:
        while not self._stop.is_set():
            # The manifest is looked for before the rest, so that a file that appears meanwhile does no harm.
            before = self._bench.site.published(self._place.output)
            after = self._bench.site.published(self._place.output) if "manifest.json" in before else before
            self.problems += problems_of(after, self._bench.reference, self._place)
            self.looks += 1
            time.sleep(0.001)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
