"""Any mixture of runs, kills, damage, deletions, arrivals and changed rules."""

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from corpora import cut_short
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from soak.bench import Bench, Outcome, manifests, problems_of
from soak.damage import flip, found_by_verify
from soak.job import texts_in
from soak.places import Place

from gristmill.manifest import MANIFEST
from gristmill.stages.ingest.generations import FINISHED
from gristmill.storage.claims import UNFINISHED

RULES: list[dict[str, Any]] = [{}, {"split": {"kind": "none"}}, {"cleaning": [{"kind": "length", "min_chars": 400}]}]
"""What is asked for: as the bench does, without a validation file, with fewer documents."""

CHANGED = ["split", "cleaning"]
"""What the refusal of other rules names."""

Input = frozenset[Path]


class Machine(RuleBasedStateMachine):
    """One work area for all rules, one output for each, as somebody has who tries settings, and one that all share. The
    input is some of the files of the job, the first always among them, and perhaps a damaged one."""

    bench: Bench
    broken: Path
    clean: dict[tuple[int, tuple[Input, ...]], dict[str, str]]
    """What undisturbed runs give, by rules and the input of each generation."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=self.bench.site.root))
        self.work = str(self.root / "work")
        self.chance = random.Random(0)
        self.input: Input = frozenset(self.bench.job.files[:2])
        self.tried: list[Input] = [self.input]
        self.history: dict[int, tuple[Input, ...]] = dict.fromkeys(range(len(RULES)), ())
        self.hurt: set[int] = set()

    def place(self, rules: int) -> Place:
        return Place(output=str(self.root / f"out-{rules}"), work=self.work)

    def published(self, rules: int) -> dict[str, str]:
        return self.bench.site.published(self.place(rules).output)

    def run(self, rules: int, place: Place, **disturbed: Any) -> Outcome:
        asked = {**RULES[rules], "sources": self.bench.job.sources(sorted(self.input))}
        return self.bench.run(place, asked, **disturbed)

    def run_own(self, rules: int, **disturbed: Any) -> Outcome:
        """A run of rules on their own output, and which generation it finished, whether it ended well or not."""
        outcome = self.run(rules, self.place(rules), **disturbed)
        finished = sum(name.startswith(FINISHED) for name in self.published(rules))
        assert finished - len(self.history[rules]) in (0, 1)
        if finished > len(self.history[rules]):
            self.history[rules] += (self.input,)
        return outcome

    def calm(self, rules: int, history: tuple[Input, ...]) -> dict[str, str]:
        if (rules, history) not in self.clean:
            place = self.bench.site.place()
            for files in history:
                asked = {**RULES[rules], "sources": self.bench.job.sources(sorted(files))}
                assert self.bench.run(place, asked).status == 0
            self.clean[rules, history] = self.bench.site.published(place.output)
        return self.clean[rules, history]

    chosen = st.integers(0, len(RULES) - 1)

    @rule(rules=chosen, call=st.integers(0, 400))
    def killed(self, rules: int, call: int) -> None:
        self.run_own(rules, call=call)

    @rule(rules=chosen, share=st.floats(0, 1))
    def killed_at_a_moment(self, rules: int, share: float) -> None:
        self.run_own(rules, seconds=share * self.bench.seconds)

    @rule(rules=chosen)
    def runs(self, rules: int) -> None:
        """Ends well, or says that somebody changed what was published, or which input cannot be read."""
        outcome = self.run_own(rules)
        if rules in self.hurt:
            assert outcome.kind in ("", "ConfigError", "VerificationError", "InputError"), outcome
        elif self.broken in self.input:
            assert outcome.kind == "InputError", outcome
            assert self.broken.name in outcome.error
        else:
            assert outcome.status == 0, outcome
            assert self.published(rules) == self.calm(rules, self.history[rules])

    @precondition(lambda self: len(self.input) < len(self.bench.job.files))
    @rule()
    def input_arrives(self) -> None:
        """A new night."""
        self.becomes(self.input | {next(path for path in self.bench.job.files if path not in self.input)})

    @precondition(lambda self: len(self.input) > 1)
    @rule()
    def input_is_deleted(self) -> None:
        """Its documents stay where they were published already."""
        self.becomes(self.input - {max(self.input)})

    @precondition(lambda self: self.broken not in self.input)
    @rule()
    def damaged_input_arrives(self) -> None:
        self.becomes(self.input | {self.broken})

    def becomes(self, files: Input) -> None:
        self.input = files
        self.tried.append(files)

    @rule(first=chosen, second=chosen)
    def other_rules_for_one_output(self, first: int, second: int) -> None:
        """A data set of one kind of rules in which files of another are left would be read by a trainer; and who is
        refused goes on with another output."""
        if self.broken in self.input:
            return
        place = Place(output=str(self.root / "shared"), work=self.work)
        self.run(first, place, call=self.chance.randrange(400))
        is_finished = bool(manifests(self.bench.site.published(place.output)))
        outcome = self.run(second, place)
        if outcome.status == 0:
            assert self.bench.site.published(place.output) == self.calm(second, (self.input,))
        else:
            assert outcome.kind == "OtherRules", outcome
            assert first != second
            assert not is_finished or any(name in outcome.error for name in CHANGED)
            self.runs(second)
        self.bench.site.remove(place.output)

    @precondition(lambda self: self.bench.site.files(self.work))
    @rule(seed=st.integers(0, 1 << 16))
    def a_work_file_is_damaged(self, seed: int) -> None:
        chance = random.Random(seed)
        flip(self.bench.site, self.work, chance.choice(self.bench.site.files(self.work)), chance)

    @precondition(lambda self: self.bench.site.files(self.work))
    @rule(seed=st.integers(0, 1 << 16), depth=st.integers(0, 2))
    def something_in_the_work_area_is_deleted(self, seed: int, depth: int) -> None:
        """A file, the output of a stage, or a stage."""
        parts = random.Random(seed).choice(self.bench.site.files(self.work)).split("/")
        self.bench.site.remove(self.work, "/".join(parts[: max(1, len(parts) - depth)]))

    @rule(rules=chosen, seed=st.integers(0, 1 << 16))
    def a_published_file_is_damaged(self, rules: int, seed: int) -> None:
        chance, output = random.Random(seed), self.place(rules).output
        found = self.published(rules)
        if rules in self.hurt or MANIFEST not in found or UNFINISHED in found:
            return
        name = chance.choice(self.bench.site.files(output))
        flip(self.bench.site, output, name, chance)
        self.hurt.add(rules)
        assert found_by_verify(output, name)

    @precondition(lambda self: self.hurt)
    @rule()
    def a_damaged_output_is_removed(self) -> None:
        self.remove(self.hurt.pop())

    def remove(self, rules: int) -> None:
        self.bench.site.remove(self.place(rules).output)
        self.history[rules] = ()

    @invariant()
    def what_is_published_is_whole_and_right(self) -> None:
        """What is finished is there to the last byte; anything else is a file that some run would make."""
        for rules in set(range(len(RULES))) - self.hurt:
            found, history = self.published(rules), self.history[rules]
            done = self.calm(rules, history) if history else {}
            tried = [files for files in self.tried if self.broken not in files] if found.keys() - done else []
            coming = [self.calm(rules, (*history, files)) for files in dict.fromkeys(tried)]
            for name in found.keys() - done - {UNFINISHED}:
                assert any(made.get(name) == found[name] for made in coming), name
            listed = {name: found[name] for name in found if name in done}
            if history and listed.get(MANIFEST) == self.before(rules).get(MANIFEST):
                listed[MANIFEST] = done[MANIFEST]  # a kill came before it was moved on
            assert problems_of(listed, done, self.place(rules)) == []

    def before(self, rules: int) -> dict[str, str]:
        history = self.history[rules]
        return self.calm(rules, history[:-1]) if len(history) > 1 else {}

    def teardown(self) -> None:
        self.becomes(self.input - {self.broken})
        for rules in sorted(self.hurt):
            self.remove(rules)
        self.hurt.clear()
        for rules in range(len(RULES)):
            self.runs(rules)
        self.becomes(frozenset(self.bench.job.files))
        self.runs(0)
        found = texts_in(self.bench.site, self.place(0).output)
        shutil.rmtree(self.root)
        assert self.bench.job.lost_or_doubled(found) == []


def test_any_mixture_of_faults_ends_in_the_clean_result(bench: Bench, tmp_path: Path) -> None:
    """Faults come together: the kill while a damaged file is made again, under rules that were just changed."""
    broken = tmp_path / "broken.jsonl.gz"
    shutil.copy(next(path for path in bench.job.files if path.suffix == ".gz"), broken)
    machine = type("Mixture", (Machine,), {"bench": bench, "broken": cut_short(broken), "clean": {}})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=3,
            stateful_step_count=8,
            deadline=None,
            phases=[Phase.reuse, Phase.generate],  # a smaller example takes minutes to find
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
