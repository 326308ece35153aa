"""The likelihood against a dense oracle, against exact Bayes, and against its own calibration."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import standout as so
from standout.attacks.bayes import SHRINK
from standout.attacks.likelihood import Likelihood
from standout.attacks.noise import Noise
from standout.errors import ParameterError
from standout.kernels.bins import LevelBins, TickBins
from standout.kernels.levels import Steps, Uniform
from standout.kernels.moments import Window


def release(n=40, m=25, per=8, seed=0, repeats=1, values=True, days=True, levels=5):
    rng = np.random.default_rng(seed)
    record = np.concatenate([np.repeat(r, rng.integers(3, per + 1)) for r in range(n)])
    item = np.concatenate([rng.choice(m, (record == r).sum(), replace=False) for r in range(n)])
    record, item = np.repeat(record, repeats), np.repeat(item, repeats)
    size = record.size
    return so.Dataset.from_arrays(
        record,
        item,
        rng.integers(1, levels + 1, size) if values else None,
        rng.integers(0, 400, size) if days else None,
    )


def rows(ds):
    """(record, item, value or None, day or None) of every entry."""
    for r in range(ds.n_records):
        for k in range(ds.record_ptr[r], ds.record_ptr[r + 1]):
            value = (
                ds.levels[ds.record_code[k]]
                if ds.has_value and ds.record_code[k] < ds.n_levels
                else None
            )
            day = (
                int(ds.record_tick[k]) + ds.first_tick
                if ds.has_time and ds.record_tick[k] != ds.no_tick
                else None
            )
            yield r, int(ds.record_item[k]), value, day


def dense_llr(ds, query, noise, bin_ticks=30):
    """LLR of every record for one query [(item, value or None, day or None)], formula by formula."""
    entries = list(rows(ds))
    pairs = {(r, i) for r, i, _, _ in entries}
    total = len(pairs)
    out = np.zeros(ds.n_records)
    last_bin = ds.tick_span // bin_ticks
    for item, value, day in query:
        supp = sum(i == item for _, i in pairs)
        q = supp / total
        own = [e for e in entries if e[1] == item]
        kv = {
            lv: (
                noise.value.table(np.array([value]), ds.levels)[0][c]
                if value is not None and noise.value
                else 1.0
            )
            for c, lv in enumerate(ds.levels)
        }
        gv = gt = 1.0
        if value is not None and noise.value:
            counts = np.array([sum(e[2] == lv for e in own) for lv in ds.levels])
            every = np.array([sum(e[2] == lv for e in entries) for lv in ds.levels]) + 1.0
            chance = np.array([kv[lv] for lv in ds.levels])
            n = counts.sum()
            gv = (n * (chance @ counts / max(n, 1)) + SHRINK * (chance @ (every / every.sum()))) / (
                n + SHRINK
            )
        if day is not None and noise.time:
            at = min(max((day - ds.first_tick) // bin_ticks, 0), last_bin)
            inside = sum((e[3] - ds.first_tick) // bin_ticks == at for e in own)
            every = (
                np.array(
                    [
                        sum((e[3] - ds.first_tick) // bin_ticks == b for e in entries)
                        for b in range(last_bin + 1)
                    ]
                )
                + 1.0
            )
            width = min(bin_ticks, ds.tick_span + 1 - at * bin_ticks)
            gt = (inside + SHRINK * every[at] / every.sum()) / (len(own) + SHRINK) / width
        u = 1.0
        if value is not None and noise.value:
            barred = (noise.value.table(np.array([value]), ds.levels)[0] == 0).sum()
            u /= barred if barred else ds.n_levels
        if day is not None and noise.time:
            reach = noise.time.reach
            chance = noise.time.table(np.arange(-reach, reach + 1))
            u /= ds.tick_span + 1 - ((chance > 0).sum() if chance[0] == chance[-1] == 0 else 0)
        wrong = noise.even_wrong * u + (1 - noise.even_wrong) * gv * gt
        # an absent person's values are wrong as often: P(A|absent) = Π q·((1-h)·g + h·u)
        out -= np.log(1 - noise.h + noise.h * wrong / (gv * gt))
        for r in range(ds.n_records):
            mine = [e for e in own if e[0] == r]
            if mine:
                chances = []
                for _, _, v, d in mine:
                    k = kv[v] if value is not None and noise.value else 1.0
                    if day is not None and noise.time:
                        k *= noise.time.table(
                            np.array([min(max(day - d, -noise.time.reach), noise.time.reach)])
                        )[0]
                    chances.append(k)
                kernel = (1 - noise.h) * np.mean(chances) + noise.h * wrong
                length = len({i for rr, i in pairs if rr == r})
                out[r] += np.log1p((1 - noise.e) * kernel / (noise.e * length * q * gv * gt))
    return out + len(query) * np.log(noise.e)


@dataclass(frozen=True)
class Late:
    """A kernel of one side: facts are 0 to 6 days later than the entry, as if dates had been rounded down to weeks."""

    rest: float = 0.0
    """Probability of each gap from 7 on."""
    reach: int = 7

    def table(self, gaps):
        inside = (gaps >= 0) & (gaps < 7)
        return np.where(inside, (7 - gaps) / 28, np.where(gaps >= 7, self.rest, 0.0))


NOISES = [
    Noise(0.1, 0.2, Steps(1), Window(14), even_wrong=1.0),
    Noise(0.3, 0.0, Steps(0), None, even_wrong=0.0),
    Noise(0.05, 0.1, None, Window(3), even_wrong=0.5),
    Noise(
        0.2, 0.1, Steps(0.5, 0.5), TickBins((0, 3, 14), (0.1, 0.4, 0.4, 0.1), 900), even_wrong=0.0
    ),
    Noise(0.1, 0.2, Steps(1), Late(), even_wrong=1.0),
    Noise(0.2, 0.1, None, Late(1e-4), even_wrong=0.5),
]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("repeats", [1, 3])
def test_scores_equal_the_formula(noise, repeats):
    ds = release(n=25, repeats=repeats)
    queries = [
        [(3, 2.0, 100), (5, 4.0, 220), (9, 1.0, 390)],
        [(1, None, 50), (2, 3.0, None), (7, None, None)],
        [(0, 5.0, 0)],
        [(i, v, d + late) for (r, i, v, d), late in zip(rows(ds), range(-3, 9), strict=False)],
    ]
    flat = [
        (q, i, np.nan if v is None else v, np.nan if d is None else d)
        for q, facts in enumerate(queries)
        for i, v, d in facts
    ]
    query, item, value, day = (np.array(x, dtype=float) for x in zip(*flat, strict=True))
    got = so.attack("likelihood", noise=noise).scores(
        ds, so.Knowledge.from_arrays(query, item.astype(int), value, day)
    )
    for q, facts in enumerate(queries):
        np.testing.assert_allclose(got[q], dense_llr(ds, facts, noise), atol=5e-6)


@pytest.mark.parametrize("complete", [False, True])
def test_items_outside_the_catalogue_never_bar_anybody(complete):
    ds = release()
    noise = replace(NOISES[0], complete=complete)
    got = so.attack("likelihood", noise=noise).scores(
        ds, so.Knowledge.from_arrays([0, 0], [3, 999], [2, 2])
    )
    alone = so.attack("likelihood", noise=noise).scores(ds, so.Knowledge.from_arrays([0], [3], [2]))
    np.testing.assert_allclose(got, alone + complete * np.log(noise.e), atol=1e-5)
    assert np.isfinite(got).all()


@pytest.mark.parametrize(("values", "days"), [(False, False), (True, False), (False, True)])
def test_missing_channels_work(values, days):
    ds = release(values=values, days=days)
    who = so.Adversary(knows=3, value_within=1 if values else None, time_within=3 if days else None)
    targets = who.eligible(ds)
    verdicts = so.attack("likelihood").run(ds, who.sample(ds, targets), watch=targets)
    assert (verdicts.best == targets).mean() > 10 / ds.n_records
    assert np.isfinite(verdicts.bits).all() and (verdicts.share <= 1).all()


def test_posterior_and_absence_sum_to_one_over_all_records():
    ds = release()
    who = so.Adversary(knows=3, time_within=14)
    targets = who.eligible(ds)
    attack = so.attack("likelihood", prior=0.3, calibrate=False)
    knowledge = who.sample(ds, targets)
    verdicts = attack.run(ds, knowledge)
    scores = attack.scores(ds, knowledge)
    possible = (ds.lengths >= 3).sum()
    weight = 0.3 / possible * np.exp(scores)
    whole = 0.7 + weight.sum(axis=1)
    np.testing.assert_allclose(verdicts.statistic, weight.max(axis=1) / whole, rtol=1e-6)
    np.testing.assert_allclose(verdicts.absent, 0.7 / whole, rtol=1e-6, atol=1e-12)


def exact_world(seed, n_queries=1500, m=3, e=0.25, h=0.15):
    """A world in which the model is exactly true, and the exact Bayes rule by enumeration of all records."""
    rng = np.random.default_rng(seed)
    ds = release(n=60, m=12, per=6, seed=seed, days=False)
    noise = Noise(e, h, Steps(1), None, even_wrong=0.0)
    q = ds.supports / ds.supports.sum()
    kernel = noise.value.table(ds.levels, ds.levels)  # known value × level
    hist = np.zeros((ds.n_items, ds.n_levels))
    for _, i, v, _ in rows(ds):
        hist[i, np.searchsorted(ds.levels, v)] += 1
    common = (hist.sum(axis=0) + 1) / (hist.sum() + ds.n_levels)
    n = hist.sum(axis=1, keepdims=True)
    g = (hist @ kernel.T + SHRINK * (kernel @ common)[None, :]) / (n + SHRINK)  # item × known value
    held = {(r, i): int(np.searchsorted(ds.levels, v)) for r, i, v, _ in rows(ds)}
    items = [[i for r, i in held if r == k] for k in range(ds.n_records)]
    facts, truth = [], []
    for _ in range(n_queries):
        r = int(rng.integers(ds.n_records))
        mine = []
        for _ in range(m):
            if rng.random() < e:
                i = int(rng.choice(ds.n_items, p=q))
                v = int(rng.choice(ds.n_levels, p=g[i] / g[i].sum()))
            else:
                i = int(rng.choice(items[r]))
                chances = g[i] if rng.random() < h else kernel[:, held[r, i]]
                v = int(rng.choice(ds.n_levels, p=chances / chances.sum()))
            mine.append((i, v))
        facts.append(mine)
        truth.append(r)
    best = []
    for mine in facts:
        like = np.ones(ds.n_records)
        for i, v in mine:
            for r in range(ds.n_records):
                right = (
                    ((1 - h) * kernel[v, held[r, i]] + h * g[i, v]) / len(items[r])
                    if (r, i) in held
                    else 0.0
                )
                like[r] *= (1 - e) * right + e * q[i] * g[i, v]
        best.append(int(like.argmax()))
    knowledge = so.Knowledge.from_arrays(
        np.repeat(np.arange(n_queries), m),
        [i for f in facts for i, _ in f],
        [ds.levels[v] for f in facts for _, v in f],
    )
    return ds, noise, knowledge, np.array(truth), np.array(best)


def test_where_the_model_is_true_nobody_does_better_than_the_exact_bayes_rule_and_neither_do_we():
    ds, noise, knowledge, truth, bayes = exact_world(seed=4)
    verdicts = so.attack("likelihood", noise=noise).run(ds, knowledge)
    ours, theirs = (verdicts.best == truth).mean(), (bayes == truth).mean()
    assert theirs > 0.15
    assert abs(ours - theirs) < 2 * np.sqrt(theirs * (1 - theirs) / truth.size)
    assert (verdicts.best == bayes).mean() > 0.98
    assert verdicts.share.mean() == pytest.approx(ours, abs=0.03)


def planted(kind, wrong, value_within=1, time_within=14, knows=6, n=300):
    rng = np.random.default_rng(2)
    record = np.repeat(np.arange(n), 30)
    item = np.concatenate([rng.choice(400, 30, replace=False, p=_zipf(400)) for _ in range(n)])
    ds = so.Dataset.from_arrays(
        record, item, rng.integers(1, 6, record.size), rng.integers(0, 2000, record.size)
    )
    who = so.Adversary(
        knows=knows,
        wrong=wrong,
        wrong_kind=kind,
        value_within=value_within,
        time_within=time_within,
    )
    targets = who.eligible(ds)[:200]
    return ds, targets, who.sample(ds, targets, seed=5)


def _zipf(n):
    p = 1 / np.arange(1, n + 1) ** 0.7
    return p / p.sum()


@pytest.mark.parametrize("kind", ["item", "value"])
@pytest.mark.parametrize(("value_within", "time_within"), [(1, 14), (0, 3)])
def test_fitted_noise_is_within_a_fifth_of_the_planted_one(kind, value_within, time_within):
    ds, targets, knowledge = planted(kind, 3, value_within, time_within)
    attack = Likelihood(noise="fit").fit(ds, knowledge)
    verdicts = attack.run(ds, knowledge)
    found = attack.fitted
    share = found.e if kind == "item" else found.h
    other = found.h if kind == "item" else found.e
    assert share == pytest.approx(0.5, rel=0.1) and other < 0.05
    assert found.time.width() == pytest.approx(time_within, rel=0.2)
    assert found.value.width() == pytest.approx(value_within, rel=0.2, abs=0.1)
    informed = so.attack("likelihood").run(ds, knowledge)
    assert (verdicts.best == targets).mean() >= (informed.best == targets).mean() - 0.03


def test_told_a_wrong_noise_the_informed_attacker_fails_and_the_fitted_one_does_not():
    ds, targets, knowledge = planted("value", 3)
    told_wrong = so.attack(
        "likelihood", noise=Noise(1e-4, 0.0, Steps(0), Window(0), even_wrong=1.0)
    ).run(ds, knowledge)
    fitted = so.attack("likelihood", noise="fit").run(ds, knowledge)
    assert (fitted.best == targets).mean() > (told_wrong.best == targets).mean() + 0.3


def test_knowledge_from_outside_is_fitted_and_a_single_query_needs_no_fit():
    ds, targets, knowledge = planted("item", 2)
    outside = so.Knowledge.from_arrays(
        knowledge.query, knowledge.item, knowledge.value, knowledge.time
    )
    attack = Likelihood().fit(ds, outside)
    assert (attack.run(ds, outside).best == targets).mean() > 0.9
    assert attack.fitted.e == pytest.approx(2 / 6, rel=0.2)
    single = []
    for q in range(40):
        its = slice(6 * q, 6 * q + 6)
        alone = so.Knowledge.from_arrays(
            np.zeros(6), knowledge.item[its], knowledge.value[its], knowledge.time[its]
        )
        single.append(Likelihood().run(ds, alone).best[0])
    assert (np.array(single) == targets[:40]).mean() > 0.8


def test_informed_noise_needs_an_adversary():
    ds = release()
    with pytest.raises(ParameterError, match="noise='fit'"):
        so.attack("likelihood", noise="informed").run(ds, so.Knowledge.from_arrays([0], [1]))


@pytest.mark.parametrize("option", [{"noise": "guess"}, {"prior": 0}, {"cut": 2}])
def test_senseless_options_are_refused(option):
    with pytest.raises(ParameterError):
        so.attack("likelihood", **option)


LEVELS = np.array([0.5, 1, 1.5, 2, 2.5, 3])


@settings(max_examples=40)
@given(
    st.sampled_from(
        [
            Steps(0),
            Steps(1),
            Steps(0.5, 0.5),
            LevelBins((0.0, 0.5, 1.0), (0.4, 0.3, 0.2, 0.1)),
        ]
    )
)
def test_value_kernels_are_distributions_over_the_scale(kernel):
    np.testing.assert_allclose(kernel.table(LEVELS, LEVELS).sum(axis=0), 1.0)


@pytest.mark.parametrize(
    "kernel",
    [Window(0), Window(5), TickBins((0, 3, 14), (0.1, 0.4, 0.4, 0.1), 900)],
    ids=str,
)
def test_day_kernels_are_distributions_over_both_signs(kernel):
    most = 2000 if not isinstance(kernel, TickBins) else 900
    assert kernel.table(np.arange(-most, most + 1)).sum() == pytest.approx(1.0, abs=1e-6)


def test_real_valued_noise_has_lumps_at_the_ends_of_the_scale():
    levels = np.array([1.0, 2, 3, 4, 5])
    table = Uniform(1.0).table(np.array([1.0, 2.2, 5.0]), levels)
    np.testing.assert_allclose(table[0], [0.5, 0, 0, 0, 0])
    np.testing.assert_allclose(table[1], [0, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(table[2], [0, 0, 0, 0, 0.5])
