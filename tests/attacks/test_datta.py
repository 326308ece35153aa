"""The generic and the weighted algorithm equal the dense oracles; the certificate is sound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import oracle
import oracle_dss12
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Table
from strategies import STRANGER, CutEngine, cases, dataset, knowledge, queries_of, random_table

import standout as so
from standout.attacks.datta import Weighted
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.formulas import dss12

CLOSE = 1e-6

ORACLES: dict[str, Callable[..., np.ndarray]] = {
    "generic": oracle_dss12.generic,
    "weighted": oracle_dss12.weighted,
}
both = pytest.mark.parametrize("name", list(ORACLES))


def one_query(*facts: Fact) -> so.Knowledge:
    return knowledge([list(facts)])


def check_generic(table: Table, queries: list[list[Fact]], gamma: float, watch: np.ndarray) -> None:
    """Matching set, answer and ranks of the members, by the oracle."""
    attack = so.attack("generic", gamma=gamma)
    exact = oracle_dss12.generic(table, queries)
    v = attack.run(dataset(table), knowledge(queries), watch=watch)
    np.testing.assert_allclose(attack.scores(dataset(table), knowledge(queries)), exact, atol=CLOSE)
    inside = exact >= 1 - gamma - 1e-9
    assert v.n_matching.tolist() == inside.sum(axis=1).tolist()
    assert v.matched.tolist() == inside.any(axis=1).tolist()
    for q, w in enumerate(watch):
        if inside[q].any():
            assert inside[q, v.best[q]]
            assert v.statistic[q] == 1 / inside[q].sum()
            assert v.score[q] == pytest.approx(1 - gamma)
        else:
            assert v.score[q] == pytest.approx(exact[q].max())
        assert v.rank[q] == (
            inside[q].sum() if inside[q, w] else (exact[q] >= exact[q, w] - 1e-9).sum()
        )


def check_weighted(
    table: Table, queries: list[list[Fact]], gamma: float, watch: np.ndarray
) -> None:
    """Scores, order, σ, criterion and certificate, by the oracle."""
    attack = so.attack("weighted", gamma=gamma)
    assert isinstance(attack, Weighted)
    data, aux = dataset(table), knowledge(queries)
    exact = oracle_dss12.weighted(table, queries)
    scores = attack.scores(data, aux)
    np.testing.assert_allclose(scores, exact, atol=CLOSE)
    v = attack.run(data, aux, watch=watch)
    proof = attack.certificate(data, aux, v)
    np.testing.assert_allclose(v.sigma, oracle.sigma(exact), atol=CLOSE)
    for q, facts in enumerate(queries):
        assert v.best[q] == np.lexsort((np.arange(scores.shape[1]), -scores[q]))[0]
        gap = exact[q] - exact[q, watch[q]]
        assert v.rank[q] == (scores[q] >= scores[q, watch[q]]).sum()
        assert (gap > CLOSE).sum() < v.rank[q] <= (gap >= -CLOSE).sum()
        e = np.sort(exact[q])[-1] - np.sort(exact[q])[-2] if scores.shape[1] > 1 else 0.0
        bar = gamma * oracle_dss12.mean_weight(table, facts)
        assert v.statistic[q] == pytest.approx(e, abs=CLOSE)
        assert proof.mean_weight[q] == pytest.approx(oracle_dss12.mean_weight(table, facts))
        assert proof.eccentricity[q] == v.statistic[q]
        assert proof.isolated[q] == v.matched[q]
        if abs(e - bar) > CLOSE:
            assert v.matched[q] == (e > bar)
        best_possible = (1 - gamma) * oracle_dss12.mean_weight(table, facts)
        if abs(exact[q].max() - best_possible) > CLOSE:
            assert proof.consistent[q] == (exact[q].max() >= best_possible)


CHECKS = {"generic": check_generic, "weighted": check_weighted}


@both
@pytest.mark.parametrize("gamma", [0.0, 0.125, 0.3, 1.0])
@given(case=cases(), data=st.data())
def test_both_equal_the_dense_oracle(name, gamma, case, data):
    table, queries = case
    watch = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    CHECKS[name](table, queries, gamma, np.array(watch))


@both
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("values", [False, True])
def test_both_equal_the_oracle_on_a_release_of_several_blocks(name, values, repeats):
    table = random_table(301, 23, 4, seed=6, values=values, missing=0.1, repeats=repeats)
    data = dataset(table)
    who = so.Adversary(knows=3, wrong=1, value_within=1 if values else None, time_within=3)
    targets = who.eligible(data)[:10]
    CHECKS[name](table, queries_of(who.sample(data, targets, seed=3)), 0.25, targets)


@both
@given(case=cases(min_records=2), data=st.data())
def test_an_excluded_record_is_as_if_the_release_had_been_built_without_it(name, case, data):
    table, queries = case
    gone = [data.draw(st.integers(-1, len(table.records) - 1)) for _ in queries]
    attack = so.attack(name, gamma=0.25)
    scores = attack.scores(dataset(table), knowledge(queries), exclude=gone)
    v = attack.run(dataset(table), knowledge(queries), exclude=gone)
    for q, g in enumerate(gone):
        rest = table if g < 0 else table.without(table.records[g])
        kept = [r for r in range(len(table.records)) if r != g]
        exact = ORACLES[name](rest, [queries[q]])
        np.testing.assert_allclose(scores[q : q + 1, kept], exact, atol=CLOSE)
        assert g < 0 or scores[q, g] == -np.inf
        if name == "generic":
            assert v.n_matching[q] == (exact >= 0.75 - 1e-9).sum()
        if isinstance(attack, Weighted):
            m = attack.certificate(dataset(table), knowledge(queries), v, exclude=gone).mean_weight[
                q
            ]
            assert m == pytest.approx(oracle_dss12.mean_weight(rest, queries[q]))


# γ


def test_gamma_is_the_option_else_the_adversarys_else_her_tolerance_on_the_scale_else_0():
    table = random_table(120, 10, 4, seed=8, values=True)
    data = dataset(table)
    p = data.value_range

    def gamma(who: so.Adversary | None, **options: float) -> float:
        attack = so.attack("weighted", **options)
        assert isinstance(attack, Weighted)
        outside = one_query(Fact(table.items[0], 3.0))
        aux = who.sample(data, who.eligible(data)[:1], seed=1) if who else outside
        return float(attack.certificate(data, aux, attack.run(data, aux)).gamma[0])

    assert gamma(so.Adversary(knows=3, gamma=0.2), gamma=0.1) == 0.1
    assert gamma(so.Adversary(knows=3, gamma=0.2)) == 0.2
    assert gamma(so.Adversary(knows=3, value_within=1)) == 1 / p
    assert gamma(so.Adversary(knows=3, value_within=None)) == 0
    assert gamma(None) == 0


@both
@pytest.mark.parametrize(
    "who", [so.Adversary(knows=3, gamma=0.1), so.Adversary(knows=3, value_within=1)], ids=str
)
def test_knowledge_of_its_own_gamma_never_rules_out_the_target(name, who):
    data = dataset(random_table(200, 15, 5, seed=8))
    targets = who.eligible(data)
    aux = who.sample(data, targets, seed=1)
    attack = so.attack(name)
    v = attack.run(data, aux, watch=targets)
    if isinstance(attack, Weighted):
        assert attack.certificate(data, aux, v).consistent.all()
    else:
        assert (v.rank == v.n_matching).all(), "the target is in every matching set"


# The certificate


@pytest.mark.parametrize("gamma", [0.0, 0.05, 0.1, 0.2, 0.4])
def test_a_certified_answer_is_never_wrong(gamma):
    data = dataset(random_table(400, 60, 8, seed=9))
    who = so.Adversary(knows=4, gamma=gamma)
    targets = who.eligible(data)
    aux = who.sample(data, targets, seed=2)
    attack = so.attack("weighted")
    assert isinstance(attack, Weighted)
    v = attack.run(data, aux)
    assert v.matched.tolist() == attack.certificate(data, aux, v).isolated.tolist()
    assert v.matched.sum() > (20 if gamma <= 0.1 else 0)
    assert (v.best[v.matched] == targets[v.matched]).all()


def test_two_items_of_half_the_weight_tie_with_one():
    entries = [Entry(r, 4) for r in range(4)] + [Entry(r, 1) for r in (0, 4)] + [Entry(5, 9)]
    data = dataset(Table(tuple(entries), values=False, days=False))
    v = so.attack("weighted").run(data, one_query(Fact(1), Fact(4), Fact(4)), watch=[4])
    assert v.rank[0] == 5
    assert v.best[0] == 0


def test_a_tie_is_never_certified():
    entries = [Entry(r, i, 3.0) for r in range(2) for i in (1, 2)] + [
        Entry(2, 1, 1.0),
        Entry(3, 3, 5.0),
    ]
    data = dataset(Table(tuple(entries), days=False))
    v = so.attack("weighted", gamma=0).run(data, one_query(Fact(1, 3.0), Fact(2, 3.0)))
    assert v.statistic[0] == 0
    assert not v.matched[0]


def test_an_eccentricity_that_equals_the_threshold_does_not_exceed_it():
    # equal weights: e = (1 - 0.75)/2 of one item = 0.125, and γM = 0.125 · 1
    entries = [
        Entry(0, 1, 1.0),
        Entry(0, 2, 1.0),
        Entry(1, 1, 1.0),
        Entry(1, 2, 2.0),
        Entry(2, 9, 5.0),
    ]
    data = dataset(Table(tuple(entries), days=False))
    aux = one_query(Fact(1, 1.0), Fact(2, 1.0))
    for gamma, certified in [(0.125, False), (0.1249, True), (0.1251, False)]:
        assert so.attack("weighted", gamma=gamma).run(data, aux).matched.tolist() == [certified]


def test_the_threshold_is_an_option_and_the_certificate_stays_what_it_is():
    data = dataset(random_table(200, 30, 5, seed=4))
    who = so.Adversary(knows=3, gamma=0.1)
    aux = who.sample(data, who.eligible(data)[:60], seed=2)
    strict, certified = so.attack("weighted", threshold=0.1), so.attack("weighted")
    assert isinstance(strict, Weighted)
    v = strict.run(data, aux)
    assert v.matched.tolist() == (v.statistic > 0.1).tolist()
    isolated = strict.certificate(data, aux, v).isolated
    assert isolated.tolist() == certified.run(data, aux).matched.tolist()
    assert isolated.sum() > v.matched.sum() > 0


def test_a_fact_about_an_unknown_item_lowers_every_score_and_breaks_the_assumption():
    table = random_table(60, 9, 4, seed=2)
    data, attack = dataset(table), so.attack("weighted", gamma=0.1)
    assert isinstance(attack, Weighted)
    known, more = one_query(Fact(table.items[0])), one_query(Fact(table.items[0]), Fact(STRANGER))
    np.testing.assert_allclose(
        attack.scores(data, more), attack.scores(data, known) / 2, atol=CLOSE
    )
    assert attack.certificate(data, known, attack.run(data, known)).consistent.all()
    assert not attack.certificate(data, more, attack.run(data, more)).consistent.any()
    assert not so.attack("generic", gamma=0.5).run(data, more).matched.any()


# The random member


def members() -> Dataset:
    return dataset(
        Table(
            (*(Entry(r, 1, 3.0) for r in range(500)), Entry(500, 2, 1.0), Entry(501, 2, 5.0)),
            days=False,
        )
    )


def test_the_member_depends_on_the_querys_own_facts_alone():
    data = members()
    facts = [[Fact(1, 3.0 + k / 1000)] for k in range(200)]
    generic = so.attack("generic", gamma=0.5)
    together = generic.run(data, knowledge(facts)).best
    backwards = generic.run(data, knowledge(facts[::-1])).best[::-1]
    alone = [generic.run(data, knowledge([f])).best[0] for f in facts[:20]]
    assert together.tolist() == backwards.tolist()
    assert together[:20].tolist() == alone
    assert np.unique(together).size > 120, "members are drawn from the whole set"
    two = [Fact(1, 3.0), Fact(1)]
    assert (
        generic.run(data, knowledge([two])).best[0]
        == generic.run(data, knowledge([two[::-1]])).best[0]
    )


def test_the_member_is_uniform_over_the_matching_set():
    data = members()
    facts = [[Fact(1, 2.0 + k / 5000)] for k in range(5000)]
    best = so.attack("generic", gamma=0.5).run(data, knowledge(facts)).best
    counts = np.bincount(best // 50, minlength=10)[:10]
    assert counts.sum() == 5000
    chi2 = ((counts - 500) ** 2 / 500).sum()
    assert chi2 < 27.9, f"χ² = {chi2:.1f} on 9 degrees of freedom: beyond 1 in 1000"


def test_the_member_is_the_same_however_the_records_are_cut():
    data = members()
    aux = knowledge([[Fact(1, 3.0 + k / 1000)] for k in range(50)])
    generic = so.attack("generic", gamma=0.5)
    whole = generic.run(data, aux).best
    cut = generic.run(data, aux, engine=CutEngine(data.shards_at([0, 7, 250, 502], 64))).best
    assert whole.tolist() == cut.tolist()


# T


def test_a_null_is_0_an_unknown_value_is_1_and_days_change_nothing():
    entries = [
        Entry(0, 1, 3.0, 10.0),
        Entry(1, 1, NAN, 10.0),
        Entry(2, 1, 5.0, 10.0),
        Entry(3, 2, 1.0, 10.0),
    ]
    data = dataset(Table(tuple(entries)))
    generic = so.attack("generic")
    np.testing.assert_allclose(
        generic.scores(data, one_query(Fact(1, 3.0, 99.0))), [[1, 0, 0.5, 0]], atol=CLOSE
    )
    np.testing.assert_allclose(
        generic.scores(data, one_query(Fact(1, NAN, 99.0))), [[1, 1, 1, 0]], atol=CLOSE
    )


@pytest.mark.parametrize("gap", [1, 2, 3, 4])
def test_a_match_on_the_edge_of_gamma_counts(gap):
    # 1 - 2/10 is no binary number: rounded to fixed point it lies below itself
    entries = [
        Entry(0, 1, 0.0),
        Entry(1, 1, 10.0),
        Entry(2, 1, 5.0 - gap),
        Entry(3, 1, 5.0 + gap),
        Entry(4, 1, 5.1 + gap),
    ]
    data = dataset(Table(tuple(entries), days=False))
    v = so.attack("generic", gamma=gap / 10).run(data, one_query(Fact(1, 5.0)))
    assert v.n_matching[0] == 2


def test_the_weighted_lineup_is_that_of_ns08():
    table = random_table(70, 9, 4, seed=3)
    queries = [[Fact(table.items[1], 3.5), Fact(table.items[3])], [Fact(table.items[0])]]
    watch = np.array([4, 9])
    v = so.attack("weighted").run(dataset(table), knowledge(queries), watch=watch)
    share = oracle.lineup(oracle_dss12.weighted(table, queries))
    np.testing.assert_allclose(v.share, share.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(v.bits, -np.log2(share[[0, 1], watch]), rtol=1e-5)


def test_theorem_3_bounds_the_similarity_of_the_answer_to_the_knowledge():
    table = random_table(300, 40, 8, seed=5, values=True)
    data = dataset(table)
    who = so.Adversary(knows=5, gamma=0.1)
    targets = who.eligible(data)[:40]
    aux = who.sample(data, targets, seed=2)
    best = so.attack("weighted").run(data, aux).best
    for q, facts in enumerate(queries_of(aux)):
        similarity = np.mean([oracle_dss12.t(table, f, table.records[best[q]]) for f in facts])
        bound = dss12.l2([oracle_dss12.w(table.support(f.item)) for f in facts], 0.1)
        assert similarity >= bound - 1e-9


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("generic", {"gamma": -0.1}),
        ("generic", {"gamma": 1.5}),
        ("weighted", {"gamma": 2}),
        ("weighted", {"threshold": -1}),
        ("weighted", {"threshold": NAN}),
        ("weighted", {"colour": 1}),
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused_by_name(name, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        so.attack(name, **options)
