"""Choices with weights, in the likelihood: against a dense Bayes oracle that shares no code with the package."""

from dataclasses import replace
from itertools import combinations, permutations
from math import factorial, prod

import numpy as np
import pytest

import standout as so


def shop(records=70, items=24, repeats=True):
    """People with 6 to 14 purchases each, popular items more often; values 1 to 5, days 0 to 60."""
    rng = np.random.default_rng(11)
    share = 1 / np.arange(1, items + 1)
    record, item = [], []
    for r in range(records):
        n = rng.integers(6, 15)
        own = rng.choice(items, n, replace=repeats, p=share / share.sum())
        # enough items for every kind of knowledge
        own = np.append(own, rng.choice(items, 5, replace=False))
        own = own if repeats else np.unique(own)
        record += [r] * own.size
        item += own.tolist()
    value, day = rng.integers(1, 6, len(item)).astype(float), rng.integers(0, 61, len(item))
    columns = {"record": record, "item": item, "value": value, "time": day.astype(float)}
    return so.Dataset.from_arrays(*(np.array(x) for x in columns.values())), columns


class Oracle:
    """Bayes' rule over a dictionary of events."""

    def __init__(self, columns, choose):
        self.events, self.choose = {}, choose
        for r, i, v, d in zip(*columns.values(), strict=True):
            self.events.setdefault(r, {}).setdefault(i, []).append((v, d))
        held = [i for row in self.events.values() for i in row]
        self.support = {i: held.count(i) for i in set(held)}
        days = columns["time"]
        self.first, self.last = min(days), max(days)

    def weight(self, r, i, wrongly=False):
        """Weight of an item of a record; `wrongly`: of what can be wrong. Here every event can be wrong."""
        if self.choose == "event":
            return len(self.events[r][i])
        return self.support[i] if self.choose == "popular" else 1

    def told(self, event, fact, who, wrong):
        """Chance that the event is told as the value and day of the fact."""
        (v, d), (_, value, day) = event, fact
        p = 1.0
        if who.value_within is not None:
            near = {min(max(v + s, 1), 5): 0.0 for s in (-1, 0, 1)}
            for s in (-1, 0, 1):
                near[min(max(v + s, 1), 5)] += 1 / 3
            far = [x for x in (1, 2, 3, 4, 5) if abs(x - v) > 1]
            p *= (value in far) / len(far) if wrong else near.get(value, 0.0)
        if who.time_within is not None:
            reach = who.time_within
            far = [x for x in range(int(self.first), int(self.last) + 1) if abs(x - d) > reach]
            p *= (day in far) / len(far) if wrong else (abs(day - d) <= reach) / (2 * reach + 1)
        return p

    def mean_told(self, r, fact, who, wrong):
        events = self.events[r][fact[0]]
        return sum(self.told(e, fact, who, wrong) for e in events) / len(events)

    def draws(self, r, items, pool):
        """Chance of these items in this order."""
        left, p = list(pool), 1.0
        for i in items:
            p *= self.weight(r, i) / sum(self.weight(r, x) for x in left)
            left.remove(i)
        return p

    def chance(self, r, facts, who):
        """P(facts | record r), up to a factor that is the same for all records."""
        own, m = list(self.events[r]), len(facts)
        items_wrong = who.wrong if who.wrong_kind == "item" else 0
        values_wrong = who.wrong - items_wrong
        total = 0.0
        for wrong in combinations(range(m), who.wrong):
            right = [k for k in range(m) if k not in wrong]
            if any(facts[k][0] not in own for k in right):
                continue
            if values_wrong and any(facts[k][0] not in own for k in wrong):
                continue
            if items_wrong and any(facts[k][0] in own for k in wrong):
                continue
            p = prod(self.mean_told(r, facts[k], who, False) for k in right)
            names = [facts[k][0] for k in right]
            off = [facts[k][0] for k in wrong]
            if values_wrong:
                p *= prod(self.mean_told(r, facts[k], who, True) for k in wrong)
                p *= sum(
                    self.draws(r, [*one, *two], own)
                    for one in permutations(off)
                    for two in permutations(names)
                )
            else:
                p *= sum(self.draws(r, one, own) for one in permutations(names))
                p *= self.strange(r, [facts[k] for k in wrong], who)
            total += p / factorial(m)
        return total

    def strange(self, r, facts, who):
        """Chance of the wrong items: random pairs of the other items, one after the other."""
        pairs = {i: n for i, n in self.support.items() if i not in self.events[r]}
        out = 0.0
        for order in permutations(facts):
            left, p = dict(pairs), 1.0
            for fact in order:
                holders = [s for s in self.events if fact[0] in self.events[s]]
                g = sum(self.mean_told(s, fact, who, False) for s in holders) / len(holders)
                p *= g * left.pop(fact[0]) / (sum(left.values()) + pairs[fact[0]])
            out += p
        return out


