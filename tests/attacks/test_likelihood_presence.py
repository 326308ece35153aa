"""P(absent) and the posterior: calibrated on canaries, honest where nobody can be the target, left alone elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

import standout as so
from standout.attacks.likelihood import Likelihood
from standout.attacks.noise import Noise
from standout.attacks.presence import Presence, canary_seed, fit_presence
from standout.scoring.plan import Combine


def coherent(n=900, groups=12, seed=0):
    """A release whose people have tastes: most items of a record come from its group's 25, the others from all 400."""
    rng = np.random.default_rng(seed)
    record, item = [], []
    for r in range(n):
        own = rng.choice(25, rng.integers(6, 21), replace=False) + 25 * (r % groups)
        everyone = rng.choice(400, rng.integers(2, 21), replace=False)
        mine = np.unique(np.concatenate([own, everyone]))
        record += [r] * mine.size
        item += mine.tolist()
    return so.Dataset.from_arrays(
        np.array(record), np.array(item), rng.integers(1, 6, len(item)).astype(float)
    )


@pytest.fixture(scope="module")
def release():
    return coherent()


def both(attack, ds, who, seed=3, n=700):
    """Verdicts with the targets there and removed; the targets are not the canaries' draw."""
    targets = who.eligible(ds)[-n:]
    knowledge = who.sample(ds, targets, seed)
    return attack.run(ds, knowledge, watch=targets), attack.run(ds, knowledge, exclude=targets)


@pytest.mark.parametrize(
    "who",
    [
        so.Adversary(knows=4, value_within=None),
        so.Adversary(knows=4, wrong=1, wrong_kind="item", value_within=1),
        so.Adversary(knows=4, wrong=2, wrong_kind="value", value_within=1),
        so.Adversary(knows=4, wrong=0.25, wrong_kind="item", value_within=None),
    ],
    ids=lambda w: w.describe(),
)
def test_people_with_tastes_do_not_make_the_attacker_overconfident(release, who):
    here, gone = both(so.attack("likelihood"), release, who)
    # 200 canaries leave a standard error of about 1.5 points
    assert np.mean([here.absent.mean(), gone.absent.mean()]) == pytest.approx(0.5, abs=0.045)
    said = np.mean([here.posterior.mean(), gone.posterior.mean()])
    assert said == pytest.approx(here.credit.mean() / 2, abs=0.03)
    # the likelihood as it is takes absent people for present ones
    raw_here, raw_gone = both(so.attack("likelihood", calibrate=False), release, who)
    assert np.mean([raw_here.absent.mean(), raw_gone.absent.mean()]) < 0.44
    np.testing.assert_array_equal(here.best, raw_here.best)
    np.testing.assert_array_equal(here.share, raw_here.share)


def test_the_lineup_of_the_exact_likelihood_is_as_often_right_as_it_says(release):
    who = so.Adversary(knows=3, wrong=1, wrong_kind="item", value_within=1)
    here, _ = both(so.attack("likelihood", calibrate=False), release, who, n=800)
    assert 0.2 < here.credit.mean() < 0.95
    assert here.share.mean() == pytest.approx(here.credit.mean(), abs=0.03)


def test_a_wrong_fact_does_not_let_simpler_attacks_win(release):
    who = so.Adversary(knows=4, wrong=2, wrong_kind="item", value_within=1)
    targets = who.eligible(release)[:500]
    knowledge = who.sample(release, targets, 5)

    def credit(attack):
        return attack.run(release, knowledge, watch=targets).credit.mean()

    ours = credit(so.attack("likelihood", calibrate=False))
    independent = credit(so.attack("likelihood", noise=Noise.informed(who, release)))
    assert ours > independent + 0.02
    for other in (
        so.attack("tf-idf"),
        so.attack("scoreboard-rh"),
        so.attack("scoreboard-rh", length="sqrt"),
    ):
        assert ours > credit(other)


