"""The informed likelihood against enumeration: every way in which the adversary could have come to know the facts."""

import os
from dataclasses import replace
from itertools import permutations
from math import factorial, perm, prod

import numpy as np
import pytest
from hypothesis import settings
from scipy.stats import chi2

import standout as so
from standout.formulas.likelihood import MOST_ORDERED, wrong_order
from standout.jit import njit
from standout.scoring import exact
from standout.scoring.plan import Combine
from standout.scoring.postings import postings, variant_of

NOTHING = None


def tiny(seed=0, records=6, items=6, repeats=False, missing=0.0, channels=(True, True)):
    """A few records of 3 to 5 items; values 1, 2, 3; days 0 to 6. The first record holds both ends of both scales."""
    rng = np.random.default_rng(seed)
    rows = [(0, 0, 1.0, 0.0), (0, 1, 3.0, 6.0), (0, 2, 2.0, 3.0)]
    for r in range(records):
        for i in rng.choice(items, rng.integers(3, 5), replace=False):
            for _ in range(1 + int(repeats and rng.random() < 0.5)):
                if r > 0 or i > 2:
                    rows.append((r, int(i), float(rng.integers(1, 4)), float(rng.integers(0, 7))))
    record, item, value, day = (np.array(x) for x in zip(*rows, strict=True))
    lost = rng.random((2, record.size)) < missing
    lost[:, :3] = False
    value, day = np.where(lost[0], np.nan, value), np.where(lost[1], np.nan, day)
    return so.Dataset.from_arrays(
        record, item, value if channels[0] else None, day if channels[1] else None
    )


def drawn(who, ds, targets, seeds):
    """Knowledge of the targets, drawn once with each seed."""
    parts = [who.sample(ds, targets, seed) for seed in seeds]
    n = len(parts) * len(targets)
    both = {
        name: np.concatenate([getattr(p, name) for p in parts])
        for name in ("item", "value", "time", "length", "_index")
    }
    return replace(parts[0], query_ptr=np.arange(n + 1) * who.knows, queries=np.arange(n), **both)


def events(ds, gone=-1):
    """{record: {item: [(value or None, day or None), …]}}, one record left out."""
    out = {}
    for r in range(ds.n_records):
        for k in range(ds.record_ptr[r], ds.record_ptr[r + 1]):
            v = (
                ds.levels[ds.record_code[k]]
                if ds.has_value and ds.record_code[k] < ds.n_levels
                else NOTHING
            )
            d = (
                int(ds.record_tick[k])
                if ds.has_time and ds.record_tick[k] != ds.no_tick
                else NOTHING
            )
            if r != gone:
                out.setdefault(r, {}).setdefault(int(ds.record_item[k]), []).append((v, d))
    return out


def told_value(who, ds, true):
    """[(told value, chance)]: right, then wrong."""
    if true is NOTHING or who.value_within is None:
        return [(NOTHING, 1.0)], [(NOTHING, 1.0)]
    steps = range(-int(who.value_within), int(who.value_within) + 1)
    right = [(min(max(true + s, ds.levels[0]), ds.levels[-1]), 1 / len(steps)) for s in steps]
    outside = [x for x in ds.levels if abs(x - true) > who.value_within]
    return right, [(x, 1 / len(outside)) for x in outside]


def told_day(who, ds, true):
    """[(told day, chance)]: right, then wrong."""
    if true is NOTHING or who.time_within is None:
        return [(NOTHING, 1.0)], [(NOTHING, 1.0)]
    reach = int(who.time_within)
    right = [(true + s, 1 / (2 * reach + 1)) for s in range(-reach, reach + 1)]
    outside = [d for d in range(ds.tick_span + 1) if abs(d - true) > reach]
    return right, [(d, 1 / len(outside)) for d in outside]


def can_be_wrong(who, ds, event):
    """Whether the event tells something, and every channel that it tells can be wrong."""
    value, day = told_value(who, ds, event[0])[1], told_day(who, ds, event[1])[1]
    told = [x for x in (value, day) if x != [(NOTHING, 1.0)]]
    return bool(told) and all(told)


