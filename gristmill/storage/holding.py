"""One run at a time changes an output: the one that its claim names.

On disk the processes of the run lock the claim, and the system unlocks it when the last of them ends, however it ends.
In a store the claim is a lease: the run renews it, and another run takes over what was not renewed for the seconds that
it states, by the store's clock.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from gristmill.errors import ConfigError, GristmillError, StorageError, VerificationError
from gristmill.storage import locks, s3, stores
from gristmill.storage.claims import UNFINISHED, Claim, busy, check_left, decoded, found, lost
from gristmill.storage.stores import Place

PATIENCE = 1.0
"""Seconds after which a lock is taken for that of a run at work: the workers of a killed one end a moment after it."""

LOOK_SECONDS = 0.05
"""Between looks at a lock."""

RENEWALS = 4
"""How often a lease is renewed in the time that it lasts; another run looks at it twice as often."""


@contextmanager
def held(
    output: str, claim: Claim, settle: Callable[[bytes], None], is_untouched: Callable[[], bool]
) -> Iterator[Claim | None]:
    """Around everything that a run does to an output; given is the claim of another run, stopped, that it takes over.

    When the block fails and the output is not ``is_untouched``, the claim stays, held by nobody: it says whose files
    are there. ``settle`` puts the manifest that a stopped run had decided on.

    Raises ``BusyError`` when another run holds the output, ``ConfigError`` when it has files of another data set
    without a manifest.
    """
    place = stores.at(output)
    with _leased(place, claim, settle) if stores.is_remote(output) else _locked(place, claim) as (before, release):
        try:
            yield before
        except BaseException:
            with suppress(GristmillError):
                if is_untouched():
                    release()
            raise
        release()


@contextmanager
def putting(output: str, claim: Claim) -> Iterator[bool]:
    """Around each step that changes the output, in any process that works for the run. Given is whether the claim is
    there: in a store a run that shared it may have ended and taken it away.

    Raises ``BusyError`` when the output is no longer the run's, at the beginning or, in a store, at the end.
    """
    place = stores.at(output)
    if stores.is_remote(output):
        is_there = _is_there(place, claim)
        yield is_there
        _is_there(place, claim)
        return
    file = locks.opened(Path(place.where(UNFINISHED)))
    if file is None:
        raise lost(place, None)
    with file:
        there = decoded(file.data, place)
        if there.run != claim.run or not file.share():
            raise lost(place, there)
        yield True


def _is_there(place: Place, claim: Claim) -> bool:
    there = found(place.uri)
    if there is not None and there.run != claim.run:
        raise lost(place, there)
    return there is not None


def decide(output: str, claim: Claim, manifest: bytes) -> None:
    """In a store, say in the claim which manifest follows: the last moment at which the run can lose the output.

    Raises ``BusyError`` when it has lost it.
    """
    if stores.is_remote(output):
        _renew(stores.at(output), claim, decided=manifest.decode())


_Held = tuple[Claim | None, Callable[[], None]]
"""The claim of another run that was taken over, and what takes away the own one."""


@contextmanager
def _locked(place: Place, claim: Claim) -> Iterator[_Held]:
    file, before = _locked_file(place, claim)

    def release() -> None:
        if file.own():  # else another run shares it
            file.remove()

    with file:
        yield before, release


def _of(file: locks.LockFile, place: Place) -> Claim:
    try:
        return decoded(file.data, place)
    except VerificationError:
        file.close()
        raise


def _locked_file(place: Place, claim: Claim) -> tuple[locks.LockFile, Claim | None]:
    path, until = Path(place.where(UNFINISHED)), time.monotonic() + PATIENCE
    while True:
        there = locks.opened(path)
        if there is None:
            file = locks.made(path, msgspec.json.encode(claim), None)
            if file is not None:
                return file, None
            continue
        before = _of(there, place)
        if before.run == claim.run and there.share():
            return there, None
        with there:
            if before.run != claim.run and there.own():
                check_left(place, before, claim)
                file = locks.made(path, msgspec.json.encode(claim), there)
                assert file is not None, "nobody makes a file where there is one"
                return file, before
        if time.monotonic() > until:
            raise busy(place, before, claim)
        time.sleep(LOOK_SECONDS)


@contextmanager
def _leased(place: Place, claim: Claim, settle: Callable[[bytes], None]) -> Iterator[_Held]:
    before = _take(place, claim, settle)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(claim.lease_seconds / RENEWALS):
            with suppress(ConfigError, StorageError):  # the next step that changes the output finds out why
                _renew(place, claim)

    thread = threading.Thread(target=renew, daemon=True)

    def release() -> None:
        ended.set()
        thread.join()
        there = found(place.uri)
        if there is not None and there.run == claim.run:
            place.remove(UNFINISHED)

    thread.start()
    try:
        yield before, release
    finally:
        ended.set()


def _take(place: Place, claim: Claim, settle: Callable[[bytes], None]) -> Claim | None:
    """Wait until the lease of a stopped run has ended; returns its claim. Raises ``BusyError`` as soon as one is
    renewed."""
    uri, first = place.where(UNFINISHED), None
    while True:
        state = s3.stat(uri)
        there = None if state is None else found(place.uri)
        if state is None or there is None:
            with suppress(StorageError):
                s3.swap(uri, msgspec.json.encode(claim), None)
            continue
        if there.run == claim.run:
            _renew(place, claim)
            return first
        first = first or there
        if there.renewed != first.renewed or there.run != first.run:
            raise busy(place, there, claim)
        if s3.age(uri) > there.lease_seconds:
            check_left(place, there, claim)
            if there.decided:
                settle(there.decided.encode())
            with suppress(StorageError):
                s3.swap(uri, msgspec.json.encode(claim), state.etag)
        else:
            time.sleep(there.lease_seconds / RENEWALS / 2)


def _renew(place: Place, claim: Claim, decided: str = "") -> None:
    """Raises ``BusyError`` when the lease is another run's, or gone."""
    uri = place.where(UNFINISHED)
    for left in reversed(range(RENEWALS * 4)):
        state = s3.stat(uri)
        there = None if state is None else found(place.uri)
        if state is None or there is None or there.run != claim.run:
            raise lost(place, there)
        renewed = msgspec.structs.replace(claim, renewed=there.renewed + 1, decided=decided or there.decided)
        try:
            s3.swap(uri, msgspec.json.encode(renewed), state.etag)
            return
        except StorageError:  # a process of this run was first, or another run
            if not left:
                raise