def test_where_nobody_can_be_the_target_she_says_absent_and_names_nobody():
    ds = coherent(n=60, groups=3)
    lonely = so.Dataset.from_arrays(
        np.append(np.repeat(np.arange(60), np.diff(ds.record_ptr)), [60, 60]),
        np.append(ds.record_item, [900, 901]),
        np.append(ds.levels[ds.record_code], [1.0, 5.0]),
    )
    knowledge = so.Adversary(knows=2, value_within=0).sample(lonely, [60], 1)
    v = so.attack("likelihood").run(lonely, knowledge, exclude=[60])
    assert v.n_candidates.tolist() == [0] and v.best.tolist() == [-1]
    assert v.absent.tolist() == [1.0] and v.posterior.tolist() == [0.0]
    assert not v.matched.any()
    sure = so.attack("likelihood", prior=1.0).run(lonely, knowledge)
    assert sure.absent.tolist() == [0.0] and sure.best.tolist() == [60]


def test_a_release_that_differs_from_the_source_does_not_rule_the_target_out(release):
    # half of the entries are gone: the exact model would bar nearly every target
    rng = np.random.default_rng(1)
    kept = rng.random(release.n_entries) < 0.5
    record = np.repeat(np.arange(release.n_records), np.diff(release.record_ptr))
    thinned = so.Dataset.from_arrays(
        record[kept], release.record_item[kept], release.levels[release.record_code[kept]]
    )
    who = so.Adversary(knows=8, value_within=0)
    targets = who.eligible(release)[:100]
    knowledge = who.sample(release, targets, 2)
    facts = knowledge.bind(thinned)
    nobody = np.full(100, -1, np.int64)
    attack = so.attack("likelihood")
    fitted = attack.fit(thinned, facts)
    assert fitted.compile(thinned, facts, nobody).combine == Combine.ODDS
    assert fitted.presence == Presence()
    own = knowledge.bind(release)
    assert attack.fit(release, own).compile(release, own, nobody).combine == Combine.EXACT


def test_independent_errors_and_fitted_noise_keep_the_product(release):
    for who, noise in [
        (so.Adversary(knows=4, wrong=0.25, wrong_kind="item", value_within=1), None),
        (so.Adversary(knows=4, wrong=1, value_within=1), "fit"),
    ]:
        facts = who.sample(release, np.arange(30), 1).bind(release)
        fitted = so.attack("likelihood", noise=noise, calibrate=False).fit(release, facts)
        assert fitted.compile(release, facts, np.full(30, -1, np.int64)).combine == Combine.ODDS


def test_knowledge_from_outside_is_not_calibrated(release):
    knowledge = so.Adversary(knows=4, value_within=0).sample(release, np.arange(20), 1)
    outside = so.Knowledge.from_arrays(knowledge.query, knowledge.item, knowledge.value)
    assert Likelihood().fit(release, outside).presence == Presence()
    assert Likelihood(noise="fit").fit(release, knowledge).presence == Presence()
    assert Likelihood().fit(release, knowledge).presence.n > 0


def test_shortened_queries_are_neither_exact_nor_calibrated_like_whole_ones(release):
    """`explain` leaves facts out: how many of the others are wrong is then not known."""
    who = so.Adversary(knows=4, wrong=1, value_within=1)
    knowledge = who.sample(release, np.arange(20), 1)
    fitted = Likelihood().fit(release, knowledge)
    first = np.arange(80) % 4 > 0
    fewer = replace(
        knowledge,
        query_ptr=np.arange(21) * 3,
        item=knowledge.item[first],
        value=knowledge.value[first],
        time=knowledge.time[first],
        _index=knowledge._index[first],
    )
    again = fitted.fit(release, fewer)
    assert again.presence == Presence()
    plan = again.compile(release, fewer.bind(release), np.full(20, -1, np.int64))
    assert plan.combine == Combine.ODDS
    foreign = replace(knowledge, source=coherent(n=30, groups=3))
    assert fitted.fit(release, foreign).presence == Presence()


