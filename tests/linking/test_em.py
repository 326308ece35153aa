"""EM between two files: planted noise is found, from any start, and absent people do not count as noise."""

import numpy as np
import pytest
from people_of import knowledge, release, second_file, world

import standout as so
from standout.linking.attack import MentionPopularity
from standout.linking.em import fit_noise
from standout.linking.people import people


def fitted(data, aux, **options):
    second = people(aux)
    return fit_noise(data, second, MentionPopularity.of(data, second.bind(data)), **options)


@pytest.fixture(scope="module")
def entries():
    return world(seed=3)


@pytest.mark.parametrize(
    ("e", "value_moved", "days"), [(0.15, 0.3, 3), (0.3, 0.2, 14), (0.45, 0.4, 3)]
)
def test_planted_noise_is_recovered_within_a_fifth_at_200_queries(entries, e, value_moved, days):
    aux = knowledge(
        second_file(entries, np.arange(0, 400, 2), e=e, value_moved=value_moved, days=days)
    )
    noise = fitted(release(entries), aux)
    assert noise.e[0] == pytest.approx(e, rel=0.2)
    # a move beyond the end of the scale is clipped: four fifths of the planted moves change the
    # value
    assert 1 - noise.value.within(0.0) == pytest.approx(0.8 * value_moved, rel=0.2)
    assert noise.time.within(float(days)) == pytest.approx(1.0, abs=0.1)
    assert noise.unrelated < 0.1


def test_values_that_are_wrong_though_the_item_is_right_are_h(entries):
    aux = knowledge(second_file(entries, np.arange(0, 400, 2), e=0.1, value_moved=0.0, lost=0.3))
    noise = fitted(release(entries), aux)
    assert noise.h == pytest.approx(0.3, rel=0.2)
    assert noise.value.within(0.0) > 0.9


def test_people_whose_days_are_unrelated_are_a_group_of_their_own_and_not_noise_of_all_days(
    entries,
):
    aux = knowledge(
        second_file(entries, np.arange(0, 400, 2), e=0.1, days=3, unrelated=0.4), value=False
    )
    noise = fitted(release(entries, value=False), aux)
    assert noise.unrelated == pytest.approx(0.4, rel=0.2)
    assert noise.time.within(3.0) > 0.85


@pytest.mark.parametrize("channels", [{}, {"value": False, "time": False}])
def test_three_starting_points_reach_the_same_optimum(entries, channels):
    aux = knowledge(second_file(entries, np.arange(0, 400, 2), e=0.3), **channels)
    data = release(entries, **channels)
    found = [fitted(data, aux, start=start) for start in (0.1, 0.5, 0.9)]
    for other in found[1:]:
        assert other.e == pytest.approx(found[0].e, abs=0.01)
        assert other.h == pytest.approx(found[0].h, abs=0.02)


def test_absent_people_do_not_inflate_the_share_of_wrong_items(entries):
    facts = second_file(entries, np.arange(0, 400, 2), e=0.2, knows=14)
    everyone, half = (release(entries, without=np.arange(0, 400, step)) for step in (1000, 4))
    aux = knowledge(facts)
    noise = fitted(half, aux)
    assert fitted(everyone, aux).e[0] == pytest.approx(0.2, rel=0.2)
    assert noise.e[0] == pytest.approx(0.2, abs=0.08)


def test_a_few_people_with_many_facts_do_not_decide_for_all(entries):
    """Those who mention nearly everything are found for sure, and most of their mentions are of items not in the record."""
    parts = [second_file(entries, np.arange(1, 200, 2), e=0.1, knows=8, seed=5)]
    for who in range(300, 305):
        mine = entries[entries[:, 0] == who].astype(float)
        others = np.setdiff1d(np.arange(300), mine[:, 1])
        flood = np.column_stack(
            [np.full(others.size, who), others, np.full(others.size, 3), np.full(others.size, 50)]
        )
        parts += [mine, flood]
    assert fitted(release(entries), knowledge(np.concatenate(parts))).e[0] < 0.2


def test_an_item_that_was_seen_often_is_more_likely_in_the_record():
    rng = np.random.default_rng(2)
    entries = world(seed=4)
    facts = second_file(entries, np.arange(0, 400, 2), e=0.0, days=0)
    often = rng.random(len(facts)) < 0.5
    wrong = rng.random(len(facts)) < np.where(often, 0.1, 0.5)
    facts[wrong, 1] = rng.integers(0, 300, int(wrong.sum()))
    again = facts[often].copy()
    again[:, 3] += 5000
    noise = fitted(release(entries), knowledge(np.concatenate([facts, again]), time=True))
    assert noise.e[0] == pytest.approx(0.5, abs=0.1)
    assert noise.e[1] == pytest.approx(0.1, abs=0.06)


def test_the_likelihood_ignores_days_of_a_period_that_does_not_overlap_the_release(entries):
    """Gaps to the border between two periods are no sign of who is who."""
    facts = second_file(entries, np.arange(100), e=0.3)
    facts[:, 3] += 10_000
    data = release(entries, value=False)
    attack = so.attack("likelihood", noise="fit")
    assert attack.fit(data, knowledge(facts, value=False)).fitted.time is None
    with_days, without = (
        attack.run(data, knowledge(facts, value=False, time=t)).best for t in (True, False)
    )
    np.testing.assert_array_equal(with_days, without)
