"""The parts of linking against independent references."""

import itertools

import numpy as np
import pytest
from people_of import knowledge, release, second_file, world
from scipy.optimize import linear_sum_assignment

import standout as so
from standout.kernels.bins import Bins
from standout.linking.answer import hard_assignment, log_free, soft_assignment
from standout.linking.attack import LinkLikelihood, MentionPopularity, candidates
from standout.linking.groups import TopScores, TwoGroups
from standout.linking.noise import LinkNoise, value_bins
from standout.linking.people import people


def test_repeated_facts_become_one_fact_that_was_seen_several_times():
    aux = so.Knowledge.from_arrays(
        ["b", "a", "b", "b", "b"], [7, 7, 7, 7, 8], [5, 1, 1, 2, np.nan], [10, 3, 11, 11, np.nan]
    )
    got = people(aux)
    assert got.queries.tolist() == ["b", "a"]
    assert got.item.tolist() == [7, 8, 7]
    np.testing.assert_array_equal(got.value, [2, np.nan, 1])
    np.testing.assert_array_equal(got.time, [10, np.nan, 3])
    # 10 and 11 are two days; without a day, entries count
    assert got.times.tolist() == [2, 1, 1]


def test_a_dataset_and_the_same_facts_as_knowledge_are_the_same_people():
    entries = world(n=30)
    data = release(entries)
    one, two = people(data), people(knowledge(entries))
    assert one.queries.tolist() == two.queries.tolist()
    np.testing.assert_array_equal(one.query_ptr, two.query_ptr)
    for q in range(30):
        mine, other = (slice(x.query_ptr[q], x.query_ptr[q + 1]) for x in (one, two))
        assert sorted(zip(one.item[mine], one.value[mine], one.time[mine], strict=True)) == sorted(
            zip(two.item[other], two.value[other], two.time[other], strict=True)
        )


def dense_scores(entries, facts, noise, strength, use_time):
    """(queries, records): log likelihood ratio by the definition, fact by fact and record by record."""
    people_ = np.unique(facts[:, 0])
    n, m = int(entries[:, 0].max()) + 1, int(entries[:, 1].max()) + 1
    held = {(int(r), int(i)): (v, d) for r, i, v, d in entries}
    length = np.bincount(entries[:, 0], minlength=n)
    support = np.bincount(entries[:, 1], minlength=m)
    said = np.bincount(facts[:, 1].astype(int), minlength=m)
    out = np.zeros((people_.size, n))
    for k, person in enumerate(people_):
        mine = facts[facts[:, 0] == person]
        for _, item, value, day in mine:
            i = int(item)
            q = (said[i] - 1 + strength * support[i] / support.sum()) / (
                len(facts) - len(mine) + strength
            )
            own = entries[entries[:, 1] == i]

            def share(kernel, known, column, own=own):
                gap = np.abs(own[:, column] - known)
                alike = np.searchsorted(np.asarray(kernel.edges), gap, side="left")
                every = np.abs(entries[:, column] - known)
                everyone = np.searchsorted(np.asarray(kernel.edges), every, side="left")
                n_bins = len(kernel.share)
                common = np.bincount(everyone, minlength=n_bins) / len(entries)
                return (np.bincount(alike, minlength=n_bins) + 10 * common) / (len(own) + 10)

            back = {"value": share(noise.value, value, 2)}
            if use_time:
                back["day"] = share(noise.time, day, 3)
            for r in range(n):
                ratio = 0.0
                if (r, i) in held:
                    v, d = held[r, i]
                    b = np.searchsorted(np.asarray(noise.value.edges), abs(v - value), side="left")
                    ratio = noise.value.share[b] / back["value"][b]
                    if use_time:
                        c = np.searchsorted(np.asarray(noise.time.edges), abs(d - day), side="left")
                        ratio *= noise.time.share[c] / back["day"][c]
                    ratio = (1 - noise.h) * ratio + noise.h
                out[k, r] += np.log(noise.e[0] + (1 - noise.e[0]) * ratio / (q * length[r]))
    return out


def test_scores_equal_the_formula_on_a_dense_reference():
    entries = world(n=40, n_items=30, per=8, seed=2)
    facts = second_file(entries, np.arange(8), knows=5)
    noise = LinkNoise((0.2,), 0.1, Bins((0.0, 1.0), (0.6, 0.3, 0.1)), None)
    data, aux = release(entries, time=False), people(knowledge(facts, time=False))
    mentions = MentionPopularity.of(data, aux.bind(data))
    got = LinkLikelihood(noise, mentions).scores(data, aux)
    want = dense_scores(entries, facts, noise, mentions.strength, use_time=False)
    # the background has one pseudo-count per level
    np.testing.assert_allclose(got, want, atol=0.05)
    assert (got.argmax(axis=1) == want.argmax(axis=1)).all()