def test_canaries_are_drawn_once_for_a_release_and_an_adversary(release, monkeypatch):
    knowledge = so.Adversary(knows=5, value_within=0).sample(release, np.arange(20), 1)
    fitted = Likelihood().fit(release, knowledge)
    runs = []
    monkeypatch.setattr(
        Likelihood,
        "run_both",
        lambda *a, **k: runs.append(a) or pytest.fail("canaries were run again"),
    )
    assert fitted.fit(release, knowledge) is fitted
    assert Likelihood().fit(release, knowledge).presence == fitted.presence
    other = so.Adversary(knows=4, value_within=0).sample(release, np.arange(20), 1)
    assert not runs
    with pytest.raises(pytest.fail.Exception):
        fitted.fit(
            release, replace(other, adversary=so.Adversary(knows=4, wrong=1, value_within=0))
        )


def test_the_fit_of_presence_finds_what_made_the_canaries():
    rng = np.random.default_rng(0)
    factor, share = rng.normal(2, 4, 20_000), rng.random(20_000)
    z = -1.0 + 0.5 * factor + 0.8 * np.log(share)
    present = rng.random(20_000) < 1 / (1 + np.exp(-z))
    found = fit_presence(factor, share, present)
    assert (found.a, found.b, found.c) == pytest.approx((-1.0, 0.5, 0.8), abs=0.1)


@pytest.mark.parametrize("case", ["separated", "reversed", "nobody absent fits", "one canary"])
def test_degenerate_canaries_give_finite_numbers_and_more_evidence_never_says_absent(case):
    factor = np.array([8.0, 9.0, 10.0, 11.0, -8.0, -9.0, -10.0, -11.0])
    present = np.arange(8) < 4
    if case == "reversed":
        present = ~present
    if case == "nobody absent fits":
        factor = np.where(present, factor, -np.inf)
    if case == "one canary":
        factor, present = np.array([3.0, -np.inf]), np.array([True, False])
    found = fit_presence(factor, np.ones(factor.size), present)
    assert np.isfinite([found.a, found.b, found.c]).all() and found.b > 0
    odds = found.log_odds(np.array([-5.0, 0.0, 5.0, -np.inf]), np.ones(4))
    assert (np.diff(odds[:3]) > 0).all() and odds[3] == -np.inf


def test_other_words_for_an_adversary_do_not_change_its_canaries(monkeypatch):
    who = so.Adversary(knows=4, wrong=1, value_within=1, time_within=14)
    before = canary_seed(who)
    monkeypatch.setattr(so.Adversary, "describe", lambda self, resolution="day": "reworded")
    assert canary_seed(who) == before == 1100248748057


def test_equal_adversaries_have_the_same_canaries_and_others_have_others():
    assert canary_seed(so.Adversary(knows=4, value_within=1)) == canary_seed(
        so.Adversary(knows=4, value_within=1.0)
    )
    kinds = [
        so.Adversary(knows=k, value_within=v, time_within=t)
        for k in (4, 8)
        for v in (0, 1, None)
        for t in (0, None)
    ]
    assert len({canary_seed(who) for who in kinds}) == len(kinds)


def test_a_removed_target_is_left_out_of_those_who_could_be_the_person_only_where_it_could():
    """Of 6 records one is too short for the adversary; queries without their target, and one without any removal."""
    lengths = [4, 4, 2, 4, 4, 4]
    record = np.repeat(np.arange(6), lengths)
    item = np.concatenate([np.arange(n) + k % 2 for k, n in enumerate(lengths)])
    ds = so.Dataset.from_arrays(record, item, value=1.0 + np.arange(record.size) % 3)
    who = so.Adversary(knows=3, wrong=1, value_within=0)
    facts = who.sample(ds, np.array([0, 1, 3, 4]), seed=1).bind(ds)
    plan = so.attack("likelihood").fit(ds, facts).compile(ds, facts, np.array([2, 1, -1, 4]))
    assert plan.exact is not None
    assert plan.exact.n_possible.tolist() == [5, 4, 5, 4]