KNOWN = (
    {"knows": 3, "value_within": 1, "time_within": 4},
    {"knows": 3, "value_within": None},
    {"knows": 3, "wrong": 1, "wrong_kind": "item", "value_within": 1},
    {"knows": 3, "wrong": 1, "value_within": 1, "time_within": 4},
)


@pytest.mark.parametrize("engine", ["memory", "chunked"])
@pytest.mark.parametrize("choose", ["event", "popular"])
@pytest.mark.parametrize("known", KNOWN, ids=str)
def test_the_likelihood_ranks_as_bayes_rule_and_states_its_posterior(
    known, choose, engine, tmp_path
):
    ds, columns = shop()
    who = so.Adversary(choose=choose, **known)
    data = ds
    if engine == "chunked":
        ds.save(tmp_path / "there")
        data = so.ChunkedDataset.open(tmp_path / "there")
    knowledge = who.sample(data, np.arange(0, 60, 3), seed=5)
    oracle = Oracle(columns, choose)
    seen = so.attack("likelihood", calibrate=False).run(data, knowledge)
    first = min(columns["time"])
    for q in range(20):
        lo, hi = knowledge.query_ptr[q : q + 2]
        facts = [
            (int(i), v, None if np.isnan(t) else t)
            for i, v, t in zip(
                knowledge.item[lo:hi], knowledge.value[lo:hi], knowledge.time[lo:hi], strict=True
            )
        ]
        assert first == 0
        p = np.array([oracle.chance(r, facts, who) for r in range(ds.n_records)])
        assert p[3 * q] > 0
        assert (p > 0).sum() == seen.n_candidates[q]
        assert p[seen.best[q]] == pytest.approx(p.max(), rel=1e-6)
        assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)


@pytest.mark.parametrize("choose", ["event", "popular", "uniform"])
@pytest.mark.parametrize("kind", ["item", "value"])
def test_facts_that_are_wrong_independently_have_odds_by_weight(choose, kind):
    ds, columns = shop(records=40)
    oracle = Oracle(columns, choose)
    e = 0.3
    known = {"value_within": None} if kind == "item" else {"value_within": 1}
    who = so.Adversary(knows=4, wrong=e, wrong_kind=kind, choose=choose, **known)
    knowledge = who.sample(ds, np.arange(12), seed=2)
    scores = so.attack("likelihood", calibrate=False).scores(ds, knowledge)
    if kind == "value":
        # the shares of values follow smoothed backgrounds, which the tests of the odds compare
        hit = scores.argmax(axis=1) == np.arange(12)
        assert np.isfinite(scores).all() and hit.mean() > 0.5
        return
    pairs = sum(oracle.support.values())
    if choose == "event":
        share = {
            i: sum(len(row.get(i, ())) for row in oracle.events.values()) for i in oracle.support
        }
    else:
        share = {i: n * oracle.weight(None, i) for i, n in oracle.support.items()}
    whole = sum(share.values())
    for q in range(12):
        items = knowledge.item[knowledge.query_ptr[q] : knowledge.query_ptr[q + 1]].tolist()
        absent = prod((1 - e) * share[i] / whole + e * oracle.support[i] / pairs for i in items)
        for r, row in oracle.events.items():
            total = sum(oracle.weight(r, i) for i in row)
            p = prod(
                (1 - e) * (oracle.weight(r, i) / total if i in row else 0.0)
                + e * oracle.support[i] / pairs
                for i in items
            )
            assert scores[q, r] == pytest.approx(np.log(p / absent), abs=2e-5)