def test_a_person_whose_days_are_unrelated_is_scored_without_them():
    entries = world(n=60, seed=2)
    facts = second_file(entries, np.arange(20), e=0.0, days=0, value_moved=0.0)
    facts[facts[:, 0] < 10, 3] = 5000
    data, aux = release(entries), people(knowledge(facts))
    days = Bins((0.0, 3.0, 14.0, 30.0, 90.0, 365.0), (0.94, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01))
    values = Bins((0.0,), (0.9, 0.1))
    mentions = MentionPopularity.of(data, aux.bind(data))
    sure, open_ = (
        candidates(
            data, aux, LinkLikelihood(LinkNoise((0.1,), 0.0, values, days, u), mentions), 5
        ).record[:, 0]
        for u in (0.0, 0.3)
    )
    assert (open_ == np.arange(20)).all()
    assert (sure[10:] == np.arange(10, 20)).all()


def test_merged_candidates_add_the_probabilities_of_both_ways():
    entries = world(n=60, seed=2)
    data, aux = release(entries), people(knowledge(second_file(entries, np.arange(12))))
    days = Bins((0.0, 3.0, 14.0, 30.0, 90.0, 365.0), (0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05))
    noise = LinkNoise((0.2,), 0.05, Bins((0.0, 1.0), (0.6, 0.3, 0.1)), days, 0.4)
    mentions = MentionPopularity.of(data, aux.bind(data))
    with_days, without = (
        LinkLikelihood(noise, mentions, use_time=t).scores(data, aux) for t in (True, False)
    )
    want = np.logaddexp(np.log(0.6) + with_days, np.log(0.4) + without)
    top = candidates(data, aux, LinkLikelihood(noise, mentions), 60)
    np.testing.assert_allclose(top.score, -np.sort(-want, axis=1), atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(want, top.record, axis=1), top.score, atol=1e-4)


def test_rare_agreement_counts_more_than_common_agreement():
    record, item = np.arange(200), np.zeros(200, int)
    value = np.where(record == 0, 5.0, np.where(record < 20, 4.0, 1.0))
    data = so.Dataset.from_arrays(
        np.append(record, record), np.append(item, 1 + record), np.append(value, value)
    )
    noise = LinkNoise((0.2,), 0.0, Bins((0.0,), (0.9, 0.1)))
    aux = people(so.Knowledge.from_arrays([0, 1], [0, 0], [5.0, 1.0]))
    top = (
        LinkLikelihood(noise, MentionPopularity.of(data, aux.bind(data)))
        .scores(data, aux)
        .max(axis=1)
    )
    assert top[0] > top[1] + 2


def test_wide_scales_compare_ratios_and_short_scales_steps():
    assert value_bins(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).edges == (0.0, 1.0, 2.0, 3.0)
    wide = value_bins(np.array([-3.0, 0.0, 1.0, 12.0, 24.0, 4800.0]))
    assert wide.wide
    assert wide.place(np.array([12.0, 2400.0]), np.array([24.0, 4800.0])).tolist() == [3, 3]


def brute_force(record, odds):
    """Marginals of all one-to-one assignments, weight = product of the odds."""
    n = len(record)
    total, marginal = 0.0, np.zeros((n, len(record[0])))
    for choice in itertools.product(*(range(-1, len(row)) for row in record)):
        used = [record[q][c] for q, c in enumerate(choice) if c >= 0]
        if len(set(used)) < len(used):
            continue
        weight = np.prod([odds[q][c] for q, c in enumerate(choice) if c >= 0])
        total += weight
        for q, c in enumerate(choice):
            if c >= 0:
                marginal[q, c] += weight
    return marginal / total


