"""Amounts known rounded to a unit ("about 12 euros"), against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import standout as so
from standout.adversary.level_errors import spread
from standout.data.scale import Channel
from standout.defenses.parse import parse_defense
from standout.errors import ParameterError
from standout.report.knowledge_words import kind_words, phrase

N = 50


@pytest.fixture(scope="module")
def bought():
    """Purchases (person, product, price): prices in quarters, so that some lie halfway between two multiples."""
    rng = np.random.default_rng(8)
    person = np.concatenate([np.arange(N), rng.integers(0, N, 350)])
    price = rng.integers(1, 60, person.size) / 4
    return person, rng.integers(0, 9, person.size), price


def read(bought, as_value):
    person, product, price = bought
    if as_value:
        return so.Dataset.from_arrays(person, product, price)
    return so.Dataset.from_arrays(person, product, channels={"price": price})


def multiples(price, unit):
    """The nearest multiples of a unit, in exact arithmetic: one, or two halfway."""
    steps = Fraction(price) / Fraction(unit)
    low = math.floor(steps)
    if steps - low == Fraction(1, 2):
        return [float(low * Fraction(unit)), float((low + 1) * Fraction(unit))]
    return [float(round(steps) * Fraction(unit))]


@pytest.mark.parametrize("as_value", [True, False])
@pytest.mark.parametrize("unit", [0.5, 1, 5])
def test_who_fits_a_rounded_amount_and_how_well_is_enumerated(bought, as_value, unit):
    data, held = read(bought, as_value), defaultdict(lambda: defaultdict(list))
    for r, i, x in zip(*bought, strict=True):
        held[int(r)][int(i)].append(float(x))
    who = so.Adversary(knows=2, within={"value" if as_value else "price": f"round:{unit}"})
    targets = who.eligible(data)
    known = who.sample(data, targets, seed=2)
    told = known.value if as_value else known.channels["price"]
    assert np.allclose(told / unit, np.rint(told / unit))
    seen = so.attack("likelihood", calibrate=False).run(data, known, watch=targets)
    unique = so.attack("unicity").run(data, known, watch=targets)
    board = so.attack("scoreboard-rh").run(data, known, watch=targets)
    for q in range(targets.size):
        p = np.ones(N)
        for r in range(N):
            own = held[r]
            p[r] /= max(math.perm(len(own), 2), 1)
            for f in range(*known.query_ptr[q : q + 2]):
                prices = own.get(int(known.item[f]), [])
                fits = [multiples(x, unit) for x in prices]
                hits = sum((told[f] in m) / len(m) for m in fits)
                p[r] *= hits / max(len(prices), 1)
        assert p[targets[q]] > 0
        assert seen.n_candidates[q] == (p > 0).sum()
        assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)
        assert unique.matched[q] == ((p > 0).sum() == 1)
    assert board.credit.mean() > 0.1


def test_a_planted_amount_is_found_until_the_unit_is_too_wide(bought):
    person, product, price = bought
    price = price.copy()
    price[person == 7], product = 40.25, np.where(person == 7, 3, product)
    data = read((person, product, price), False)
    left = []
    for unit in (1, 10, 200):
        who = so.Adversary(knows=1, within={"price": f"round:{unit}"})
        known = who.sample(data, np.array([7]), seed=1)
        assert known.channels["price"].tolist() == [round(40.25 / unit) * unit]
        left.append(int(so.attack("likelihood").run(data, known).n_candidates[0]))
    holders = len(set(person[product == 3].tolist()))
    assert left == [1, 1, holders]


def test_zero_and_amounts_below_half_a_unit_are_known_as_zero():
    data = so.Dataset.from_arrays([0, 1, 2], [1, 1, 1], [0.0, 0.3, 0.7])
    who = so.Adversary(knows=1, value_within="round:1")
    known = who.sample(data, np.arange(3), seed=1)
    assert known.value.tolist() == [0.0, 0.0, 1.0]
    assert so.attack("likelihood").run(data, known).n_candidates.tolist() == [2, 2, 1]


@pytest.mark.parametrize("defense", ["drop-entries(share=0.1)", "round-values(step=2)"])
def test_an_attacker_of_a_defended_release_uses_rounded_amounts(bought, defense):
    data = read(bought, True)
    release = parse_defense(defense).apply(data, seed=7)
    rates = []
    for within in (None, "round:1"):
        who = so.Adversary(knows=2, value_within=within)
        targets = who.eligible(data)
        known = who.sample(data, targets, seed=3)
        rates.append(so.attack("likelihood").run(release, known, watch=targets).credit.mean())
    assert rates[1] > rates[0]


def test_chances_of_rounded_amounts_are_probabilities_and_no_densities():
    """Also halfway between two multiples, where they are 1/2: a wrong fact is compared with them as it is."""
    scale = Channel("price", np.array([0.5, 1.25, 2.5, 9.0]))
    known = np.array([1.0, 2.0, 3.0, 9.0])
    assert spread(known, scale, scale.error_kernel("round:1")).tolist() == [1.0] * 4


def test_wrong_items_have_rounded_amounts_and_wrong_values_are_refused(bought):
    data = read(bought, True)
    who = so.Adversary(knows=3, wrong=1, wrong_kind="item", value_within="round:1")
    known = who.sample(data, who.eligible(data), seed=1)
    assert np.array_equal(known.value, np.rint(known.value))
    with pytest.raises(
        ParameterError, match="wrong values are not drawn where numbers are rounded"
    ):
        so.Adversary(knows=3, wrong=1, value_within="round:1").eligible(data)


@pytest.mark.parametrize("text", ["round:0", "round:-1", "round:x", "round:", "round", "round:inf"])
def test_a_unit_that_is_none_is_refused(text):
    with pytest.raises(ParameterError, match='"round:1"'):
        so.Adversary(value_within=text)
    with pytest.raises(ParameterError, match='"round:1"'):
        so.Adversary(within={"price": text})


def test_labels_and_circles_are_not_rounded():
    data = so.Dataset.from_arrays([0, 1], [1, 1], channels={"shop": ["a", "b"]}, time=[1.2, 3.4])
    with pytest.raises(ParameterError, match="labels without an order"):
        so.Adversary(knows=1, within={"shop": "round:1"}).sample(data, [0])
    with pytest.raises(ParameterError, match="use a number for weekday"):
        so.Adversary(knows=1, within={"weekday": "round:1"}, view="weekday").sample(data, [0])


def test_reports_say_to_what_an_amount_is_rounded(bought):
    who = so.Adversary(knows=2, value_within="round:0.5", within={"price": "round:1"})
    assert who.describe() == "2 items, values rounded to 0.5, price rounded to 1"
    plain = who.to_dict()
    assert kind_words(plain) == "values rounded to 0.5, price rounded to 1"
    assert phrase(plain) == "2 items, their values rounded to 0.5 and price rounded to 1"
    found = so.Audit(
        read(bought, True),
        so.Adversary(knows=2, value_within="round:1"),
        ["likelihood"],
        40,
        seed=1,
        describe=False,
    ).run()
    assert "values rounded to 1" in found.results[0]["adversary"]["words"]
    assert found.results[0]["unique"]["rate"] > 0
