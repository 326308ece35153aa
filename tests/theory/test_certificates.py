"""Certificates: what Theorem 2 certifies is right, always."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import theory_oracle
from hypothesis import given
from hypothesis import strategies as st
from strategies import dataset, queries_of, random_table, tables

import standout as so
from standout.errors import EligibilityError, ParameterError
from standout.theory.certificates import filtered_out, fitting_t, rare_adversary


def trials(n_wanted: int, seed: int) -> tuple[int, int, int]:
    """(trials, certified, violations) on many small random releases with random m, γ, t and δ."""
    rng = np.random.default_rng(seed)
    done = certified = violations = 0
    for _ in range(n_wanted // 100):
        if done >= n_wanted:
            break
        n, m = int(rng.integers(20, 400)), int(rng.integers(3, 40))
        pairs = np.unique(
            np.column_stack([rng.integers(0, n, 9 * n), np.floor(rng.pareto(1, 9 * n) * 3) % m]),
            axis=0,
        )
        # few levels make near-ties common, which is where a certificate could go wrong
        value = rng.integers(0, rng.integers(1, 6), len(pairs)) * rng.choice([0.5, 1.0, 0.3])
        ds = so.Dataset.from_arrays(pairs[:, 0].astype(int), pairs[:, 1].astype(int), value)
        for _ in range(4):
            knows, gamma = (
                int(rng.integers(1, 7)),
                float(rng.choice([0.0, 0.01, 0.07, 0.2, 0.25, 0.5])),
            )
            delta = float(rng.choice([0.25, 0.5, 0.75, 1.0]))
            try:
                found = so.certificates(
                    ds, knows, gamma, None, delta, None, seed=int(rng.integers(2**40))
                )
            except EligibilityError:
                continue
            done += found.rate.n
            certified += found.rate.count
            violations += found.violations
    return done, certified, violations


def test_no_certified_record_is_wrong_in_a_hundred_thousand_trials():
    done, certified, violations = trials(100_000, seed=2)
    assert done >= 100_000
    assert violations == 0
    # a certificate that is never given would never be wrong either
    assert certified > done / 20


@given(tables(min_records=2, days=False), st.sampled_from([0.0, 0.1, 0.3]), st.integers(1, 3))
def test_a_certificate_is_that_of_the_definition(table, gamma, knows):
    ds = dataset(table)
    who = rare_adversary(knows, gamma, 0.6, 0.5)
    eligible = who.eligible(ds)
    if not eligible.size:
        return
    found = so.certificates(ds, knows, gamma, 0.6, 0.5, None, seed=3)
    for q, facts in enumerate(queries_of(who.sample(ds, found.targets, 3))):
        scores = sorted(
            (theory_oracle.score_w(table, facts, r) for r in table.records), reverse=True
        )
        e = scores[0] - scores[1]
        mean = sum(theory_oracle.weight(table, f.item) for f in facts) / knows
        assert found.largest_gamma[q] == pytest.approx(e / mean, abs=1e-7)
        if abs(e - gamma * mean) > 1e-6:
            assert found.isolated[q] == (e > gamma * mean)


@given(
    tables(min_records=3),
    st.integers(1, 3),
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    st.sampled_from([0.4, 0.6, 1.0]),
)
def test_eligible_is_more_than_the_rare_share_and_at_least_the_rest(table, knows, delta, t):
    ds = dataset(table)
    fit = 0
    for r in table.records:
        held = {e.item for e in table.entries if e.record == r}
        rare = sum(theory_oracle.weight(table, i) >= t for i in held)
        fit += rare > delta * knows and len(held) - rare >= (1 - delta) * knows
    frame = filtered_out(ds, (knows,), (t,), delta)
    assert frame["filtered_out"].tolist() == [pytest.approx(1 - fit / len(table.records))]
    if fit:
        found = so.certificates(ds, knows, 0.1, t, delta, None)
        assert found.n_eligible == fit
        assert found.eligible == pytest.approx(fit / len(table.records))
        assert found.of_all == pytest.approx(found.certified * found.eligible)


@given(st.integers(0, 10_000), st.lists(st.floats(0, 1), min_size=2, max_size=5).map(sorted))
def test_the_same_knowledge_certifies_less_for_a_larger_gamma(seed, gammas):
    ds = dataset(random_table(40, 15, 6, seed=seed % 7, days=False))
    largest = so.certificates(ds, 3, 0.05, None, 0.5, None, seed=seed).largest_gamma
    certified = [(largest > g).sum() for g in gammas]
    assert certified == sorted(certified, reverse=True)


def test_certificates_fall_with_noise_and_grow_with_knowledge():
    ds = dataset(random_table(500, 60, 25, seed=3, days=False))
    t = fitting_t(ds, 12, 0.75)
    made = [
        so.certificates(ds, m, g, t, 0.75, 400).to_frame()
        for m in (3, 6, 12)
        for g in (0.0, 0.1, 0.25)
    ]
    frame = pd.concat(made, ignore_index=True)
    grid = frame.pivot(index="knows", columns="gamma", values="certified").to_numpy()
    assert (np.diff(grid, axis=1) < 0.01).all() and grid[0, 0] > grid[0, -1]
    assert (np.diff(grid, axis=0) > -0.01).all() and grid[-1, 1] > grid[0, 1] + 0.2
    assert frame["violations"].sum() == 0


def test_without_noise_every_unique_best_is_certified():
    table = random_table(80, 12, 6, seed=9, days=False)
    found = so.certificates(dataset(table), 4, 0.0, None, 0.5, None)
    assert 0 < found.rate.count < found.rate.n < 80
    assert found.of_all == pytest.approx(found.rate.count / 80)
    assert (found.isolated == (found.largest_gamma > 1e-8)).all()


def test_more_targets_or_another_order_change_no_certificate():
    ds = dataset(random_table(120, 20, 8, seed=2, days=False))
    few, more = (so.certificates(ds, 3, 0.1, None, 0.5, n, seed=5) for n in (10, 40))
    back = so.certificates(ds, 3, 0.1, None, 0.5, more.targets[::-1], seed=5)
    known = dict(zip(more.targets.tolist(), more.largest_gamma.tolist(), strict=True))
    for other in (few, back):
        assert all(
            known[r] == x
            for r, x in zip(other.targets.tolist(), other.largest_gamma.tolist(), strict=True)
        )


def test_the_fitting_t_leaves_at_least_as_many_as_any_published_one():
    ds = dataset(random_table(200, 40, 10, seed=4, days=False))
    best = rare_adversary(4, 0.0, fitting_t(ds, 4, 0.75), 0.75).eligible(ds).size
    assert best >= max(
        rare_adversary(4, 0.0, t, 0.75).eligible(ds).size for t in (0.07, 0.075, 0.2)
    )
    assert best > 0


def test_certificates_are_plain_json_and_name_nobody():
    ds = so.Dataset.from_arrays(
        [f"p{k // 6}" for k in range(300)], [(k * k) % 23 for k in range(300)]
    )
    found = so.certificates(ds, 2, 0.1, None, 0.5, 10)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["violations"] == 0 and "p1" not in repr(found)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gamma": 1.5}, "gamma=1.5"),
        ({"delta": 0}, "delta=0"),
        ({"t": 2}, "t=2"),
        ({"knows": 0}, "knows=0"),
        ({"targets": 0}, "targets=0"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments, words):
    ds = dataset(random_table(60, 12, 6, seed=1))
    with pytest.raises(ParameterError, match=words):
        so.certificates(ds, **{"knows": 3, "delta": 0.5, **arguments})


def test_when_nobody_is_eligible_the_message_says_what_to_do():
    ds = dataset(random_table(60, 12, 6, seed=1))
    with pytest.raises(EligibilityError, match=r"12 of 12 items are rare\. Leave t out"):
        so.certificates(ds, 4, 0.1, t=0.05)