def chance_of_telling(who, ds, pair, fact, wrong):
    """Chance that an entry of the pair is told as (value, day) of the fact, its event drawn evenly."""
    usable = [e for e in pair if not wrong or can_be_wrong(who, ds, e)]
    total = 0.0
    for value, day in usable:
        values, days = told_value(who, ds, value)[wrong], told_day(who, ds, day)[wrong]
        total += (
            sum(p for v, p in values if v == fact[1])
            * sum(p for d, p in days if d == fact[2])
            / len(usable)
        )
    return total


def enumerated(who, ds, facts, r, gone=-1):
    """P(facts in this order | target r): the sum over all ways to pick, to tell and to shuffle."""
    data, m = events(ds, gone), len(facts)
    pickable = set(np.flatnonzero(who.pickable(ds)).tolist())
    own = [i for i in data[r] if i in pickable]
    n_wrong_items = int(who.wrong) if who.wrong_kind == "item" else 0
    k = m - n_wrong_items
    total = 0.0
    for order in permutations(range(m)):  # order[j] = place in the query of the fact drawn j-th
        as_drawn = [facts[p] for p in order]
        if who.choice.name == "rare":
            total += picked_by_rarity(who, ds, data, as_drawn, r, own)
        else:
            total += picked(who, ds, data, as_drawn, r, own, k, pickable)
    return total / factorial(m)


def picked(who, ds, data, facts, r, own, k, pickable):
    """Chance of these facts in the order in which they were drawn: wrong values, right ones, wrong items."""
    w = int(who.wrong) if who.wrong_kind == "value" else 0
    if any(f[0] not in own for f in facts[:k]):
        return 0.0
    fine = [i for i in own if any(can_be_wrong(who, ds, e) for e in data[r][i])]
    if any(f[0] not in fine for f in facts[:w]):
        return 0.0
    if any(weight_of(who, ds, data[r], i) != 1 for i in own):
        p = picked_by_weight(who, ds, data[r], [f[0] for f in facts[:k]], w, own, fine)
    else:
        p = 1 / perm(len(fine), w) / perm(len(own) - w, k - w)
    p *= prod(chance_of_telling(who, ds, data[r][f[0]], f, j < w) for j, f in enumerate(facts[:k]))
    pairs = [(s, i) for s in data for i in data[s] if i in pickable and i not in data[r]]
    for f in facts[k:]:
        mine = [(s, i) for s, i in pairs if i == f[0]]
        p *= sum(chance_of_telling(who, ds, data[s][i], f, False) for s, i in mine) / max(
            len(pairs), 1
        )
        pairs = [(s, i) for s, i in pairs if i != f[0]]
    return p


def weight_of(who, ds, record, i, only_fine=False):
    """Weight of an item of a record: its events, those that can be wrong, its support, or 1."""
    if who.choose == "event":
        return sum(not only_fine or can_be_wrong(who, ds, e) for e in record[i])
    return int(ds.supports[i]) if who.choose == "popular" else 1


def picked_by_weight(who, ds, record, items, w, own, fine):
    """Chance of these items in this order: w by the weights of what can be wrong, then the others from what is left."""
    p, taken = 1.0, []
    for j, i in enumerate(items):
        left = [x for x in (fine if j < w else own) if x not in taken]
        weights = {x: weight_of(who, ds, record, x, only_fine=j < w) for x in left}
        p *= weights[i] / sum(weights.values())
        taken.append(i)
    return p


def picked_by_rarity(who, ds, data, facts, r, own):
    n_rare = int(np.ceil(who.choice.share * who.knows - 1e-9))
    rare = {i for i in own if 1 / np.log2(max(ds.supports[i], 2)) >= who.choice.rarity}
    others = [i for i in own if i not in rare]
    if any(f[0] not in rare for f in facts[:n_rare]) or any(
        f[0] not in others for f in facts[n_rare:]
    ):
        return 0.0
    p = 1 / perm(len(rare), n_rare) / perm(len(others), len(facts) - n_rare)
    return p * prod(chance_of_telling(who, ds, data[r][f[0]], f, False) for f in facts)


@njit(cache=True)
def chances(post, plan, how, t, out):
    """The production formula before rounding, for every record that is a candidate at all."""
    scratch = exact.make_exact_scratch(post.block_size, t.most_facts, t.most_wrong)
    for q in range(plan.query.ptr.size - 1):
        for b in range(post.ptr.shape[0]):
            offset = b * post.block_size
            size = min(post.block_size, post.n_records - offset)
            n = exact.list_holders(b, size, q, post, plan, t, scratch)
            exact.count_shared(n, b, size, q, post, t, scratch)
            exact.start_search(b, q, post, plan, scratch)
            for c in range(n):
                r = offset + scratch.local[c]
                if exact.allowed(r, q, post, plan, how):
                    out[q, post.first_record + r] = exact.log_chance(
                        scratch.local[c], b, q, post, plan, t, scratch
                    )