@pytest.mark.parametrize("choose", ["event", "popular"])
@pytest.mark.parametrize("wrong, kind", [(0, "value"), (1, "item"), (1, "value"), (0.3, "item")])
def test_weighted_choices_give_the_same_answers_on_every_engine_and_cut(
    choose, wrong, kind, tmp_path
):
    ds, _ = shop()
    who = so.Adversary(knows=3, wrong=wrong, wrong_kind=kind, value_within=1, choose=choose)
    targets = who.eligible(ds)[:30]
    ds.save(tmp_path / "there")
    there = so.ChunkedDataset.open(tmp_path / "there", threads=2)
    knowledge, same = (who.sample(data, targets, seed=3) for data in (ds, there))
    for name in ("item", "value", "time"):
        np.testing.assert_array_equal(getattr(knowledge, name), getattr(same, name))
    for exclude in (None, targets):
        here = so.attack("likelihood").run(ds, knowledge, exclude=exclude)
        away = so.attack("likelihood").run(there, same, exclude=exclude)
        for name in ("best", "score", "second", "n_candidates"):
            np.testing.assert_array_equal(getattr(here, name), getattr(away, name))
        np.testing.assert_allclose(here.posterior, away.posterior, atol=1e-9)


@pytest.mark.parametrize("choose", ["event", "popular"])
def test_an_attack_that_knows_the_choice_finds_no_fewer_people_than_one_that_does_not(choose):
    ds, _ = shop(records=200)
    who = so.Adversary(knows=2, value_within=None, choose=choose)
    targets = who.eligible(ds)
    knowledge = who.sample(ds, targets, seed=1)
    told = so.attack("likelihood").run(ds, knowledge, watch=targets)
    even = replace(knowledge, adversary=replace(who, choose="uniform"))
    untold = so.attack("likelihood").run(ds, even, watch=targets)
    assert told.credit.mean() > untold.credit.mean() - 0.01
    # the shares are those of the choice: they sum to what is found
    raw = so.attack("likelihood", calibrate=False).run(ds, knowledge, watch=targets)
    assert raw.share.mean() == pytest.approx(raw.credit.mean(), abs=0.07)


@pytest.mark.parametrize("choose", ["event", "popular"])
@pytest.mark.parametrize("known", [{"knows": 2, "value_within": None}, {"knows": 3, "wrong": 1}])
def test_the_calibrated_posterior_is_as_often_right_as_it_says(choose, known):
    ds, _ = shop(records=900, items=60)
    who = so.Adversary(choose=choose, **known)
    targets = who.eligible(ds)[:600]
    knowledge = who.sample(ds, targets, seed=77)
    attack = so.attack("likelihood")
    here, gone = attack.run_both(ds, knowledge, targets)
    credit = so.attack("likelihood").run(ds, knowledge, watch=targets).credit
    said = np.concatenate([here.posterior, gone.posterior]).mean()
    assert said == pytest.approx(credit.sum() / (2 * targets.size), abs=0.03)


def test_a_defended_release_is_attacked_with_a_weighted_choice():
    ds, _ = shop(records=120)
    who = so.Adversary(knows=4, value_within=None, choose="event")
    release = so.defense("drop-entries", share=0.3).apply(ds, seed=4)
    targets = who.eligible(ds)
    knowledge = who.sample(ds, targets, seed=1)
    seen = so.attack("likelihood").run(release, knowledge)
    assert np.isfinite(seen.score).all()
    assert ((seen.posterior >= 0) & (seen.posterior <= 1)).all()


def test_the_share_of_unique_people_takes_no_model_of_the_choice():
    ds, _ = shop()
    who = so.Adversary(knows=3, value_within=1, choose="popular")
    knowledge = who.sample(ds, seed=1)
    uniform = replace(knowledge, adversary=replace(who, choose="uniform"))
    one, two = (so.attack("unicity").run(ds, k) for k in (knowledge, uniform))
    np.testing.assert_array_equal(one.score, two.score)
    np.testing.assert_array_equal(one.n_candidates, two.n_candidates)
