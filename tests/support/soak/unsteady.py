"""A store that fails: every answer may be a refusal, a reset, half an answer, or none though the request was carried
out."""

from collections.abc import Mapping

from fault_proxy import Fault, FaultProxy
from object_store import reached

from gristmill.storage import s3_client
from soak.bench import Bench, Runner
from soak.rows import Row, row
from soak.watch import Watcher

KINDS: dict[Fault, float] = {"slow_down": 0.15, "error": 0.15, "reset": 0.15, "lost": 0.3, "cut": 0.3, "slow": 0.1}
MIXED: dict[Fault, float] = {"slow_down": 0.05, "error": 0.05, "reset": 0.05, "lost": 0.1, "cut": 0.1, "slow": 0.02}
PLANS: list[Mapping[Fault, float]] = [MIXED, *({kind: share} for kind, share in KINDS.items())]
RUNS = 20
"""How often the command is given before it must have ended well."""


def faults(bench: Bench, count: int) -> Row:
    """One job each under the first ``count`` plans, the command given again until a run ends well."""
    problems: dict[int, list[str]] = {}
    told: list[str] = []
    for number, plan in enumerate(PLANS[:count]):
        problems[number], text = _job(bench, plan, number)
        told.append(text)
    notes = f"right bytes or an error that names the object, then right bytes ({'; '.join(told)})"
    return row("a store that fails", min(count, len(PLANS)), problems, notes)


def _job(bench: Bench, plan: Mapping[Fault, float], seed: int) -> tuple[list[str], str]:
    place = bench.site.place()
    problems: list[str] = []
    straight = s3_client.in_force().endpoint
    assert straight is not None
    with FaultProxy(straight, plan, seed=seed, pause=0.05) as proxy:
        with reached(proxy.endpoint, attempts=3):
            runner = Runner({**bench.site.environment, **s3_client.environment()})
        with Watcher(bench, place) as watcher:
            runs, outcome = 1, runner.run(bench.job.document(place))
            while outcome.status and runs < RUNS:
                if outcome.kind != "StorageError" or "s3://" not in outcome.error:
                    problems.append(f"{outcome.kind}: {outcome.error}")
                runs, outcome = runs + 1, runner.run(bench.job.document(place))
        runner.close()
        met = sum(proxy.met.values())
        problems += [] if proxy.met.keys() == plan.keys() else [f"met only {dict(proxy.met)} of {dict(plan)}"]
    problems += [*watcher.problems[:3], *(bench.finished(place) if outcome.status == 0 else [outcome.error])]
    kind = "mixed" if plan is MIXED else next(iter(plan))
    return problems, f"{kind}: {met} in {proxy.requests:,} requests, {runs} runs"