def production(ds, knowledge, exclude=None, block=3):
    """P(facts | record) before rounding, and the rounded log, both (queries, records)."""
    facts = knowledge.bind(ds)
    gone = np.full(facts.n_queries, -1, np.int64) if exclude is None else exclude
    plan = so.attack("likelihood", calibrate=False).fit(ds, facts).compile(ds, facts, gone)
    assert plan.combine == Combine.EXACT
    out = np.full((facts.n_queries, ds.n_records), -np.inf)
    for shard in ds.shards(2, block_size=block):
        chances(postings(shard), plan.tables, variant_of(plan), exact.for_shard(plan, shard), out)
    rounded = (
        so.attack("likelihood", calibrate=False).scores(ds, knowledge, exclude=gone)
        - plan.base[:, None]
    )
    return np.exp(out), rounded


def as_facts(ds, knowledge):
    """Each query as [(item index, value or None, day offset or None)]."""
    bound = knowledge.bind(ds)
    clean = [NOTHING if np.isnan(v) else float(v) for v in bound.value]
    days = [NOTHING if np.isnan(d) else int(d) - ds.first_tick for d in bound.day]
    flat = list(zip(bound.item.tolist(), clean, days, strict=True))
    return [flat[lo:hi] for lo, hi in zip(bound.query_ptr[:-1], bound.query_ptr[1:], strict=True)]


ADVERSARIES = [
    so.Adversary(knows=2, value_within=1, time_within=1),
    so.Adversary(knows=3, value_within=0, time_within=None),
    so.Adversary(knows=2, wrong=1, wrong_kind="item", value_within=1, time_within=1),
    so.Adversary(knows=3, wrong=2, wrong_kind="item", value_within=None, time_within=2),
    so.Adversary(knows=3, wrong=1, wrong_kind="item", value_within=None, time_within=None),
    so.Adversary(knows=2, wrong=2, wrong_kind="item", value_within=0, time_within=None),
    so.Adversary(knows=2, wrong=1, wrong_kind="value", value_within=0, time_within=1),
    so.Adversary(knows=3, wrong=2, wrong_kind="value", value_within=0, time_within=None),
    # no level is farther than 1 from 2, no day farther than 4 from 3: some entries cannot be told
    # wrongly
    so.Adversary(knows=3, wrong=1, wrong_kind="value", value_within=1, time_within=4),
    so.Adversary(
        knows=2, wrong=1, wrong_kind="item", value_within=1, time_within=1, choose="outside-top:2"
    ),
    so.Adversary(
        knows=2, wrong=1, wrong_kind="value", value_within=0, time_within=1, choose="outside-top:1"
    ),
    so.Adversary(knows=2, wrong=0, value_within=0, time_within=None, choose="rare:0.4@0.55"),
    *(
        so.Adversary(choose=choose, **known)
        for choose in ("event", "popular")
        for known in (
            {"knows": 2, "value_within": 1, "time_within": 1},
            {"knows": 3, "value_within": None},
            {"knows": 3, "wrong": 1, "wrong_kind": "item", "value_within": 1, "time_within": 1},
            {"knows": 3, "wrong": 1, "value_within": 1, "time_within": 4},
            {"knows": 3, "wrong": 2, "value_within": 0},
        )
    ),
]


