"""The posterior learned from the release's own history, and the share of people who are in the release."""

import numpy as np
import pytest
from people_of import knowledge, release, second_file, truth, world
from scipy.special import expit

import standout as so
from standout.errors import ParameterError
from standout.linking.groups import TopScores
from standout.linking.history import Recalibration, features, history
from standout.linking.noise import LinkNoise, time_bins
from standout.linking.totals import fit_overlap


def habits(n=700, n_items=260, seed=0):
    """Purchases (record, item, value, day) of three periods of 200 days: favorites of each person, and popular items."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_items + 1) ** 0.8
    popularity /= popularity.sum()
    out = []
    for person in range(n):
        mine = rng.choice(n_items, 16, replace=False, p=popularity)
        for period in range(3):
            if rng.random() < 0.25:
                continue
            size = int(rng.integers(8, 30))
            item = np.where(
                rng.random(size) < 0.65,
                rng.choice(mine, size),
                rng.choice(n_items, size, p=popularity),
            )
            day = 200 * period + rng.integers(0, 200, size)
            out.append(np.column_stack([np.full(size, person), item, np.ones(size, int), day]))
    return np.concatenate(out)


@pytest.fixture(scope="module")
def years():
    rows = habits(seed=3)
    first, rest = rows[rows[:, 3] < 200], rows[rows[:, 3] >= 200]
    return [so.Dataset.from_arrays(x[:, 0], x[:, 1], None, x[:, 3]) for x in (first, rest)]


def labeled(n, share, seed):
    """Features of queries, -log p larger where found, and whether each is found."""
    rng = np.random.default_rng(seed)
    found = rng.random(n) < share
    y = rng.exponential(np.where(found, 4.0, 1.0))
    return np.column_stack([y, rng.normal(size=n), rng.normal(size=n)]), found


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_different_share_of_found_people_does_not_bias_the_posterior(share):
    learned = Recalibration.fit(*labeled(4000, 0.3, 1))
    queries, found = labeled(4000, share, 2)
    p = learned.posterior(queries, learned.shift(queries, found.sum()))
    assert p.sum() == pytest.approx(found.sum(), abs=0.025 * found.size)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (p >= low) & (p < low + 0.2)
        if inside.sum() > 150:
            assert p[inside].mean() == pytest.approx(found[inside].mean(), abs=0.1)


def test_a_gap_means_more_where_gaps_are_wide_if_the_labeled_queries_say_so():
    rng = np.random.default_rng(5)
    n = 12_000
    scale, y = np.exp(rng.normal(0.5, 0.6, n)), rng.exponential(2.0, n)
    found = rng.random(n) < expit(-2.0 + (0.2 + 0.7 * np.log(scale)) * y)
    nothing = np.zeros((n, 1))
    top = TopScores(nothing.astype(int), nothing, np.full(n, 9), 1, np.exp(-y), scale)
    first, last = np.arange(n) < n // 2, np.arange(n) >= n // 2
    x = features(top)
    learned = Recalibration.fit(x[first], found[first])
    p = expit(learned.logits(x))
    wide = scale > np.median(scale)
    for some in (wide, ~wide):
        for low, high in ((0.0, 1.0), (1.0, 2.5), (2.5, 9.0)):
            inside = last & some & (y >= low) & (y < high)
            assert p[inside].mean() == pytest.approx(found[inside].mean(), abs=0.05)


def test_a_change_of_the_share_within_its_error_counts_less():
    learned = Recalibration.fit(*labeled(600, 0.3, 1))
    (same, few), (other, many) = labeled(600, 0.3, 5), labeled(600, 0.7, 5)
    small, large = learned.shift(same, few.sum()), learned.shift(other, many.sum())
    assert abs(2 * small.used - small.by_test) < abs(small.change)
    assert 2 * large.used - large.by_test == pytest.approx(large.change, rel=0.1)


def test_two_estimates_that_disagree_are_averaged_and_widen_the_error():
    learned = Recalibration.fit(*labeled(2000, 0.3, 1))
    queries, found = labeled(2000, 0.3, 2)
    agree, disagree = learned.shift(queries, found.sum()), learned.shift(queries, 0.3 * found.sum())
    assert disagree.by_test < disagree.used < agree.used
    assert disagree.error > 0.4 > agree.error
    assert learned.posterior(queries, agree).sum() == pytest.approx(found.sum(), rel=0.15)


@pytest.mark.parametrize("one_to_one", [False, True])
def test_people_with_habits_get_a_posterior_learned_from_the_release_itself(years, one_to_one):
    first, rest = years
    found = so.link(rest, first, one_to_one=one_to_one)
    at = np.minimum(np.searchsorted(rest.record_labels, first.record_labels), rest.n_records - 1)
    right = np.where(rest.record_labels[at] == first.record_labels, at, -1)
    hit = (found.best == right) & (right >= 0)
    seen = found.findings.canaries["history"]
    assert found.interval[0] <= hit.sum() <= found.interval[1]
    assert seen["n_present"] > 200
    assert seen["found"]["rate"] == pytest.approx(hit[right >= 0].mean(), abs=0.3)
    assert found.expected_links == pytest.approx(hit.sum(), rel=0.2)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (found.posterior >= low) & (found.posterior <= high)
        assert found.posterior[inside].mean() == pytest.approx(hit[inside].mean(), abs=0.15)
    assert (found.chances.sum(axis=1) <= 1 + 1e-9).all()
    np.testing.assert_allclose(found.chances.max(axis=1), found.posterior)


def test_history_says_nothing_where_it_is_not_like_the_second_file(years):
    _, rest = years
    plain = LinkNoise((0.5,))
    assert history(rest, plain, 1.0, False) is not None
    dated = LinkNoise((0.5,), time=time_bins())
    assert history(rest, dated, 1.0, False) is None
    assert history(so.Dataset.from_arrays([0, 0, 1], [0, 1, 0]), plain, 1.0, False) is None
    one_day = so.Dataset.from_arrays(np.arange(500) % 250, np.arange(500) % 7, None, np.zeros(500))
    assert history(one_day, plain, 1.0, False) is None


@pytest.mark.parametrize("planted", [0.2, 0.5, 0.9])
def test_a_planted_overlap_lies_in_its_interval(planted):
    entries = world(n=600, seed=7)
    who = np.arange(0, 600, 2)
    gone = np.random.default_rng(2).permutation(who)[: round((1 - planted) * who.size)]
    data = release(entries, without=gone, time=False)
    aux = knowledge(second_file(entries, who, knows=12, e=0.2), time=False)
    share = (truth(data, aux) >= 0).mean()
    found = so.link(data, aux, overlap="fit")
    seen = found.findings.links["overlap"]
    assert share == pytest.approx(planted, abs=0.01)
    assert seen["low"] <= share <= seen["high"]
    assert seen["high"] - seen["low"] < 0.45
    assert seen["rate"] == pytest.approx(share, abs=0.12)


def test_the_overlap_is_the_prior_where_the_test_does_not_apply():
    entries = world(seed=3)
    data = release(entries, time=False)
    aux = knowledge(second_file(entries, np.arange(0, 400, 2), knows=2, e=0.1), time=False)
    noise = LinkNoise((0.1,))
    low, usual, high = (
        so.link(data, aux, noise=noise, overlap=x, canaries=False) for x in (0.05, None, 0.95)
    )
    assert low.refused.all()
    assert low.expected_links < usual.expected_links < high.expected_links
    # a share that is given is not uncertain
    assert low.interval[1] < usual.interval[1]


def test_people_who_are_hard_to_find_raise_the_overlap():
    facts, found = np.full(200, 8), np.arange(200) < 100
    easy = fit_overlap(50, (45, 55), np.full(100, 8), facts, np.arange(200) < 190)
    hard = fit_overlap(50, (45, 55), np.full(100, 8), facts, found)
    assert easy["rate"] == pytest.approx(0.53, abs=0.02)
    assert hard["rate"] == pytest.approx(0.99, abs=0.02)
    assert hard["low"] < 0.9


@pytest.mark.parametrize("overlap", ["fitted", 0, 1.0, -0.5, True, [0.5]])
def test_an_overlap_that_is_no_share_is_refused(years, overlap):
    with pytest.raises(ParameterError, match="overlap="):
        so.link(years[1], years[0], overlap=overlap)


def test_an_overlap_cannot_be_fitted_without_canaries(years):
    with pytest.raises(ParameterError, match="needs canaries"):
        so.link(years[1], years[0], overlap="fit", canaries=False)
