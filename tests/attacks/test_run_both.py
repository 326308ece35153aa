"""Targets in the release and targets away, in one run: the same answers as two runs, and one walk where that is exact."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from strategies import dataset, random_table

import standout as so
from standout.extend import GroupsView
from standout.scoring.factors import ByCount
from standout.scoring.kernels import same_tables
from standout.scoring.plan import Combine, Tie
from standout.scoring.tasks import Score

WHO = {
    "right": so.Adversary(knows=3, value_within=1, time_within=14),
    "wrong values": so.Adversary(knows=3, wrong=1, value_within=1, time_within=14),
    "wrong items": so.Adversary(knows=3, wrong=1, wrong_kind="item"),
    "length": so.Adversary(knows=2, value_within=1, length_within=0.3),
}
INTEGERS = (
    "best",
    "score",
    "second",
    "runner_up",
    "matched",
    "n_candidates",
    "n_matching",
    "rank",
    "n_tied",
    "credit",
)
SHARED = {
    ("scoreboard", "right"),
    ("scoreboard", "wrong items"),
    ("set-intersection", "right"),
    ("unicity", "right"),
    ("generic", "right"),
    ("likelihood", "right"),
    ("likelihood", "wrong values"),
}
NOT_SHARED = {
    ("scoreboard-rh", "right"),
    ("likelihood", "wrong items"),
    ("tf-idf", "right"),
    ("weighted", "right"),
}


class Counting(so.MemoryEngine):
    """Counts the walks that score all records."""

    walks = 0

    def map(self, task, shards):
        self.walks += isinstance(task, Score)
        return super().map(task, shards)


@pytest.fixture(scope="module", params=[False, True], ids=["single", "repeats"])
def release(request) -> so.Dataset:
    return dataset(random_table(180, 14, 6, seed=8, missing=0.1, repeats=request.param))


def assert_same(a: so.Verdicts, b: so.Verdicts) -> None:
    for name in INTEGERS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for field in fields(a):
        np.testing.assert_allclose(
            getattr(a, field.name), getattr(b, field.name), rtol=1e-9, atol=1e-9, err_msg=field.name
        )


@pytest.mark.parametrize("kind", WHO)
@pytest.mark.parametrize("name", so.attack_names())
def test_one_run_with_and_without_the_targets_answers_as_two_runs(name, kind, release):
    who = WHO[kind]
    eligible = who.eligible(release)[::4]
    aux = who.sample(release, eligible, seed=3)
    # a target that the release lacks, and one that is another record than the one behind the query
    targets = np.where(
        np.arange(eligible.size) % 7 == 3,
        -1,
        np.where(np.arange(eligible.size) % 5 == 2, 0, eligible),
    )
    attack, done = so.attack(name), []
    present, absent = attack.run_both(release, aux, targets, progress=done.append)
    assert_same(present, attack.run(release, aux, watch=targets))
    assert_same(absent, attack.run(release, aux, exclude=targets, lineup=False))
    assert sum(done) == 2 * targets.size


class Twice(type(so.attack("scoreboard"))):
    """An attack with a `run` of its own."""

    def run(self, *args, **options):
        """Run as the attack that it is made from."""
        return super().run(*args, **options)


@pytest.mark.parametrize(
    "seen",
    [
        {"view": "sequence"},
        {"view": "counts", "within": {"count": 1}},
        {"view": GroupsView({i: f"group {i % 5}" for i in range(14)}, name="groups")},
    ],
    ids=["sequence", "counts", "groups"],
)
@pytest.mark.parametrize("attack", [so.attack("tf-idf"), Twice()], ids=["tf-idf", "own run"])
def test_an_attack_that_is_asked_twice_sees_the_release_through_the_view_once(
    attack, seen, release
):
    if seen.get("within") is None:
        seen = {"value_within": None, **seen}
    who = so.Adversary(knows=2, **seen)
    targets = who.eligible(release)[::5]
    aux = who.sample(release, targets, seed=3)
    present, absent = attack.run_both(release, aux, targets)
    assert_same(present, attack.run(release, aux, watch=targets))
    assert_same(absent, attack.run(release, aux, exclude=targets, lineup=False))


def test_the_rarest_items_are_ranked_once_where_an_attack_is_asked_twice():
    data = dataset(random_table(60, 40, 8, seed=1))
    who = so.Adversary(knows=2, choose="rarest", value_within=None)
    targets = who.eligible(data)
    aux, attack = who.sample(data, targets, seed=1), so.attack("tf-idf")
    assert_same(attack.run_both(data, aux, targets)[0], attack.run(data, aux, watch=targets))


@pytest.mark.parametrize(("name", "kind"), sorted(SHARED | NOT_SHARED))
def test_records_are_scored_once_where_the_target_changes_no_other_score(name, kind, release):
    who = WHO[kind]
    targets = who.eligible(release)[:3]
    aux, engine, attack = who.sample(release, targets, seed=3), Counting(), so.attack(name)
    attack.fit(release, aux)
    attack.run_both(release, aux, targets, engine)
    # queries of tf-idf that exclude different records need plans of their own
    assert engine.walks == (1 if (name, kind) in SHARED else 2 if not attack.alone else 4)


@pytest.mark.parametrize("name", ["scoreboard", "generic", "likelihood"])
def test_ties_with_the_target_are_counted_as_in_a_run_of_its_own(name):
    rows = np.repeat(np.arange(40), 3)
    items = np.concatenate([(np.arange(3) + r % 4) for r in range(40)])
    data = so.Dataset.from_arrays(rows, items)
    targets = np.arange(40)
    aux = so.Adversary(knows=2).sample(data, targets, seed=1)
    attack = so.attack(name)
    present, absent = attack.run_both(data, aux, targets)
    assert present.n_tied.max() > 1
    assert_same(present, attack.run(data, aux, watch=targets))
    assert_same(absent, attack.run(data, aux, exclude=targets, lineup=False))


def test_the_spacing_rule_decides_alike_in_one_run_and_in_two(release):
    who = WHO["right"]
    targets = who.eligible(release)[::3]
    aux, attack = (
        who.sample(release, targets, seed=3),
        so.attack("likelihood", decide="spacing", level=0.2),
    )
    present, absent = attack.run_both(release, aux, targets)
    assert_same(present, attack.run(release, aux, watch=targets))
    assert_same(absent, attack.run(release, aux, exclude=targets, lineup=False))


def test_plans_that_differ_in_one_option_or_table_never_share_a_walk(release):
    who = WHO["right"]
    targets = who.eligible(release)[:3]
    plan = so.attack("scoreboard").compile(
        release, who.sample(release, targets, seed=3).bind(release), targets
    )
    assert same_tables(plan, plan.replace_tables(exclude=np.full(3, -1)))
    factor = ByCount(np.ones(7))
    others = {
        "combine": Combine.SUM,
        "tie": Tie.HASH,
        "use_value": not plan.use_value,
        "use_time": not plan.use_time,
        "filtered": not plan.filtered,
        "gap_shift": plan.gap_shift + 1,
        "factor": factor,
        "weight": factor,
        "scale": plan.scale * 2,
    }
    for name, other in others.items():
        assert not same_tables(plan, replace(plan, **{name: other})), name
    for name in ("item", "value", "salt", "cut"):
        assert not same_tables(
            plan, plan.replace_tables(**{name: plan.tables.arrays()[name] + 1})
        ), name
