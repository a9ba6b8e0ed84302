"""The file ``unfinished.json`` in an output: which run puts files there, until its manifest is in place.

Runs of one configuration on one input make the same bytes, so they share a claim.
"""

import datetime
import hashlib
import os
import socket

import msgspec

from gristmill.errors import BusyError, ConfigError, StorageError, VerificationError
from gristmill.storage import s3_client, stores
from gristmill.storage.stores import Place
from gristmill.types import Value

UNFINISHED = "unfinished.json"

LOOKS = 4
"""At a claim that comes, goes or is renewed meanwhile."""


class Claim(Value, frozen=True, kw_only=True):
    """Which run puts files into an output."""

    dataset: str
    generation: int = 0
    run: str = ""
    """Digest of what determines the bytes: runs that have the same one share the claim."""
    configuration: str = ""
    input: str = ""
    """Digests of both, by whose beginnings people tell runs apart."""
    process: str = ""
    since: str = ""
    lease_seconds: float = 0.0
    renewed: int = 0
    """How often, in a store."""
    decided: str = ""
    """In a store, the manifest that follows. It is put by whoever takes over, where the run itself is stopped."""

    def __str__(self) -> str:
        marks = f"configuration {self.configuration[:8]}, input {self.input[:8]}"
        return f"{self.process}, since {self.since} ({marks})"

    def is_made_of(self, given: object) -> bool:
        """Whether the run has this input."""
        return self.input == _digest(given)


def claim_of(dataset: str, generation: int, configuration: object, given: object) -> Claim:
    """The claim of this process; ``configuration`` and ``given``, the input, are JSON-able values."""
    settings, shards = _digest(configuration), _digest(given)
    return Claim(
        dataset=dataset,
        generation=generation,
        run=_digest([dataset, generation, settings, shards]),
        configuration=settings,
        input=shards,
        process=f"process {os.getpid()} on {socket.gethostname()}",
        since=f"{datetime.datetime.now(datetime.UTC):%F %T} UTC",
        lease_seconds=s3_client.in_force().lease_seconds,
    )


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def found(output: str) -> Claim | None:
    """The claim that is there, of a run at work or of one that was stopped."""
    place = stores.at(output)
    for left in reversed(range(LOOKS)):
        try:
            return decoded(place.read(UNFINISHED), place)
        except (ConfigError, StorageError):
            if not place.has(UNFINISHED):
                return None
            if not left:
                raise
    raise AssertionError("the last look returns or raises")


def decoded(data: bytes, place: Place) -> Claim:
    """The claim in the bytes of its file."""
    try:
        return msgspec.json.decode(data, type=Claim)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise VerificationError(f"{place.where(UNFINISHED)}: damaged ({error}); remove it") from None


def busy(place: Place, there: Claim, claim: Claim) -> BusyError:
    """The error of a run that finds another one at work."""
    if there.dataset != claim.dataset:
        return BusyError(
            f"{place.uri}: data set {there.dataset!r} is being made there by {there}; choose another --output"
        )
    return BusyError(
        f"{place.uri}: another run is making this data set: {there}; let it end and run again (what is new is added "
        "then), or choose another --output"
    )


def lost(place: Place, there: Claim | None) -> BusyError:
    """The error of a run whose claim is not there any more."""
    if there is None:
        return BusyError(
            f"{place.where(UNFINISHED)}: gone while this run was at work: the output was moved or removed; "
            "put it back, or run again (finished stages are reused)"
        )
    return BusyError(
        f"{place.uri}: another run has taken the output over: {there}; let it end, see what is left over by "
        f"`python -m gristmill doctor {place.uri} --older 0`, and run again"
    )


def check_left(place: Place, there: Claim, claim: Claim) -> None:
    """Files of a stopped run give way to those of the same data set, and to no others."""
    if there.dataset != claim.dataset and any(name != UNFINISHED for name in place.names()):
        raise ConfigError(
            f"{place.uri}: has files of data set {there.dataset!r}, whose run was stopped ({there}); run that one "
            "again, remove them, or choose another --output"
        )
