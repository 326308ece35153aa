"""The adaptive likelihood against enumeration: the sum over everything that the defense and the adversary could have done."""

from dataclasses import replace
from itertools import combinations, permutations, product
from math import comb, perm

import numpy as np
import pytest
from adaptive_reference import Reference
from test_adaptive import LEVELS, random_data, thirds

import standout as so
from standout.data.mechanism import Mechanism, Origin, TimeMap
from standout.kernels.moments import Periods


def setting(mechanism, who, seed=3, period=None):
    release = replace(
        random_data(seed + 50, period=period), origin=Origin(random_data(seed), None, mechanism)
    )
    reference = Reference(release, who, floor=0.0)
    r = next(r for r, row in enumerate(reference.rows) if len(row) in (4, 5))
    return release, reference, r


def log_ratio(chance, reference, facts):
    """Log of an enumerated P(A|r) over P(A|absent)."""
    absent = 1.0
    for fact in facts:
        absent *= (
            reference.mechanism.kept_pairs
            * reference.support[fact[0]]
            / reference.total
            * reference.backs(fact)[0]
        )
    return np.log(chance / absent)


def first_facts(reference, r, steps):
    """Facts about the first items of the record, with values that many steps from the released ones."""
    items = sorted(reference.rows[r])[: len(steps)]
    codes = [reference.rows[r][item][0][0] for item in items]
    told = [
        float(LEVELS[c + s] if 0 <= c + s < 5 else LEVELS[c - s])
        for c, s in zip(codes, steps, strict=True)
    ]
    return [(item, value, np.nan) for item, value in zip(items, told, strict=True)]


def values_behind(reference, item, code):
    """P(source value | released value) for each source level."""
    pi = reference.prior(item) * reference.change[:, code]
    return pi / pi.sum()


@pytest.mark.parametrize("within", [0, 1])
def test_changed_values_equal_the_sum_over_all_source_values(within):
    who = so.Adversary(knows=2, value_within=within)
    _, ref, r = setting(Mechanism(value=thirds()), who)
    facts = first_facts(ref, r, (1, 0))
    codes = [ref.rows[r][f[0]][0][0] for f in facts]
    total = 0.0
    for codes_before in product(range(5), repeat=2):
        for errors in product(range(-within, within + 1), repeat=2):
            told = [
                min(max(LEVELS[c] + e, 1.0), 5.0) for c, e in zip(codes_before, errors, strict=True)
            ]
            if told == [f[1] for f in facts]:
                chance = np.prod(
                    [
                        values_behind(ref, f[0], c)[b]
                        for f, c, b in zip(facts, codes, codes_before, strict=True)
                    ]
                )
                total += chance / (2 * within + 1) ** 2
    total /= perm(len(ref.rows[r]), 2)
    assert ref.llr(r, facts) == pytest.approx(log_ratio(total, ref, facts), abs=1e-9)


@pytest.mark.parametrize(
    ("time", "period"), [(TimeMap(period="month"), "month"), (TimeMap(shift=12), None)]
)
def test_changed_times_equal_the_sum_over_all_days_shifts_and_errors(time, period):
    w = 3
    who = so.Adversary(knows=2, value_within=None, time_within=w)
    release, ref, r = setting(Mechanism(time=time), who, period=period)
    shown = [ref.rows[r][item][0][1] for item in sorted(ref.rows[r])[:2]]
    facts = [(i, np.nan, float(d + 5)) for i, d in zip(sorted(ref.rows[r])[:2], shown, strict=True)]
    total, first = 0.0, int(release.first_tick)
    shifts = range(-time.shift, time.shift + 1)
    for z in shifts:
        part = 1.0
        for fact, day in zip(facts, shown, strict=True):
            if period:
                behind = [
                    d
                    for d in range(day, day + 40)
                    if Periods(period).draw(np.array([d + first]))[0] == day + first
                ]
            else:
                behind = [day - z]
            part *= np.mean([d + e == fact[2] for d in behind for e in range(-w, w + 1)])
        total += part / len(shifts)
    total /= perm(len(ref.rows[r]), 2)
    assert ref.llr(r, facts) == pytest.approx(log_ratio(total, ref, facts), abs=1e-9)


def test_swapped_attributes_equal_the_sum_over_all_participants_and_permutations():
    x, who = 0.4, so.Adversary(knows=1, value_within=0)
    _, ref, r = setting(Mechanism(attributes=x), who, seed=8)
    item = min(ref.rows[r], key=lambda i: ref.support[i])
    holders = [s for s, row in enumerate(ref.rows) if item in row]
    assert 2 <= len(holders) <= 6
    for value in LEVELS:
        fact = (item, float(value), np.nan)
        total = 0.0
        for n in range(len(holders) + 1):
            for some in combinations(holders, n):
                weight = x**n * (1 - x) ** (len(holders) - n)
                orders = list(permutations(some))
                for order in orders:
                    # the attributes of some[j] went to order[j]
                    now_at = dict(zip(some, order, strict=True)).get(r, r)
                    total += weight / len(orders) * (LEVELS[ref.rows[now_at][item][0][0]] == value)
        total /= len(ref.rows[r])
        if total > 0:
            assert ref.llr(r, [fact]) == pytest.approx(log_ratio(total, ref, [fact]), abs=1e-9)


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_exact_number_of_wrong_values_equals_the_sum_over_which_ones(wrong):
    who = so.Adversary(knows=3, wrong=wrong, value_within=0)
    _, ref, r = setting(Mechanism(value=thirds()), who)
    facts = first_facts(ref, r, (1, 0, 1))
    total = 0.0
    for some in combinations(range(3), wrong):
        part = 1.0
        for j, fact in enumerate(facts):
            behind = values_behind(ref, fact[0], ref.rows[r][fact[0]][0][0])
            right = np.array(fact[1] == LEVELS, float)
            part *= behind @ ((1 - right) / 4 if j in some else right)
        total += part / comb(3, wrong)
    total /= perm(len(ref.rows[r]), 3)
    absent = 1.0
    for fact in facts:
        g, off = ref.backs(fact)
        h = wrong / 3
        absent *= ref.support[fact[0]] / ref.total * ((1 - h) * g + h * off)
    assert ref.llr(r, facts) == pytest.approx(np.log(total / absent), abs=1e-9)
