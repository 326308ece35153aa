"""Knowledge drawn from the source, attacks on a release that lost entries: no false all-clear by the attacker herself."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import standout as so
from standout.attacks.bayes import SHRINK
from standout.attacks.fit import Weighing, start_noise, usable
from standout.attacks.likelihood import Likelihood
from standout.attacks.noise import Noise
from standout.attacks.odds import compile_odds, value_odds, wrong_chance
from standout.errors import ParameterError
from standout.scoring.tasks import AllScores

PRIOR = 0.5


class Entries(NamedTuple):
    record: np.ndarray
    item: np.ndarray
    value: np.ndarray

    def keep(self, mask):
        return Entries(*(x[mask] for x in self))

    def dataset(self):
        return so.Dataset.from_arrays(*self)


def entries(n=400, n_items=400, lengths=(30, 31), seed=3):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n_items + 1) ** 0.7
    size = rng.integers(*lengths, n)
    item = np.concatenate([rng.choice(n_items, k, replace=False, p=p / p.sum()) for k in size])
    return Entries(np.repeat(np.arange(n), size), item, rng.integers(1, 6, item.size))


def half(data, rng):
    return rng.random(data.record.size) < 0.5


def capped(data, rng, most=12):
    order = np.lexsort((rng.random(data.record.size), data.record))
    first = np.searchsorted(data.record[order], data.record[order])
    out = np.zeros(data.record.size, bool)
    out[order] = np.arange(order.size) - first < most
    return out


def top_items(data, rng, most=100):
    return np.isin(data.item, np.argsort(-np.bincount(data.item), kind="stable")[:most])


RELEASES = {"half": half, "capped": capped, "top items": top_items}


def changed(kind, knows=8, lengths=(30, 31), value_within=0, n=400, seed=3):
    """Source, release, target records (equal numbers in both), knowledge, and the share of facts that are lost."""
    data = entries(n=n, lengths=lengths, seed=seed)
    source, kept = data.dataset(), data.keep(RELEASES[kind](data, np.random.default_rng(7)))
    release = kept.dataset()
    who = so.Adversary(knows=knows, value_within=value_within)
    targets = who.eligible(source)[:200]
    aux = who.sample(source, targets, seed=5)
    there = set(zip(kept.record.tolist(), kept.item.tolist(), strict=True))
    of_target = np.repeat(source.record_labels[targets], knows)
    known = np.isin(aux.item, release.item_labels)
    lost = np.mean(
        [
            (r, i) not in there
            for r, i in zip(of_target[known].tolist(), aux.item[known].tolist(), strict=True)
        ]
    )
    truth = np.searchsorted(release.record_labels, source.record_labels[targets])
    assert (release.record_labels[truth] == source.record_labels[targets]).all()
    return source, release, truth, aux, float(lost)


def dense_names(release, aux, e):
    """(best, posterior of the best) of each query by enumeration, for exact values and a share `e` of lost facts."""
    n, m = release.n_records, release.n_items
    held = np.zeros((n, m), bool)
    level = np.full((n, m), -1)
    record = np.repeat(np.arange(n), np.diff(release.record_ptr))
    held[record, release.record_item] = True
    level[record, release.record_item] = release.record_code
    q = held.sum(axis=0) / held.sum()
    count = np.stack([(level == c).sum(axis=0) for c in range(release.n_levels)], axis=1)
    common = (count.sum(axis=0) + 1) / (count.sum() + release.n_levels)
    g = (count + SHRINK * common) / (count.sum(axis=1, keepdims=True) + SHRINK)
    length = held.sum(axis=1)
    best, posterior = [], []
    for lo, hi in zip(aux.query_ptr[:-1], aux.query_ptr[1:], strict=True):
        ratio = np.ones(n)
        for label, value in zip(aux.item[lo:hi], aux.value[lo:hi], strict=True):
            i = int(np.searchsorted(release.item_labels, label))
            if i < m and release.item_labels[i] == label:
                c = None if np.isnan(value) else int(np.searchsorted(release.levels, value))
                chance, back = (1.0, 1.0) if c is None else (level[:, i] == c, g[i, c])
                ratio *= e + (1 - e) * held[:, i] * chance / (length * q[i] * back)
        weight = PRIOR / n * ratio
        best.append(int(weight.argmax()))
        posterior.append(weight.max() / (1 - PRIOR + weight.sum()))
    return np.array(best), np.array(posterior)


def names(verdicts, truth):
    """Share of the targets that are named, and rightly."""
    return float((verdicts.matched & (verdicts.best == truth)).mean())


@pytest.mark.parametrize(
    ("kind", "knows", "value_within", "lengths"),
    [
        ("half", 8, 0, (30, 31)),
        ("half", 8, None, (10, 80)),
        ("capped", 8, 0, (30, 31)),
        ("capped", 16, 0, (30, 31)),
        ("capped", 8, 0, (13, 60)),
        ("top items", 8, 0, (30, 31)),
        ("top items", 8, None, (10, 80)),
    ],
)
@pytest.mark.parametrize("noise", [None, "fit"])
def test_a_release_that_lost_entries_is_not_declared_safe(
    kind, knows, value_within, lengths, noise
):
    _, release, truth, aux, lost = changed(kind, knows, lengths, value_within)
    best, posterior = dense_names(release, aux, max(lost, 1e-4))
    possible = float(((best == truth) & (posterior >= 0.5)).mean())
    v = so.attack("likelihood", noise=noise, prior=PRIOR).run(release, aux)
    assert possible > 0.2
    assert names(v, truth) >= possible - 0.03
    assert (v.best == truth).mean() >= (best == truth).mean() - 0.03


@pytest.mark.parametrize(
    ("kind", "knows", "value_within", "n"),
    [("half", 8, 0, 400), ("capped", 8, 0, 400), ("half", 2, 0, 3000)],
)
def test_e_is_the_share_of_facts_that_the_release_lost(kind, knows, value_within, n):
    _, release, _, aux, lost = changed(kind, knows, value_within=value_within, n=n)
    noise = Likelihood().fit(release, aux).fitted
    assert noise.e == pytest.approx(lost, abs=0.06)
    assert noise.h < 0.02


def test_lost_entries_and_wrong_values_are_told_apart():
    _, release, _, aux, lost = changed("half")
    rng = np.random.default_rng(1)
    wrong = rng.random(aux.n_facts) < 0.25
    moved = np.where(wrong, (aux.value + rng.integers(1, 5, aux.n_facts) - 1) % 5 + 1, aux.value)
    noise = Likelihood().fit(release, so.Knowledge.from_arrays(aux.query, aux.item, moved)).fitted
    assert noise.e == pytest.approx(lost, abs=0.06)
    # an error of one step may count as imprecise rather than wrong
    exact = (1 - noise.h) * noise.value.share[0]
    assert exact == pytest.approx(0.75, abs=0.08)


def test_facts_about_items_that_the_release_withholds_change_nothing():
    _, release, _, aux, _ = changed("half")
    strangers = np.arange(aux.n_facts)
    more = so.Knowledge.from_arrays(
        np.concatenate([aux.query, aux.query]),
        np.concatenate([aux.item, 100_000 + strangers]),
        np.concatenate([aux.value, np.full(aux.n_facts, 3.0)]),
    )
    plain = so.Knowledge.from_arrays(aux.query, aux.item, aux.value)
    a, b = Likelihood().fit(release, plain), Likelihood().fit(release, more)
    assert a.fitted == b.fitted
    one, two = a.run(release, plain), b.run(release, more)
    np.testing.assert_array_equal(one.score, two.score)
    np.testing.assert_array_equal(one.absent, two.absent)


def test_informed_noise_is_refused_for_knowledge_of_other_data():
    source, release, _, aux, _ = changed("half")
    with pytest.raises(ParameterError, match=r"other data than this release.*noise='fit'"):
        so.attack("likelihood", noise="informed").run(release, aux)
    so.attack("likelihood", noise="informed").run(source, aux)


def test_equal_content_counts_as_the_same_release_and_equal_sizes_do_not():
    data = entries(n=50)
    source, twin = data.dataset(), data.dataset()
    other = data._replace(value=np.random.default_rng(0).permutation(data.value)).dataset()
    who = so.Adversary(knows=4)
    aux = who.sample(source, who.eligible(source), seed=1)
    facts = [aux.bind(x) for x in (source, twin, other)]
    assert [f.from_release for f in facts] == [True, True, False]
    assert [f.part(0, 3).from_release for f in facts] == [True, True, False]
    assert not so.Knowledge.from_arrays(aux.query, aux.item).bind(source).from_release


def test_a_choice_rule_about_the_source_bars_nobody_in_another_release():
    data = entries()
    rare = ~top_items(data, None, 50) & top_items(data, None, 100)
    source, release = data.dataset(), data.keep(rare).dataset()
    who = so.Adversary(knows=8, choose="outside-top:50")
    targets = who.eligible(source)[:100]
    targets = targets[np.isin(source.record_labels[targets], release.record_labels)]
    v = so.attack("likelihood").run(release, who.sample(source, targets, seed=5))
    truth = np.searchsorted(release.record_labels, source.record_labels[targets])
    # the fifty items left are the release's most held ones; by the release's own ranks she could
    # know none of them
    assert (v.best == truth).mean() > 0.3


def test_a_run_leaves_no_noise_behind_for_the_next_knowledge():
    _, release, _, aux, _ = changed("half")
    exact = so.Adversary(knows=3).sample(
        release, so.Adversary(knows=3).eligible(release)[:50], seed=2
    )
    attack = so.attack("likelihood")
    attack.run(release, aux)
    assert attack.fitted is None
    again, fresh = attack.run(release, exact), so.attack("likelihood").run(release, exact)
    np.testing.assert_array_equal(again.score, fresh.score)
    np.testing.assert_array_equal(again.absent, fresh.absent)
    facts = exact.bind(release)
    nobody = np.full(facts.n_queries, -1)
    one, two = (a.compile(release, facts, nobody) for a in (attack, so.attack("likelihood")))
    np.testing.assert_array_equal(one.base, two.base)
    np.testing.assert_array_equal(one.tables.fact.odds_value, two.tables.fact.odds_value)


def test_noise_fitted_for_removed_targets_does_not_see_them():
    source = entries().dataset()
    who = so.Adversary(knows=8)
    targets = who.eligible(source)[:200]
    aux = who.sample(source, targets, seed=5)
    attack = Likelihood(noise="fit")
    present, absent = (
        attack.fit(source, aux).fitted,
        attack.fit(source, aux, exclude=targets).fitted,
    )
    assert present.e < 0.01
    assert absent.e > 0.3


@pytest.mark.parametrize("gone", [0, 17])
def test_fitting_with_an_excluded_record_equals_fitting_without_it(gone):
    data = entries(n=60, n_items=80)
    # an item that only the excluded record holds is outside the catalogue without it
    data = Entries(
        np.append(data.record, gone), np.append(data.item, 999), np.append(data.value, 3)
    )
    whole, rest = data.dataset(), data.keep(data.record != gone).dataset()
    who = so.Adversary(knows=4, wrong=1)
    aux = who.sample(whole, np.arange(60), seed=4)
    outside = so.Knowledge.from_arrays(
        np.append(aux.query, np.arange(60)),
        np.append(aux.item, np.full(60, 999)),
        np.append(aux.value, np.full(60, 3.0)),
    )
    exclude = np.full(60, gone)
    a, b = Likelihood().fit(whole, outside, exclude), Likelihood().fit(rest, outside)
    assert a.fitted.e == pytest.approx(b.fitted.e, abs=1e-6)
    assert a.fitted.h == pytest.approx(b.fitted.h, abs=1e-6)
    np.testing.assert_allclose(a.fitted.value.share, b.fitted.value.share, atol=1e-6)
    one, two = a.run(whole, outside, exclude=exclude), b.run(rest, outside)
    np.testing.assert_allclose(one.score, two.score, atol=1e-4)
    np.testing.assert_allclose(one.absent, two.absent, atol=1e-4)


def test_a_known_length_in_the_source_does_not_rule_the_target_out_of_another_release():
    data = entries()
    source, release = data.dataset(), data.keep(half(data, np.random.default_rng(7))).dataset()
    targets = np.arange(100)
    for name in ("scoreboard-rh", "likelihood"):
        plain, length = (
            so.attack(name).run(
                release, so.Adversary(length_within=share).sample(source, targets, seed=5)
            )
            for share in (None, 0.1)
        )
        assert (length.best == targets).mean() >= (plain.best == targets).mean()


def test_queries_that_exclude_their_only_candidate_do_not_spoil_the_fit():
    data = entries(n=60, lengths=(20, 80))
    source, lengths = data.dataset(), np.bincount(data.record)
    several = np.bincount(lengths)[lengths] > 1
    exclude = np.where(several & (np.arange(60) % 2 == 0), -1, np.arange(60))
    assert 0 < (exclude[several] >= 0).sum() < several.sum() < 60
    noises = []
    for targets in (np.arange(60), np.flatnonzero(several)):
        aux = so.Adversary(knows=6, length_within=0.0).sample(source, targets, seed=5)
        noises.append(Likelihood(noise="fit").fit(source, aux, exclude=exclude[targets]).fitted)
    assert 0.1 < noises[0].e < 0.9
    assert noises[0].e == pytest.approx(noises[1].e, abs=1e-9)
    assert noises[0].h == pytest.approx(noises[1].h, abs=1e-9)


def single(aux, q):
    """The knowledge of one query, as if it came from outside."""
    its = slice(aux.query_ptr[q], aux.query_ptr[q + 1])
    return so.Knowledge.from_arrays(
        np.zeros(its.stop - its.start), aux.item[its], aux.value[its], aux.time[its]
    )


def test_a_single_query_allows_for_lost_entries():
    _, release, truth, aux, _ = changed("capped")
    together = so.attack("likelihood").run(release, aux)
    alone = [so.attack("likelihood").run(release, single(aux, q)) for q in range(60)]
    named = np.mean([names(v, truth[q : q + 1]) for q, v in enumerate(alone)])
    assert named >= (together.matched & (together.best == truth))[:60].mean() - 0.25
    assert named > 0.45


def test_a_single_query_about_an_absent_target_mostly_says_so():
    source = entries().dataset()
    aux = so.Adversary(knows=8).sample(source, np.arange(40), seed=5)
    runs = [so.attack("likelihood").run(source, single(aux, q), exclude=[q]) for q in range(40)]
    assert np.mean([v.matched[0] for v in runs]) < 0.2
    assert np.mean([v.absent[0] for v in runs]) > 0.7


def test_a_single_query_settles_on_the_noise_that_explains_it():
    rng = np.random.default_rng(2)
    data = entries()
    source = so.Dataset.from_arrays(*data, rng.integers(0, 2000, data.record.size))
    right = so.Adversary(knows=8, time_within=0).sample(source, np.arange(10), seed=1)
    wrong = so.Adversary(knows=8, wrong=4, wrong_kind="item", time_within=60).sample(
        source, np.arange(10), seed=1
    )
    a, b = (
        [Likelihood().fit(source, single(aux, q)).fitted for q in range(10)]
        for aux in (right, wrong)
    )
    assert max(n.e for n in a) < 0.15 < 0.3 < min(n.e for n in b)
    assert max(n.time.width() for n in a) < 10 < min(n.time.width() for n in b)


def test_losses_that_differ_by_item_are_weighed_by_item():
    release = entries(n=60, n_items=40, lengths=(8, 12)).dataset()
    missing = np.linspace(0, 1, release.n_items)
    item = np.array([0, 3, 20, 33, release.n_items - 1])
    facts = so.Knowledge.from_arrays(np.zeros(item.size), release.item_labels[item]).bind(release)
    plan = compile_odds(release, facts, np.array([-1]), Noise(0.1, 0.0, None, None), missing)
    got = (
        plan.base[0]
        + AllScores(plan, release.n_records).run(release.index).score[0] / plan.scale[0]
    )
    held = np.zeros((release.n_records, release.n_items), bool)
    held[
        np.repeat(np.arange(release.n_records), np.diff(release.record_ptr)), release.record_item
    ] = True
    e = 1 - 0.9 * (1 - missing)
    ratio = e + (1 - e) * held / (held.sum(axis=1, keepdims=True) * held.sum(axis=0) / held.sum())
    np.testing.assert_allclose(got, np.log(ratio[:, item]).sum(axis=1), atol=1e-5)
    # an entry that is always lost says nothing
    assert ratio[:, -1].tolist() == [1.0] * release.n_records


@pytest.mark.parametrize(
    ("days", "fits"),
    [((-90, -40), False), ((140, 190), False), ((-90, 140), False), ((-90, 60), True)],
)
def test_days_from_before_or_after_the_release_fit_no_time_kernel(days, fits):
    rng = np.random.default_rng(1)
    record, item = np.repeat(np.arange(30), 5), np.tile(np.arange(5), 30)
    release = so.Dataset.from_arrays(record, item, None, 11_000.0 + rng.permutation(150) % 101)
    known = so.Knowledge.from_arrays([0, 0], [1, 2], None, 11_000.0 + np.array(days)).bind(release)
    assert (start_noise(release, usable(release, known, np.array([-1]))).time is not None) == fits


@pytest.mark.parametrize("fine", [False, True])
def test_fitting_sees_the_same_background_of_values_as_the_attack(fine):
    data = entries(n=60, n_items=40, lengths=(8, 12))
    if fine:
        data = data._replace(
            value=np.random.default_rng(3).lognormal(3, 1, data.record.size).round(2)
        )
    release = data.dataset()
    aux = so.Adversary(knows=4).sample(release, np.arange(30), seed=2)
    known = usable(release, aux.bind(release), np.where(np.arange(30) % 2, np.arange(30), -1))
    noise = start_noise(release, known)
    weighing = Weighing.of(known, noise)
    noise = replace(
        noise,
        value=replace(noise.value, share=tuple(np.linspace(1, 2, len(noise.value.share)).tolist())),
    )
    np.testing.assert_allclose(
        weighing._value_background(noise), value_odds(known, noise)[1], rtol=1e-9
    )
    wrong = noise.even_wrong * weighing.even_chance + (1 - noise.even_wrong) * 0.25
    np.testing.assert_allclose(
        wrong, wrong_chance(known, noise, np.full(known.item.size, 0.25)), rtol=1e-9
    )
