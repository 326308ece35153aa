"""Law: renaming or reordering records changes no rate, for any attack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import standout as so
from standout.attacks.attack import attack, attack_names
from standout.audit.judge import judge
from standout.experiment.attackers import VARIANTS
from standout.experiment.outcomes import Outcomes, Truth

N, M = 120, 14

ATTACKS = [*((name, {}) for name in attack_names()), *VARIANTS]

ORDERS = ("reversed", "shuffled", "short first", "long first")


def entries():
    """Short records of few items with few values: ties everywhere."""
    rng = np.random.default_rng(5)
    weight = 1.0 / np.arange(1, M + 1)
    rows = [
        (r, i)
        for r in range(N)
        for i in rng.choice(M, rng.integers(2, 7), replace=False, p=weight / weight.sum())
    ]
    record, item = np.array(rows).T
    return record, item, rng.integers(1, 3, record.size), rng.integers(0, 4, record.size) * 30


def named(order):
    """Label of each record under an order: labels are sorted, so they decide the index."""
    record, *_ = entries()
    lengths = np.bincount(record, minlength=N)
    place = {
        "as it is": np.arange(N),
        "reversed": N - 1 - np.arange(N),
        "shuffled": np.random.default_rng(1).permutation(N),
        "short first": np.argsort(np.argsort(lengths, kind="stable")),
        "long first": np.argsort(np.argsort(-lengths, kind="stable")),
    }[order]
    return np.array([f"r{k:04d}" for k in place])


def targets_of(who, order):
    """Index, under this order, of the records that are attacked."""
    record, item, value, time = entries()
    plain = so.Dataset.from_arrays(named("as it is")[record], item, value, time)
    labels = np.sort(named(order))
    # a third of the records: an attack or a guess that prefers an index meets it or does not
    return np.searchsorted(labels, named(order)[who.eligible(plain)[::3]])


def judged(name, options, who, order):
    """Verdicts and rates of an attack on records named in this order; the knowledge is the same."""
    record, item, value, time = entries()
    plain = so.Dataset.from_arrays(named("as it is")[record], item, value, time)
    renamed = so.Dataset.from_arrays(named(order)[record], item, value, time)
    persons = targets_of(who, "as it is")
    # the renamed data is what the knowledge was drawn from, under other names
    knowledge = replace(who.sample(plain, persons, seed=3), source=renamed)
    targets = targets_of(who, order)
    one = attack(name, **options)
    present = one.run(renamed, knowledge, watch=targets)
    absent = one.run(renamed, knowledge, exclude=targets)
    truth = Truth(targets, np.arange(targets.size) % 2 == 0)
    outcomes = Outcomes.of(present, truth, absent)
    found = judge(outcomes, truth.calibration, renamed, renamed.lengths[targets])
    return present, found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=[f"{n}{o or ''}" for n, o in ATTACKS])
def test_renaming_or_reordering_records_changes_no_rate(name, options, order):
    who = so.Adversary(knows=2, value_within=0, time_within=30)
    (seen, rates), (again, other) = (judged(name, options, who, o) for o in ("as it is", order))
    np.testing.assert_array_equal(seen.credit, again.credit)
    np.testing.assert_array_equal(seen.rank, again.rank)
    for key in (
        "hit",
        "matched_right",
        "matched_wrong",
        "false_match",
        "k_identified",
        "by_length",
    ):
        assert rates[key] == other[key], key
    assert rates["baselines"] == other["baselines"]


def test_counting_the_first_of_tied_records_would_break_this_law():
    who = so.Adversary(knows=2, value_within=0, time_within=30)
    by_index = []
    for order in ORDERS:
        seen, rates = judged("scoreboard-rh", {}, who, order)
        on_top = seen.credit > 0
        assert rates["hit"]["count"] == pytest.approx((1 / seen.n_tied[on_top]).sum())
        by_index.append(int((seen.best == targets_of(who, order)).sum()))
    assert len(set(by_index)) > 1


@pytest.mark.parametrize("order", ORDERS)
def test_a_whole_audit_of_renamed_records_finds_the_same(order):
    """Targets and knowledge are drawn by what a record holds, so the audit itself does not depend on labels."""
    record, item, value, time = entries()
    who = [
        so.Adversary(knows=2, time_within=3),
        so.Adversary(knows=4, wrong=1, wrong_kind="item", value_within=1),
    ]
    found = [
        so.Audit(
            so.Dataset.from_arrays(named(names)[record], item, value, time), who, targets=50, seed=4
        )
        .run()
        .to_frame()
        for names in ("as it is", order)
    ]
    assert found[0].hit.between(0.05, 0.95).any()
    np.testing.assert_allclose(
        *(f.select_dtypes("number").to_numpy(float) for f in found), rtol=1e-9
    )
