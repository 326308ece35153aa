"""A plan is small whatever the number of records: what depends on a record is worked out in the shard."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import standout as so
from standout.attacks.picks import log_falling, picks
from standout.scoring.factors import ByCount, ByNorm, BySum, factors_of

N_ITEMS, PER_RECORD, N_QUERIES = 1_000, 4, 1_000
OPTIONS = {"scoreboard-rh": {"length": "sqrt"}}


def release(n_records: int) -> so.Dataset:
    """Records of four items each, the same items and scales whatever their number."""
    record = np.repeat(np.arange(n_records), PER_RECORD)
    item = (record * 7 + np.tile(np.arange(PER_RECORD), n_records) * 11) % N_ITEMS
    return so.Dataset.from_arrays(
        record, item, 1.0 + (record + item) % 5, (record * 3 + item) % 400
    )


@pytest.fixture(scope="module")
def releases() -> tuple[so.Dataset, so.Dataset]:
    return release(1_000), release(1_000_000)


@pytest.mark.parametrize("choose", ["uniform", "outside-top:3"])
@pytest.mark.parametrize(
    ("name", "noise"),
    [*((name, {}) for name in so.attack_names()), ("likelihood", {"noise": "fit"})],
)
def test_a_pickled_plan_is_as_large_for_a_thousand_records_as_for_a_million(
    releases, name, choose, noise
):
    sizes = []
    for data in releases:
        who = so.Adversary(knows=2, value_within=1, time_within=14, choose=choose)
        facts = who.sample(data, np.arange(N_QUERIES) % 1_000, seed=3).bind(data)
        attack = so.attack(name, **OPTIONS.get(name, {}), **noise)
        if noise:
            # the noise of a small release will do: plans are compared, not fits
            attack._noise = attack.fit(
                releases[0], who.sample(releases[0], np.arange(40), seed=3)
            )._noise
        plan = attack.compile(data, facts, np.full(N_QUERIES, -1, np.int64))
        sizes.append(len(pickle.dumps(plan)))
    assert abs(sizes[1] - sizes[0]) < 0.02 * sizes[0], sizes


@pytest.mark.parametrize(("kind", "within"), [("item", 1), ("value", 1), ("value", 2)])
@pytest.mark.parametrize("choose", ["uniform", "outside-top:4", "rare:0.5@0.158"])
def test_a_shard_finds_the_same_records_eligible_as_the_adversary(choose, kind, within):
    rng = np.random.default_rng(6)
    record = np.repeat(np.arange(120), rng.integers(1, 40, 120))
    item = rng.integers(0, 18, record.size)
    # with ±2 on a scale of 1 to 5 a value of 3 cannot be told wrongly
    data = so.Dataset.from_arrays(
        record, item, rng.choice([1.0, 3.0, 5.0], record.size, p=[0.1, 0.8, 0.1])
    )
    who = so.Adversary(knows=4, wrong=2, wrong_kind=kind, value_within=within, choose=choose)
    rule = picks(who, data)
    got = np.concatenate(
        [factors_of(rule.log_pick, shard) for shard in data.shards_at([0, 30, 120], 16)]
    )
    assert np.flatnonzero(np.isfinite(got)).tolist() == who.eligible(data).tolist()
    assert 0 < np.isfinite(got).sum() < 120
    if choose == "uniform" and within == 1:
        here = np.isfinite(got)
        np.testing.assert_allclose(
            got[here], log_falling(data.lengths[here], who.n_right_items), rtol=1e-14
        )


def test_a_shard_works_out_the_factors_of_its_records():
    rng = np.random.default_rng(2)
    record, item = np.repeat(np.arange(90), 9), rng.integers(0, 30, 810)
    data = so.Dataset.from_arrays(record, item)
    assert data.has_repeats
    held = [np.unique(item[record == r]) for r in range(90)]
    marked, weight, table = rng.random(30) < 0.4, rng.random(30), rng.random(40)
    rules = {
        "count": (ByCount(table), [table[h.size] for h in held]),
        "marked": (ByCount(table, marked), [table[marked[h].sum()] for h in held]),
        "norm": (ByNorm(weight), [1 / np.sqrt((weight[h] ** 2).sum()) for h in held]),
        "sum": (BySum(weight), [weight[h].sum() for h in held]),
        "none": (ByNorm(np.zeros(30)), [0.0] * 90),
    }
    for cut in ([0, 90], [0, 1, 50, 90]):
        shards = data.shards_at(cut, 16)
        for name, (rule, wanted) in rules.items():
            got = np.concatenate([factors_of(rule, shard) for shard in shards])
            np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=name)
            assert rule.largest >= max(wanted) or name == "none"
        for shard in shards:
            shard.__dict__.pop("lengths")
        assert np.concatenate([shard.lengths for shard in shards]).tolist() == [
            h.size for h in held
        ]
