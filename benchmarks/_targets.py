"""What the project set out to reach, and whether a comparison shows it."""

from collections.abc import Callable
from dataclasses import dataclass

from _results import OURS, Comparison
from _table import fastest_floor, table

PEERS = (
    ("megatron", "tokens", 3),
    ("nanogpt", "tokens", 12),
    ("datatrove_tokens", "tokens", 20),
    ("dolma", "tokens", 20),
    ("olmo", "tokens", 20),
    ("datatrove_minhash", "dedup", 25),
    ("datatrove_filters", "full", 15),
)
FLOOR = 2.0
MEMORY = 1.5e9


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound on a figure, ``None`` where it was not measured."""

    what: str
    wanted: float
    reached: float | None
    bound: str
    """``at least``, ``at most`` or ``under``."""
    unit: Callable[[float], str]

    def row(self) -> list[str]:
        wanted = f"{self.bound} {self.unit(self.wanted)}"
        if self.reached is None:
            return [self.what, wanted, "not measured", ""]
        return [self.what, wanted, self.unit(self.reached), "yes" if self.met(self.reached) else "no"]

    def met(self, reached: float) -> bool:
        if self.bound == "at least":
            return reached >= self.wanted
        return reached <= self.wanted if self.bound == "at most" else reached < self.wanted


def times(value: float) -> str:
    return f"{value:.3g} times"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"


def seconds(value: float) -> str:
    return f"{value:.1f} s"


def share(value: float) -> str:
    return f"{value:.1%}"


def targets(found: Comparison) -> list[Target]:
    """Those that a comparison on one corpus can show."""
    goals = [
        Target(
            what=f"{job}: as fast as {name}",
            wanted=goal,
            reached=faster(found, name, job),
            bound="at least",
            unit=times,
        )
        for name, job, goal in PEERS
    ]
    ours, floor = found.found(OURS, "tokens"), fastest_floor(found)
    over = ours.middle("seconds") / floor.middle("seconds") if ours is not None and floor is not None else None
    full = found.found(OURS, "full")
    peak = None if full is None else full.worst("peak")
    return [
        *goals,
        Target(what="tokens: of the faster floor", wanted=FLOOR, reached=over, bound="at most", unit=times),
        Target(what="full: peak memory of all processes", wanted=MEMORY, reached=peak, bound="under", unit=megabytes),
    ]


def faster(found: Comparison, name: str, job: str) -> float | None:
    """The other's seconds over ours."""
    ours, other = found.found(OURS, job), found.found(name, job)
    return None if ours is None or other is None else other.middle("seconds") / ours.middle("seconds")


def shown(goals: list[Target]) -> str:
    return table(["target", "wanted", "reached", "met"], [goal.row() for goal in goals])
