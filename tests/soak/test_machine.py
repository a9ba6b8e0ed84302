"""Any mixture of runs, kills, damage, deletions and changed rules."""

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from soak.bench import Bench, Outcome, problems_of
from soak.damage import files_below, flip, found_by_verify
from soak.job import texts_in
from soak.places import Place

RULES: list[dict[str, Any]] = [{}, {"split": {"kind": "none"}}, {"cleaning": [{"kind": "length", "min_chars": 400}]}]
"""What is asked for: as the bench does, without a validation file, with fewer documents."""


class Machine(RuleBasedStateMachine):
    """One work area for all rules, one output for each, as somebody has who tries settings, and one that all share."""

    bench: Bench
    clean: list[dict[str, str]]
    """What an undisturbed run gives, by rules."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=self.bench.site.root))
        self.chance = random.Random(0)
        self.hurt: set[int] = set()

    def place(self, rules: int) -> Place:
        return Place(output=str(self.root / f"out-{rules}"), work=str(self.root / "work"))

    def run(self, rules: int, place: Place, **disturbed: Any) -> Outcome:
        document = self.bench.job.document(place, **RULES[rules])
        return self.bench.runner.run(document, **disturbed)

    chosen = st.integers(0, len(RULES) - 1)

    @rule(rules=chosen, call=st.integers(0, 400))
    def killed(self, rules: int, call: int) -> None:
        self.run(rules, self.place(rules), call=call)

    @rule(rules=chosen, share=st.floats(0, 1))
    def killed_at_a_moment(self, rules: int, share: float) -> None:
        self.run(rules, self.place(rules), seconds=share * self.bench.seconds)

    @rule(rules=chosen)
    def runs(self, rules: int) -> None:
        """Ends well, or says that somebody changed what was published: never over it, never beside it."""
        outcome = self.run(rules, self.place(rules))
        if rules in self.hurt:
            assert outcome.kind in ("", "ConfigError", "VerificationError"), outcome
        else:
            assert outcome.status == 0, outcome
            assert self.bench.site.published(self.place(rules).output) == self.clean[rules]

    @rule(first=chosen, second=chosen)
    def other_rules_for_one_output(self, first: int, second: int) -> None:
        """A data set of one kind of rules in which files of another are left would be read by a trainer."""
        place = Place(output=str(self.root / "shared"), work=str(self.root / "work"))
        self.run(first, place, call=self.chance.randrange(400))
        outcome = self.run(second, place)
        found = self.bench.site.published(place.output)
        if outcome.status == 0:
            assert found == self.clean[second]
        else:
            assert outcome.kind == "ConfigError", outcome
            assert first != second
        shutil.rmtree(place.output, ignore_errors=True)

    @precondition(lambda self: files_below(str(self.root / "work")))
    @rule(seed=st.integers(0, 1 << 16))
    def a_work_file_is_damaged(self, seed: int) -> None:
        chance = random.Random(seed)
        flip(chance.choice(files_below(str(self.root / "work"))), chance)

    @precondition(lambda self: files_below(str(self.root / "work")))
    @rule(seed=st.integers(0, 1 << 16), depth=st.integers(0, 2))
    def something_in_the_work_area_is_deleted(self, seed: int, depth: int) -> None:
        """A file, the output of a stage, or a stage."""
        path = random.Random(seed).choice(files_below(str(self.root / "work")))
        for _ in range(depth):
            path = path.parent
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    @rule(rules=chosen, seed=st.integers(0, 1 << 16))
    def a_published_file_is_damaged(self, rules: int, seed: int) -> None:
        chance = random.Random(seed)
        output = self.place(rules).output
        if rules in self.hurt or "manifest.json" not in self.bench.site.published(output):
            return
        path = chance.choice(files_below(output))
        flip(path, chance)
        self.hurt.add(rules)
        assert found_by_verify(output, path)

    @precondition(lambda self: self.hurt)
    @rule()
    def a_damaged_output_is_removed(self) -> None:
        shutil.rmtree(self.place(self.hurt.pop()).output)

    @invariant()
    def what_is_published_is_whole_and_right(self) -> None:
        for rules in set(range(len(RULES))) - self.hurt:
            place = self.place(rules)
            assert problems_of(self.bench.site.published(place.output), self.clean[rules], place) == []

    def teardown(self) -> None:
        for rules in sorted(self.hurt):
            shutil.rmtree(self.place(rules).output)
        self.hurt.clear()
        for rules in range(len(RULES)):
            self.runs(rules)
        found = texts_in(Path(self.place(0).output))
        shutil.rmtree(self.root)
        assert self.bench.job.lost_or_doubled(found) == []


def test_any_mixture_of_faults_ends_in_the_clean_result(bench: Bench) -> None:
    """Faults come together: the kill while a damaged file is made again, under rules that were just changed."""
    clean = []
    for rules in RULES:
        place = bench.site.place()
        assert bench.runner.run(bench.job.document(place, **rules)).status == 0
        clean.append(bench.site.published(place.output))
    machine = type("Mixture", (Machine,), {"bench": bench, "clean": clean})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=4,
            stateful_step_count=7,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
