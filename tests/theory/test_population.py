"""Population: subsets are what they say, targets stay the same, and the extension is honest about itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Table
from strategies import dataset, random_table, tables

import standout as so
from standout.errors import EligibilityError, ParameterError
from standout.theory.population import extend


@given(tables(min_records=2), st.data())
def test_a_part_is_the_release_that_holds_only_those_records(table, data):
    ds = dataset(table)
    kept = sorted(data.draw(st.sets(st.integers(0, ds.n_records - 1), min_size=1)))
    labels = {table.records[k] for k in kept}
    part = ds.take(np.array(kept))
    alone = dataset(Table(tuple(e for e in table.entries if e.record in labels), False, False))
    for name in (
        "record_labels",
        "item_labels",
        "record_ptr",
        "record_item",
        "lengths",
        "supports",
    ):
        assert getattr(part, name).tolist() == getattr(alone, name).tolist()
    entries = np.concatenate([np.arange(ds.record_ptr[k], ds.record_ptr[k + 1]) for k in kept])
    for name in ("record_code", "record_tick"):
        whole = getattr(ds, name)
        assert getattr(part, name).tolist() == (whole[entries].tolist() if whole.size else [])


def test_the_whole_is_measured_as_an_audit_would():
    ds = dataset(random_table(400, 60, 8, seed=3))
    who = so.Adversary(knows=2, value_within=1, time_within=None)
    found = so.population(ds, who, targets=80, seed=2)
    from standout.adversary.sampling import sample_targets

    chosen = sample_targets(ds, who.eligible(ds), 80, 2)
    assert found.sizes == (400, 200, 100) and found.attack == "likelihood"
    hit = so.attack("likelihood").run(ds, who.sample(ds, chosen, 2), watch=chosen).credit
    assert found.rates[0].rate == pytest.approx(hit.mean())
    weaker = so.attack("scoreboard-rh").run(ds, who.sample(ds, chosen, 2), watch=chosen).credit
    assert found.rates[0].rate > weaker.mean(), "the default understates the risk"
    # the attacker of a part knows that the knowledge was drawn from it
    part = ds.take(np.arange(200))
    own = np.flatnonzero(chosen < 200)
    aux = who.sample(part, chosen[own], 2)
    assert aux.item.tolist() == [i for q in own for i in who.sample(ds, chosen[[q]], 2).item]


def test_risk_falls_with_the_number_of_records_and_the_band_holds_the_prediction():
    ds = dataset(random_table(1_200, 60, 8, seed=3, days=False))
    found = so.population(
        ds, so.Adversary(knows=2, value_within=1), targets=150, populations=[1_200, 12_000, 10**6]
    )
    measured = [r.rate for r in found.rates]
    assert measured == sorted(measured) and measured[0] < measured[-1]
    assert (np.diff(found.risk) < 0).all()
    assert (found.low <= found.risk).all() and (found.risk <= found.high).all()
    assert (np.diff(found.high - found.low)[:1] > 0).all() or found.risk[-1] < 0.01
    assert found.rates[0].low <= found.risk[0] <= found.rates[0].high


def test_the_band_of_half_the_data_holds_the_risk_of_the_whole():
    ds = dataset(random_table(1_600, 60, 8, seed=5, days=False))
    who = so.Adversary(knows=2, value_within=1)
    whole = so.population(ds, who, targets=200, seed=1)
    half = so.population(ds.take(np.arange(800)), who, targets=200, seed=1, populations=1_600)
    # two different draws of targets: the band of the one widened by the interval of the other
    assert half.low[0] - 0.05 <= whole.rates[0].rate <= half.high[0] + 0.05


def test_extend_finds_a_logistic_trend():
    rng = np.random.default_rng(0)
    sizes, n = np.array([8_000, 4_000, 2_000, 1_000]), 4_000
    p = 1 / (1 + np.exp(-(6 - 0.8 * np.log(sizes))))
    hits = (rng.random((4, 3, n)) < p[:, None, None]).astype(float)
    risk, low, high = extend(sizes, hits, np.array([80_000]), seed=1)
    truth = 1 / (1 + np.exp(-(6 - 0.8 * np.log(80_000))))
    assert low[0] <= truth <= high[0]
    assert risk[0] == pytest.approx(truth, abs=0.02)


def test_certain_hits_stay_likely_and_never_become_certain():
    risk, low, high = extend(
        np.array([400, 200, 100]), np.ones((3, 2, 50)), np.array([4_000]), seed=0
    )
    assert 0.9 < risk[0] < 1 and low[0] <= risk[0] <= high[0] <= 1


def test_theorem_5_stands_beside_the_prediction_and_weakens_with_the_population():
    ds = dataset(random_table(300, 60, 8, seed=3))
    found = so.population(ds, populations=[300, 3_000], targets=50)
    assert found.theorem_5[0] == pytest.approx(min(1.0, found.delta / found.gamma))
    assert found.theorem_5[0] <= found.theorem_5[1] <= 1.0


def test_the_warning_is_plain_and_the_findings_are_json():
    found = so.population(dataset(random_table(300, 60, 8, seed=3)), targets=50)
    assert "extrapolation, not measurement" in found.warning and "300 records" in found.warning
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert found.to_frame()["measured"].tolist() == [True] * len(found.sizes) + [False]


def test_the_same_seed_gives_the_same_numbers():
    ds = dataset(random_table(300, 60, 8, seed=3))
    first, again = (so.population(ds, targets=50, seed=4).to_dict() for _ in range(2))
    assert first == again


def test_too_few_records_or_too_small_a_population_are_refused():
    with pytest.raises(ParameterError, match="too few to see a trend"):
        so.population(dataset(random_table(30, 10, 5, seed=1)))
    with pytest.raises(ParameterError, match="at least the 300 records"):
        so.population(dataset(random_table(300, 60, 8, seed=3)), populations=200)
    with pytest.raises(EligibilityError, match="lower knows=50"):
        so.population(dataset(random_table(300, 40, 8, seed=3)), so.Adversary(knows=50))
