"""No rate of the theory depends on the order of records: records that tie share the hit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import standout as so
from standout.bench.case import BenchCase
from standout.bench.measure import kernels
from standout.theory.pairs import learn
from standout.theory.theorems import scoreboard_needs

N, M = 160, 12


def release(order):
    """Short records of few items and two values, so that many tie; named so that short or long ones come first."""
    rng = np.random.default_rng(8)
    rows = [(r, i) for r in range(N) for i in rng.choice(M, rng.integers(3, 8), replace=False)]
    record, item = np.array(rows).T
    lengths = np.bincount(record, minlength=N)
    place = np.argsort(np.argsort(-lengths if order == "long first" else lengths, kind="stable"))
    names = np.array([f"r{k:04d}" for k in place])
    return so.Dataset.from_arrays(names[record], item, rng.integers(1, 3, record.size)), place


BOTH = ("short first", "long first")


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_the_right_share_of_certificates_does_not_depend_on_names(gamma):
    found = [so.certificates(release(order)[0], 2, gamma, None, 0.5, 60, seed=3) for order in BOTH]
    assert found[0].right == found[1].right
    assert 0 < found[0].right.rate < 1 and found[0].right.count % 1 > 0
    assert found[0].rate == found[1].rate
    assert found[0].violations == found[1].violations == 0


def test_items_needed_by_scoreboard_do_not_depend_on_names():
    found = [scoreboard_needs(release(order)[0], 0.1, 0.3, 5, 0, None, 60, 0) for order in BOTH]
    for theorem in ("T1", "T2", "T3", "T4"):
        mine, theirs = (need[theorem] for need in found)
        np.testing.assert_allclose(
            [r.rate for _, r in mine.tried], [r.rate for _, r in theirs.tried], rtol=1e-12
        )
    assert found[0]["T2"].tried[0][1].count % 1 > 0


def test_the_hit_rate_of_what_is_learned_does_not_depend_on_names():
    rates = []
    who = so.Adversary(knows=2, value_within=0)
    plain, place = release(BOTH[0])
    persons = np.arange(0, N, 3)
    aux = who.sample(plain, place[persons], seed=2)
    for order in BOTH:
        renamed, place = release(order)
        rates.append(learn(renamed, place[persons], replace(aux, source=renamed)).hit)
    assert rates[0].tolist() == rates[1].tolist()
    assert ((rates[0] > 0) & (rates[0] < 1)).any()


def test_the_trend_over_numbers_of_records_does_not_depend_on_names():
    who = so.Adversary(knows=2, value_within=0)
    found = [so.population(release(order)[0], who, targets=30, seed=4) for order in BOTH]
    assert found[0].rates == found[1].rates
    np.testing.assert_allclose(found[0].risk, found[1].risk)
    assert found[0].rates[0].count % 1 > 0


def test_the_hit_rate_of_a_benchmark_does_not_depend_on_names(tmp_path):
    rates = []
    who = so.Adversary(knows=2, value_within=0)
    plain, place = release(BOTH[0])
    persons = np.arange(0, N, 3)
    aux = who.sample(plain, place[persons], seed=2)
    for order in BOTH:
        renamed, place = release(order)
        known = replace(aux, source=renamed)
        case = BenchCase(tmp_path, renamed, place[persons], known.bind(renamed), 1)
        line = next(x for x in kernels(case, rounds=1) if "found" in x)
        rates.append(line["found"])
        expected = (
            so.attack("scoreboard-rh").run(renamed, known, watch=place[persons]).credit.mean()
        )
        assert line["found"] == pytest.approx(expected)
    assert rates[0] == pytest.approx(rates[1])
