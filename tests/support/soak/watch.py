"""Somebody who looks at the output all the time."""

import threading
import time
from types import TracebackType
from typing import Self

from soak.bench import Bench, manifests, problems_of
from soak.places import Place


class Watcher:
    """Looks at a place from another thread until it is left; ``problems`` are what a reader could have met."""

    def __init__(
        self, bench: Bench, place: Place, reference: dict[str, str] | None = None, before: dict[str, str] | None = None
    ) -> None:
        self._site, self._place = bench.site, place
        self._reference, self._before = reference or bench.reference, before
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.looks = 0
        self.problems: list[str] = []

    def _look(self) -> None:
        while not self._stop.is_set():
            # The manifests are looked for before the rest, so that a file that appears meanwhile does no harm.
            found = self._site.published(self._place.output)
            if manifests(found):
                found = self._site.published(self._place.output) | {name: found[name] for name in manifests(found)}
            self.problems += problems_of(found, self._reference, self._place, self._before)
            self.looks += 1
            time.sleep(self._site.pause)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