@pytest.mark.parametrize("shape", ["plain", "repeats", "missing", "excluded"])
@pytest.mark.parametrize("who", ADVERSARIES, ids=lambda w: w.describe())
def test_the_informed_likelihood_is_what_enumeration_gives(who, shape):
    ds = tiny(seed=3, repeats=shape == "repeats", missing=0.25 if shape == "missing" else 0.0)
    targets = who.eligible(ds)
    assert targets.size > 1
    knowledge = drawn(who, ds, targets, range(3))
    gone = 4 if shape == "excluded" else -1
    exclude = np.full(knowledge.n_queries, gone, np.int64)
    ours, rounded = production(ds, knowledge, exclude)
    candidates = [r for r in targets.tolist() if r != gone]
    theirs = np.zeros_like(ours)
    for q, facts in enumerate(as_facts(ds, knowledge)):
        for r in candidates:
            theirs[q, r] = enumerated(who, ds, facts, r, gone)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)
    assert (theirs > 0).any()
    if gone < 0:
        assert (theirs[np.arange(len(theirs)), np.tile(targets, 3)] > 0).all()
    np.testing.assert_array_equal(np.isfinite(rounded), theirs > 0)
    here = theirs > 0
    np.testing.assert_allclose(rounded[here], np.log(theirs[here]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", ["plain", "repeats and gaps"])
@pytest.mark.parametrize(
    "who", [a for a in ADVERSARIES if a.choice.name != "rare"], ids=lambda w: w.describe()
)
def test_the_sampler_draws_as_often_as_the_likelihood_says(who, shape, monkeypatch):
    # thousands of draws of one target each: threads would take most of the time
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    awkward = shape != "plain"
    ds = tiny(seed=8, records=8, items=9, repeats=awkward, missing=0.2 if awkward else 0.0)
    target = int(who.eligible(ds)[-1])
    n = min(100 * settings().max_examples, 4000)  # fewer in the quick profile
    knowledge = drawn(who, ds, [target], range(n))
    p = production(ds, knowledge)[0][:, target] * factorial(who.knows)
    assert (p > 0).all()
    seen = {}
    for facts, chance in zip(as_facts(ds, knowledge), p.tolist(), strict=True):
        row = seen.setdefault(tuple(sorted(facts, key=str)), [0, chance])
        row[0] += 1
        assert row[1] == pytest.approx(chance, rel=1e-9)
    count, chance = (np.array(x) for x in zip(*seen.values(), strict=True))
    assert chance.sum() <= 1 + 1e-9
    # what was never drawn has about the chance of what was drawn once (Good and Turing)
    assert chance.sum() == pytest.approx(1 - (count == 1).sum() / n, abs=0.04)
    large = n * chance >= 8
    if large.sum() > 1:
        observed = np.append(count[large], n - count[large].sum())
        expected = np.append(n * chance[large], n * (1 - chance[large].sum()))
        kept = expected > 1
        statistic = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
        assert chi2.sf(statistic, int(kept.sum()) - 1) > 1e-4


@pytest.mark.parametrize("n", [3, 10, 11, 14])
def test_many_wrong_items_are_counted_in_every_order_or_close_to_it(n):
    rng = np.random.default_rng(n)
    support = rng.integers(1, 40, n).astype(float)
    rest = 60.0 * n
    orders = np.array([rng.permutation(support) for _ in range(40_000)])
    earlier = np.cumsum(orders, axis=1) - orders
    mean = (orders / (rest - earlier)).prod(axis=1).mean()
    ours = wrong_order(support, n, rest, np.empty(2**MOST_ORDERED))
    assert ours == pytest.approx(mean, rel=0.02 if n <= MOST_ORDERED else 0.1)
    # equal supports leave one order, and nothing to approximate
    even = wrong_order(np.full(n, 5.0), n, rest, np.empty(2**MOST_ORDERED))
    assert even == pytest.approx(prod(5.0 / (rest - 5.0 * j) for j in range(n)), rel=1e-12)


@pytest.mark.parametrize("gone", [0, -1])
def test_a_query_whose_items_are_all_withheld_reads_no_facts_of_other_queries(gone):
    rng = np.random.default_rng(3)
    record, item = np.divmod(np.flatnonzero(rng.random(40 * 12) < 0.3), 12)
    ds = so.Dataset.from_arrays(record, item)
    who = so.Adversary(knows=2, value_within=None)
    knowledge = who.sample(ds, seed=1)
    facts = knowledge.bind(ds)
    # the last query has no facts behind it that could be read by mistake
    at = (
        slice(facts.query_ptr[gone], facts.query_ptr[1])
        if gone == 0
        else slice(facts.query_ptr[-2], None)
    )
    index = facts.item.copy()
    index[at] = -1
    withheld = replace(knowledge, _index=index, _labels=ds.item_labels)
    found = so.attack("likelihood", calibrate=False).run(ds, withheld)
    assert found.n_candidates[gone] == who.eligible(ds).size
    assert 0 < found.share[gone] < 0.2
