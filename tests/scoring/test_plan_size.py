"""A plan is small whatever the number of records: what depends on a record is worked out in the shard."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import standout as so
from standout.attacks.bayes import pick_logs, picks
from standout.scoring.factors import ByCount, ByNorm, BySum, factors_of

N_ITEMS, PER_RECORD, N_QUERIES = 50, 4, 1_000
OPTIONS = {"scoreboard-rh": {"length": "sqrt"}}


def release(n_records: int) -> so.Dataset:
    """Records of four items each, the same items and scales whatever their number."""
    record = np.repeat(np.arange(n_records), PER_RECORD)
    item = (record * 7 + np.tile(np.arange(PER_RECORD), n_records) * 11) % N_ITEMS
    return so.Dataset.from_arrays(record, item, 1.0 + (record + item) % 5, (record * 3 + item) % 400)


@pytest.fixture(scope="module")
def releases() -> tuple[so.Dataset, so.Dataset]:
    return release(1_000), release(1_000_000)


@pytest.mark.parametrize("noise", [{}, {"noise": "fit"}])
@pytest.mark.parametrize("choose", ["uniform", "outside-top:3"])
@pytest.mark.parametrize("name", so.attack_names())
def test_a_pickled_plan_is_as_large_for_a_thousand_records_as_for_a_million(releases, name, choose, noise):
    if noise and name != "likelihood":
        pytest.skip("only the likelihood fits noise")
    sizes = []
    for data in releases:
        who = so.Adversary(knows=2, value_within=1, time_within=14, choose=choose)
        facts = who.sample(data, np.arange(N_QUERIES) % 1_000, seed=3).bind(data)
        attack = so.attack(name, **OPTIONS.get(name, {}), **noise)
        if noise:
            # the noise of a small release will do: plans are compared, not fits
            attack._noise = attack.fit(releases[0], who.sample(releases[0], np.arange(40), seed=3))._noise
        plan = attack.compile(data, facts, np.full(N_QUERIES, -1, np.int64))
        sizes.append(len(pickle.dumps(plan)))
    assert abs(sizes[1] - sizes[0]) < 0.02 * sizes[0], sizes


@pytest.mark.parametrize("kind", ["item", "value"])
@pytest.mark.parametrize("choose", ["uniform", "outside-top:4", "rare:0.5@0.6"])
def test_a_shard_works_out_the_ways_to_pick_as_the_choice_rule_does(choose, kind):
    rng = np.random.default_rng(6)
    record = np.repeat(np.arange(120), rng.integers(1, 40, 120))
    item = rng.integers(0, 18, record.size)
    data = so.Dataset.from_arrays(record, item, rng.integers(1, 6, record.size))
    who = so.Adversary(knows=4, wrong=1, wrong_kind=kind, value_within=1, choose=choose)
    wanted = picks(who, data).log_pick
    assert 0 < np.isfinite(wanted).sum() < 120
    got = np.concatenate([factors_of(pick_logs(who, data), shard) for shard in data.shards_at([0, 30, 120], 16)])
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


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
        assert np.concatenate([shard.lengths for shard in shards]).tolist() == [h.size for h in held]