def test_soft_assignment_is_close_to_the_sum_over_all_assignments():
    """Sinkhorn is the mean-field answer: it must be nearer to the exact marginals than the answers one by one."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        record = np.stack([rng.permutation(5)[:3] for _ in range(5)])
        chance = rng.dirichlet([1, 1, 1, 1], 5)[:, :3]
        got = soft_assignment(record, chance, 5)
        odds = chance / (1 - chance.sum(axis=1, keepdims=True)) / (1 - chance)
        exact = brute_force(record.tolist(), odds)
        errors.append((np.abs(got - exact).mean(), np.abs(chance - exact).mean()))
        assert np.corrcoef(got.ravel(), exact.ravel())[0, 1] > 0.95
        assert np.bincount(record.reshape(-1), weights=got.reshape(-1)).max() <= 1 + 1e-4
        assert (got.sum(axis=1) <= 1 + 1e-6).all()
    mine, alone = np.mean(errors, axis=0)
    assert mine < 0.7 * alone


def test_a_claim_that_nobody_disputes_keeps_its_probability():
    chance = np.array([[0.7], [0.2], [0.99]])
    np.testing.assert_allclose(
        soft_assignment(np.array([[0], [1], [2]]), chance, 3), chance, atol=1e-3
    )
    assert (soft_assignment(np.array([[-1], [1], [2]]), chance, 3)[0] == 0).all()


def test_a_record_that_others_claim_is_less_free():
    record, chance = (
        np.array([[0, 1], [0, 2], [0, 3]]),
        np.array([[0.9, 0.05], [0.3, 0.3], [0.0, 0.5]]),
    )
    free = log_free(record, chance, 4)
    assert free[2, 0] < free[1, 0] < free[0, 0] < 0
    assert free[2, 1] == pytest.approx(0, abs=1e-4)


def test_hard_assignment_is_the_best_one_and_uses_each_record_once():
    rng = np.random.default_rng(1)
    for _ in range(20):
        record = np.stack([rng.permutation(7)[:4] for _ in range(6)])
        score = rng.normal(size=(6, 4))
        got = hard_assignment(record, score)
        dense = np.full((6, 7), -1e3)
        np.put_along_axis(dense, record, score, axis=1)
        rows, columns = linear_sum_assignment(-dense)
        assert score[np.arange(6), got].sum() == pytest.approx(dense[rows, columns].sum())
        assert len(set(record[np.arange(6), got])) == 6
    assert hard_assignment(
        np.array([[0], [0], [-1]]), np.array([[1.0], [2.0], [np.nan]])
    ).tolist() == [
        -1,
        0,
        -1,
    ]


@pytest.mark.parametrize("found", [0.0, 0.2, 0.7])
def test_two_groups_are_calibrated_on_simulated_p_values(found):
    rng = np.random.default_rng(4)
    n = 4000
    facts = rng.integers(1, 100, n)
    is_found = rng.random(n) < found * 2 * facts / (facts + facts.mean())
    y = rng.exponential(np.where(is_found, 5.0, 1.0))
    covariates = np.column_stack([np.log(facts), rng.normal(size=n)])
    p = TwoGroups.start(covariates).improved(y, covariates, 300).posterior(y, covariates)
    assert p.sum() / n == pytest.approx(is_found.mean(), abs=0.04)
    for low in (0.0, 0.25, 0.5, 0.75):
        inside = (p >= low) & (p < low + 0.25)
        if inside.sum() > 200:
            assert p[inside].mean() == pytest.approx(is_found[inside].mean(), abs=0.11)


def test_scores_of_unrelated_records_give_uniform_p_values():
    rng = np.random.default_rng(6)
    scores = -np.sort(-rng.gumbel(size=(3000, 500)), axis=1)[:, :40]
    top = TopScores.of(np.tile(np.arange(40), (3000, 1)), scores, np.full(3000, 8), 500)
    assert (top.p < 0.05).mean() == pytest.approx(0.05, abs=0.015)
    assert np.median(top.scale) == pytest.approx(1.0, abs=0.1)


def test_two_facts_are_too_few_for_the_test():
    scores = -np.sort(-np.random.default_rng(6).gumbel(size=(4, 40)), axis=1)
    top = TopScores.of(np.tile(np.arange(40), (4, 1)), scores, np.array([0, 2, 3, 9]), 40)
    assert top.applies.tolist() == [False, False, True, True]


def test_a_missing_item_that_was_seen_often_counts_more_against_a_record():
    data = so.Dataset.from_arrays([0, 1, 2, 3], [0, 1, 0, 1])
    aux = people(so.Knowledge.from_arrays([9] * 6, [0, 1, 1, 1, 1, 1], None, [1, 1, 2, 3, 4, 5]))
    assert aux.times.tolist() == [1, 5]
    attack = LinkLikelihood(
        LinkNoise((0.8, 0.5, 0.3, 0.1)), MentionPopularity.of(data, aux.bind(data))
    )
    score = attack.scores(data, aux)[0]
    plain = LinkLikelihood(LinkNoise((0.8,)), MentionPopularity.of(data, aux.bind(data))).scores(
        data, aux
    )[0]
    assert score[1] - score[0] > 1.5 > 0.1 > abs(plain[1] - plain[0])
