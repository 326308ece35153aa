"""Rough values are rough on every scale, and wrong facts give nothing away but that they are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import standout as so
from standout.attacks.noise import Noise

SCALES = {
    "whole stars, one missing": np.array([1.0, 2.0, 4.0, 5.0]),
    "half stars": np.arange(1, 11) / 2,
    "hundredths": np.round(np.linspace(-10, 10, 2001)[::13], 2),
    "amounts": np.unique(np.round(np.random.default_rng(1).lognormal(2, 1, 300), 2)),
    "around zero": np.array([-3.0, -0.7, 0.0, 0.2, 4.0]),
    "one value": np.array([7.0]),
}
NOISES = [
    {"value_within": 0},
    {"value_within": 1},
    {"value_within": 2.5},
    {"value_within": "10%"},
    {"value_within": "150%"},
    {"gamma": 0.2},
]


def of_level(levels: np.ndarray, level: float, n: int) -> so.Dataset:
    """The first `n` records hold the level; the others hold one level of the scale each."""
    value = np.concatenate([np.full(n, level), levels])
    return so.Dataset.from_arrays(np.arange(value.size), np.zeros(value.size, int), value)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("name", SCALES)
def test_the_kernel_of_the_informed_attacker_is_the_noise_that_is_drawn(name, noise):
    levels = SCALES[name]
    who = so.Adversary(knows=1, **noise)
    for c in {0, levels.size // 2, levels.size - 1}:
        ds = of_level(levels, levels[c], 4000)
        known = who.sample(ds, np.arange(4000), seed=c).value
        kernel = Noise.informed(who, ds).value
        assert levels[0] <= known.min() <= known.max() <= levels[-1]
        assert (kernel.table(known, ds.levels)[:, c] > 0).all(), "the attacker bars the truth"
        distinct, counts = np.unique(known, return_counts=True)
        lump = counts > 20
        chance = kernel.table(distinct[lump], ds.levels)[:, c] if lump.any() else np.empty(0)
        inside = distinct[~lump]
        if inside.size:
            edges = np.linspace(inside.min(), inside.max(), 9)
            density = kernel.table((edges[1:] + edges[:-1]) / 2, ds.levels)[:, c]
            counts = np.append(counts[lump], np.histogram(inside, edges)[0])
            chance = np.append(chance, density * np.diff(edges))
            assert chance.sum() == pytest.approx(1, abs=0.02)
        else:
            assert chance.sum() == pytest.approx(1)
        assert (
            counts.size == 1
            or chisquare(counts, chance / chance.sum() * counts.sum()).pvalue > 1e-4
        )


def test_rough_values_of_a_fine_scale_cannot_be_read_off():
    ds = of_level(SCALES["hundredths"], 0.03, 500)
    known = so.Adversary(knows=1, value_within=1).sample(ds, np.arange(500), seed=1).value
    assert np.unique(known).size == 500
    assert np.abs(known - 0.03).max() > 0.9
    hundredths = np.abs(known * 100 - np.rint(known * 100)) < 1e-6
    assert hundredths.mean() < 0.05, (
        "noise in whole units leaves the digits after the point as they are"
    )


def test_two_jokes_rated_roughly_find_far_fewer_people_than_rated_exactly():
    rng = np.random.default_rng(4)
    n, m = 1500, 40
    value = np.round(np.clip(rng.normal(0, 5, (n, m)), -10, 10), 2)
    ds = so.Dataset.from_arrays(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), value.ravel())
    assert ds.value_grid is None
    targets = np.arange(0, n, 5)

    def rate(within) -> float:
        aux = so.Adversary(knows=2, value_within=within).sample(ds, targets, seed=2)
        found = so.attack("scoreboard-rh").run(ds, aux, watch=targets)
        return float((found.rank == 1).mean())

    assert rate(0) > 0.9
    assert rate(1) < 0.2
    assert rate(5) < 0.05


@pytest.mark.parametrize("attack", ["scoreboard", "scoreboard-rh", "unicity", "generic"])
def test_a_relative_tolerance_depends_on_the_value(attack):
    # values 10, 100, 1000: ±10 % of each keeps them apart, and ±1 on its own would lose the target
    # at 1000
    value = np.array([10.0, 10.9, 100.0, 108.0, 1000.0, 1095.0])
    ds = so.Dataset.from_arrays(np.arange(6), np.zeros(6, int), value)
    who = so.Adversary(knows=1, value_within="10%")
    options = {"similarity": "threshold"} if attack == "scoreboard-rh" else {}
    for seed in range(20):
        aux = who.sample(ds, np.arange(6), seed)
        assert (np.abs(aux.value - value) <= 0.1 * value + 1e-9).all()
        found = so.attack(attack, **options).run(ds, aux, watch=np.arange(6))
        agree = np.abs(aux.value[:, None] - value[None, :]) <= 0.1 * value[None, :] + 1e-9
        if attack == "generic":  # γ is one share of the scale for the whole query: at least as wide
            assert (found.rank >= agree.sum(axis=1)).all()
            assert (found.rank == found.n_matching).all()
        else:
            assert (found.rank == agree.sum(axis=1)).all()


def test_a_relative_tolerance_certifies_only_what_it_may():
    rng = np.random.default_rng(2)
    n = 400
    value = np.round(rng.lognormal(3, 2, (n, 3)), 2)
    ds = so.Dataset.from_arrays(np.repeat(np.arange(n), 3), np.tile(np.arange(3), n), value.ravel())
    aux = so.Adversary(knows=3, value_within="10%").sample(ds, np.arange(n), seed=1)
    weighted = so.attack("weighted")
    found = weighted.run(ds, aux)
    certificate = weighted.certificate(ds, aux, found)
    assert certificate.consistent.all()
    assert certificate.isolated.sum() > 5
    assert (found.best[certificate.isolated] == np.flatnonzero(certificate.isolated)).all()


def test_a_relative_error_is_said_as_such():
    assert so.Adversary(knows=2, value_within="10%").describe() == "2 items, values ±10 %"


# --- wrong facts
# ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings() -> so.Dataset:
    """3,000 records, 12 items each of 40, some events without a value."""
    rng = np.random.default_rng(3)
    item = np.argsort(rng.random((3000, 40)), axis=1)[:, :12]
    value = np.where(rng.random((3000, 12)) < 0.3, np.nan, rng.integers(1, 6, (3000, 12)))
    return so.Dataset.from_arrays(np.repeat(np.arange(3000), 12), item.ravel(), value.ravel())


def right_facts(ds: so.Dataset, aux: so.Knowledge, targets: np.ndarray, knows: int) -> np.ndarray:
    """(queries, facts): whether the target holds the item with that value."""
    out = np.zeros((targets.size, knows), bool)
    values = np.append(ds.levels, np.nan)
    for q, r in enumerate(targets):
        own = slice(ds.record_ptr[r], ds.record_ptr[r + 1])
        held = dict(
            zip(
                ds.item_labels[ds.record_item[own]].tolist(),
                values[ds.record_code[own]].tolist(),
                strict=True,
            )
        )
        for k in range(knows):
            f = q * knows + k
            real = held.get(aux.item[f], math.inf)
            out[q, k] = real == aux.value[f] or (math.isnan(real) and math.isnan(aux.value[f]))
    return out


@pytest.mark.parametrize("choose", ["uniform", "rare:0.5@0.1"])
@pytest.mark.parametrize("wrong", [1, 0.25])
@pytest.mark.parametrize("kind", ["value", "item"])
def test_the_place_of_a_fact_does_not_say_whether_it_is_wrong(ratings, kind, wrong, choose):
    if choose.startswith("rare"):
        choose = f"rare:0.5@{1 / math.log2(np.median(ratings.supports)):.4f}"
    who = so.Adversary(knows=4, wrong=wrong, wrong_kind=kind, choose=choose)
    targets = who.eligible(ratings)
    assert targets.size > 1000
    wrong_at = ~right_facts(ratings, who.sample(ratings, targets, seed=5), targets, 4)
    assert chisquare(wrong_at.sum(axis=0)).pvalue > 1e-4
    if wrong == 1:
        assert (wrong_at.sum(axis=1) == 1).all()


@pytest.mark.parametrize("kind", ["value", "item"])
def test_a_share_of_wrong_facts_is_drawn_for_each_fact_alone(ratings, kind):
    who = so.Adversary(knows=4, wrong=0.25, wrong_kind=kind)
    targets = who.eligible(ratings)
    n_wrong = (~right_facts(ratings, who.sample(ratings, targets, seed=6), targets, 4)).sum(axis=1)
    expected = [math.comb(4, k) * 0.25**k * 0.75 ** (4 - k) for k in range(5)]
    seen = np.bincount(n_wrong, minlength=5)
    assert (
        chisquare(
            [*seen[:3], seen[3:].sum()], np.array([*expected[:3], sum(expected[3:])]) * targets.size
        ).pvalue
        > 1e-4
    )
    assert "each fact" in who.describe()
    assert "with probability 25 %" in who.describe()


def test_a_share_of_wrong_items_asks_for_as_many_items_as_may_be_right_or_wrong():
    # two items held of three: four right ones are too many, and so are two wrong ones
    ds = so.Dataset.from_arrays([0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 2, 2])
    assert so.Adversary(knows=2, wrong=0.5, wrong_kind="item").eligible(ds).tolist() == []
    assert so.Adversary(knows=1, wrong=0.5, wrong_kind="item").eligible(ds).tolist() == [0, 2]


def test_a_wrong_value_is_never_told_of_an_entry_without_one(ratings):
    who = so.Adversary(knows=3, wrong=3)
    aux = who.sample(ratings, seed=1)
    assert not np.isnan(aux.value).any()
    assert who.eligible(ratings).size > 1000


def test_where_a_level_has_nothing_outside_the_tolerance_another_entry_is_wrong():
    # 3 has no level more than 2 off on a scale from 1 to 5
    rng = np.random.default_rng(1)
    item = np.tile(np.arange(6), 500)
    value = np.where(item < 4, 3.0, np.where(rng.random(3000) < 0.5, 1.0, 5.0))
    ds = so.Dataset.from_arrays(
        np.repeat(np.arange(500), 6), item, np.append(value[:-2], [2.0, 4.0])
    )
    who = so.Adversary(knows=3, wrong=1, value_within=2)
    targets = np.arange(499)
    aux = who.sample(ds, targets, seed=1)
    held = value.reshape(500, 6)[np.repeat(targets, 3), aux.item]
    wrong = np.abs(aux.value - held) > 2
    assert (wrong.reshape(-1, 3).sum(axis=1) == 1).all()
    assert set(aux.item[wrong].tolist()) == {4, 5}


def test_wrong_items_are_drawn_by_pairs_and_not_by_events():
    # item 1 is held by 30 records with 50 events each, item 2 by 300 records with one event, item 0
    # by the targets
    record = np.concatenate(
        [np.arange(1000, 4000), np.repeat(np.arange(30), 50), np.arange(100, 400)]
    )
    item = np.concatenate([np.zeros(3000, int), np.ones(1500, int), np.full(300, 2)])
    time = np.concatenate([np.zeros(3000), np.tile(np.arange(50), 30), np.full(300, 7)])
    ds = so.Dataset.from_arrays(record, item, time=time)
    targets = np.flatnonzero(ds.record_labels >= 1000)
    who = so.Adversary(knows=1, wrong=1, wrong_kind="item", time_within=0)
    aux = who.sample(ds, targets, seed=2)
    n = np.bincount(aux.item, minlength=3)
    assert n[0] == 0
    assert chisquare(n[1:], np.array([30, 300]) / 330 * 3000).pvalue > 1e-4
    days = np.bincount(aux.time[aux.item == 1].astype(int), minlength=50)
    assert chisquare(days).pvalue > 1e-4


def test_a_wrong_item_tells_as_much_as_a_right_one_also_where_the_target_holds_nearly_all():
    n = 3000
    record = np.concatenate([np.repeat(np.arange(n), 2), np.arange(20)])
    item = np.concatenate([np.tile([0, 1], n), np.repeat([2, 3], [5, 15])])
    ds = so.Dataset.from_arrays(record, item, np.where(item < 2, 1.0, 5.0), np.zeros(record.size))
    who = so.Adversary(knows=2, wrong=1, wrong_kind="item", value_within=0, time_within=0)
    targets = np.arange(100, n)
    aux = who.sample(ds, targets, seed=3)
    assert not np.isnan(aux.value).any()
    assert not np.isnan(aux.time).any()
    strange = aux.item >= 2
    assert (strange.reshape(-1, 2).sum(axis=1) == 1).all()
    assert (aux.value[strange] == 5.0).all()
    assert (
        chisquare(np.bincount(aux.item[strange])[2:], np.array([0.25, 0.75]) * targets.size).pvalue
        > 1e-4
    )


# --- where knowledge comes from
# ------------------------------------------------------------------------------------


def test_knowledge_remembers_the_data_it_was_drawn_from(ratings):
    aux = so.Adversary(knows=2).sample(ratings, [1, 2], seed=1)
    assert aux.source is ratings
    facts = aux.bind(ratings)
    assert facts.from_release
    assert facts.part(0, 1).from_release
    half = so.Dataset.from_arrays(
        np.repeat(np.arange(3000), 12)[::2], ratings.item_labels[ratings.record_item][::2]
    )
    assert not aux.bind(half).from_release
    outside = so.Knowledge.from_arrays([0], [int(aux.item[0])])
    assert outside.source is None
    assert not outside.bind(ratings).from_release
    assert "Dataset" not in repr(aux)
