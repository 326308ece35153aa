"""What linking states holds on generated pairs: the interval of right links, and the share of wrong names."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from people_of import knowledge, release, second_file, truth, world

import standout as so
from standout.formulas.spacing import benjamini_hochberg
from standout.linking.groups import TopScores
from standout.linking.links import MEASURED
from standout.linking.totals import by_likelihood

PAGE = Path(__file__).resolve().parents[2] / "docs" / "linking_coverage.md"


def run(seed, present, knows, e, value=False, time=False, **options):
    """A pair of 150 people, its links, and whether each best record is right."""
    entries = world(n=350, n_items=250, per=20, seed=seed)
    who = np.arange(0, 300, 2)
    gone = np.random.default_rng(seed).permutation(who)[: round((1 - present) * who.size)]
    data = release(entries, value=value, time=time, without=gone)
    aux = knowledge(
        second_file(entries, who, knows=knows, e=e, seed=seed + 1), value=value, time=time
    )
    right = truth(data, aux)
    links = so.link(data, aux, **options)
    return links, (links.best == right) & (right >= 0)


@pytest.fixture(scope="module")
def few_facts():
    """Runs with 3 to 8 noisy facts per person, by overlap."""
    cases = [
        (o, k, e, v)
        for o in (0.1, 0.5, 1.0)
        for k, e, v in ((3, 0.15, True), (6, 0.3, False), (8, 0.4, False))
    ]
    return [
        (o, *run(300 + 10 * n, o, knows, e, value)) for n, (o, knows, e, value) in enumerate(cases)
    ]


def test_right_links_of_people_with_few_noisy_facts_are_not_stated_too_low(few_facts):
    covered = [links.interval[0] <= hit.sum() <= links.interval[1] for _, links, hit in few_facts]
    assert sum(covered) >= len(covered) - 1
    width = [(links.interval[1] - links.interval[0]) / links.n_queries for _, links, _ in few_facts]
    assert np.mean(width) < 0.5


def test_the_interval_is_in_whole_people_and_holds_the_sum_of_the_posteriors(few_facts):
    for _, links, _ in few_facts:
        low, high = links.interval
        assert low == int(low) and high == int(high)
        assert 0 <= low <= links.expected_links <= high <= links.n_queries
        assert links.findings.links["estimates"]["likelihood"]["high"] <= high + 1e-9
        said = str(links)
        assert f"expected to be right for {low:,.0f} to {high:,.0f} of them" in said
        assert MEASURED in said


def test_people_whose_facts_are_mostly_wrong_are_not_taken_for_absent():
    """Fitted noise says that nobody is there, although every third best record is right."""
    links, hit = run(60, 1.0, 8, 0.6)
    assert links.expected_links < 0.5 * hit.sum()
    assert hit.sum() <= links.interval[1] < links.n_queries


@pytest.mark.parametrize(
    ("knows", "e", "value", "time"), [(6, 0.3, False, False), (5, 0.3, True, True)]
)
def test_the_interval_of_right_links_includes_nobody_if_nobody_is_in_the_release(
    knows, e, value, time
):
    for seed in (11, 12):
        links, hit = run(seed, 0.0, knows, e, value, time)
        assert not hit.any()
        assert links.interval[0] == 0
        assert links.interval[1] < 0.3 * links.n_queries


@pytest.fixture(scope="module")
def half_present():
    """Runs with 12 facts per person, half of the people in the release."""
    return [(0.5, *run(seed, 0.5, 12, 0.3, True)) for seed in (21, 22, 23, 24)]


@pytest.mark.parametrize("rule", ["spacing", "posterior"])
def test_names_at_a_nominal_rate_are_not_more_often_wrong_than_stated(
    few_facts, half_present, rule
):
    runs = few_facts + half_present
    for rate, most in ((0.05, 0.06), (0.01, 0.02)):
        masks = [links.accepted(rate, rule) for _, links, _ in runs]
        wrong = sum(int((~hit[m]).sum()) for m, (_, _, hit) in zip(masks, runs, strict=True))
        named = sum(int(m.sum()) for m in masks)
        assert named > 100
        assert wrong <= most * named


def test_one_to_one_states_what_the_likelihood_says_one_by_one_as_well():
    links, hit = run(31, 0.6, 6, 0.3, one_to_one=True)
    assert links.interval[0] <= hit.sum() <= links.interval[1]


def test_a_share_that_is_given_bounds_the_right_links():
    few, many = (run(41, 0.5, 6, 0.3, overlap=share)[0].interval for share in (0.05, 0.9))
    assert few[1] < many[1]


def test_an_estimate_by_the_likelihood_agrees_with_its_own_draws():
    """Scores drawn from the model itself: log likelihood ratios of 3,000 people against 60 records, half of them present."""
    rng = np.random.default_rng(4)
    n, records, move = 3000, 60, 2.5
    present = rng.random(n) < 0.5
    x = rng.normal(size=(n, records))
    x[present, 0] += move
    score = move * x - move**2 / 2
    order = np.argsort(-score, axis=1)
    score, facts = np.take_along_axis(score, order, axis=1), np.full(n, 9)
    got = by_likelihood(TopScores.of(order, score, facts, records))
    right = int((present & (order[:, 0] == 0)).sum())
    assert got.low <= right <= got.high
    assert got.expected == pytest.approx(right, rel=0.15)
    nobody = TopScores.of(order[:, :1], np.full((n, 1), np.nan), facts, records)
    assert by_likelihood(nobody) == (0.0, 0.0, 0.0)


def test_a_p_value_that_rounds_above_1_is_no_error(few_facts):
    _, links, _ = few_facts[0]
    above = np.where(
        links.refused, np.nan, np.where(np.arange(links.n_queries) % 2, 1.0 + 4e-16, links.p)
    )
    changed = dataclasses.replace(links, p=above)
    assert changed.accepted(0.05).sum() <= links.accepted(0.05).sum() + 1
    assert benjamini_hochberg(above).max() == 1.0


def test_p_values_corrected_by_second_best_records_are_at_most_1():
    rng = np.random.default_rng(0)
    for n in (20, 60, 150, 300):
        # large gaps below the second best records, and people without a gap below the best
        gaps = rng.exponential(size=(n, 29)) / np.arange(1, 30)
        gaps[:, 1] *= 30
        gaps[::3, 0] = 0
        score = -np.cumsum(np.column_stack([np.zeros(n), gaps]), axis=1)
        top = TopScores.of(np.tile(np.arange(30), (n, 1)), score, np.full(n, 9), 30)
        for _ in range(5):
            fixed = top.checked(rng.random(n))
            assert fixed is not top
            assert fixed.p.max() <= 1.0


def test_the_measured_share_of_wrong_names_is_that_of_the_docs():
    assert MEASURED in PAGE.read_text(encoding="utf-8")
