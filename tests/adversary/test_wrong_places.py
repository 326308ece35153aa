"""Which fact is wrong: any of them, as likely as the others, also if only one is."""

from __future__ import annotations

import numpy as np

import standout as so


def test_a_single_wrong_fact_is_any_of_the_facts_and_not_always_a_rare_one():
    """Of 4 facts one is about a rare item and one is wrong: in a quarter of the queries they are the same fact."""
    n = 400
    record = np.repeat(np.arange(n), 6)
    item = np.tile([f"common {k}" for k in range(6)], n).astype(object)
    for k in (4, 5):
        item[k::6] = [f"rare {k} {r // 2}" for r in range(n)]  # held by two people each
    ds = so.Dataset.from_arrays(record, item, np.where(record == 0, 5.0, 1.0))
    who = so.Adversary(knows=4, wrong=1, wrong_kind="value", value_within=0, choose="rare:0.25@0.5")
    facts = who.sample(ds, np.arange(1, n), seed=3)
    wrong = (facts.value != 1.0).reshape(-1, 4)
    rare = np.char.startswith(facts.item.astype(str), "rare").reshape(-1, 4)
    assert (wrong.sum(axis=1) == 1).all()
    assert (rare.sum(axis=1) == 1).all()
    both = (wrong & rare).any(axis=1).mean()
    assert 0.15 < both < 0.35
