"""Posteriors on releases with lost or exchanged entries are as often right as they say; how their canaries are made."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.attacks.defended_canaries import _batches_of_canaries, canaries_of
from standout.attacks.own_entries import own_entries
from standout.attacks.presence import Presence, fit_share
from standout.data.export import entry_records


def people_with_tastes(n=900, groups=20, seed=4):
    """Two thirds of a record come from its group's 40 items, the others from all 800, both by popularity."""
    rng = np.random.default_rng(seed)
    popular = rng.permutation(1 / np.arange(1, 801) ** 0.8)
    record, item = [], []
    for r in range(n):
        own = 40 * (r % groups) + np.arange(40)
        mine = rng.choice(
            own, rng.integers(8, 25), replace=False, p=popular[own] / popular[own].sum()
        )
        more = rng.choice(800, rng.integers(4, 12), replace=False, p=popular / popular.sum())
        mine = np.union1d(mine, more)
        record += [r] * mine.size
        item += mine.tolist()
    return so.Dataset.from_arrays(np.array(record), np.array(item))


@pytest.fixture(scope="module")
def source():
    return people_with_tastes()


WHO = so.Adversary(knows=4, value_within=None, time_within=None)


def stated_and_right(source, text, seeds=(1, 2)):
    """Posterior and credit of people who are not canaries, present and removed."""
    said, true = [], []
    for seed in seeds:
        release = so.parse_defense(text).apply(source, seed=seed)
        assert np.array_equal(release.record_labels, source.record_labels)
        people = np.setdiff1d(WHO.eligible(source), canaries_of(release, WHO)[1])
        here, gone = so.attack("likelihood").run_both(
            release, WHO.sample(source, people, seed), people
        )
        said.append(np.concatenate([here.posterior, gone.posterior]))
        true.append(np.concatenate([here.credit, np.zeros(people.size)]))
    return np.concatenate(said), np.concatenate(true)


@pytest.mark.parametrize("text", ["drop-entries(share=0.5)", "swap-entries(share=0.4)"])
def test_lost_and_exchanged_entries_of_people_with_tastes_do_not_make_the_posterior_overconfident(
    source, text
):
    said, true = stated_and_right(source, text)
    assert said.size > 1_800
    # the standard error of the observed share is 0.9 points, that of the calibration about 1
    assert said.mean() == pytest.approx(true.mean(), abs=0.03)
    # the highest fifth of the posteriors is as often right as it says, too
    high = said >= np.quantile(said, 0.8)
    assert true[high].mean() > said[high].mean() - 0.06


def test_the_map_of_the_lineup_recovers_its_slope_and_leaves_the_share_as_it_is_without_canaries():
    rng = np.random.default_rng(2)
    share = rng.uniform(0.02, 0.98, 4_000)
    chance = 1 / (1 + np.exp(0.3 - 0.6 * np.log(share / (1 - share))))
    shift, slope = fit_share(share, (rng.random(4_000) < chance).astype(float))
    assert shift == pytest.approx(-0.3, abs=0.1) and slope == pytest.approx(0.6, abs=0.07)
    np.testing.assert_array_equal(Presence().best(share, np.ones(4_000)), share)
    # of two tied records, neither is more likely than one half
    assert Presence(shift=2.0).best(np.array([0.5]), np.array([2])).tolist() == [0.5]


@pytest.mark.parametrize(
    "text", ["drop-entries(share=0.5)", "swap-entries(share=0.4)", "cap-entries(most=15)"]
)
def test_only_the_facts_of_canaries_are_changed(source, text):
    release = so.parse_defense(text).apply(source, seed=1)
    parts = _batches_of_canaries(release, WHO)
    assert sum(part.place.size for part in parts) > 300
    n_lost = n_facts = 0
    for part in parts:
        held = [
            set((entry_records(data) * release.n_items + data.record_item).tolist())
            for data in (release, part.release)
        ]
        facts = np.repeat(part.place, 4) * release.n_items + part.knowledge.bind(part.release).item
        lost = held[0] - held[1]
        # a canary that lost everything is no canary, but its entries are gone
        others = {pair for pair in lost if pair // release.n_items in part.place}
        assert others <= set(facts.tolist())
        n_lost, n_facts = n_lost + len(others), n_facts + facts.size
        assert {pair // release.n_items for pair in held[1] - held[0]} <= set(part.place.tolist())
    wanted = {"drop": 0.5, "swap": 0.4}.get(text[:4])
    if wanted:
        assert n_lost / n_facts == pytest.approx(wanted, abs=0.05)
    assert n_lost > 0


def test_entries_of_others_are_recognized_by_what_goes_together(source):
    release = so.parse_defense("swap-entries(share=0.4)").apply(source, seed=3)
    true = set((entry_records(source) * source.n_items + source.record_item).tolist())
    label = np.searchsorted(source.item_labels, release.item_labels)
    pair = entry_records(release) * source.n_items + label[release.record_item]
    mine = np.array([p in true for p in pair.tolist()])
    keep = own_entries(release, np.arange(300), seed=1)
    chosen = entry_records(release) < 300
    assert keep[~chosen].all()
    assert mine[chosen & keep].mean() > mine[chosen].mean() + 0.05
    assert keep[chosen].mean() == pytest.approx(mine[chosen].mean(), abs=0.15)
