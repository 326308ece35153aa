"""EM for the noise of a batch of queries, from the knowledge alone: nobody tells the attacker who is who.

Pooled over all queries: one e, one h, one value kernel, one day kernel. Weak priors (e, h ~ Beta(1, 4); one pseudo-count per
kernel), kernels binned by gap and decreasing, everything in the log domain. Every target is taken to be in the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.adversary.knowledge import Facts
from standout.attacks.likelihood import compile_odds, item_share, pick_rates, time_odds, value_odds, wrong_chance
from standout.attacks.noise import DAY_EDGES, VALUE_EDGES, DayBins, Noise, ValueBins, averaged, nearest_level
from standout.attacks.tables import Known
from standout.data.dataset import Dataset
from standout.engines.memory import MemoryEngine

Array = npt.NDArray[Any]

MOST_QUERIES = 400
MOST_CANDIDATES = 512
ROUNDS = (6, 12, 40)
"""Steps of EM between two looks for candidates; the last round runs until nothing moves."""
TOLERANCE = 1e-4
SCALE_EDGES = (0.01, 0.03, 0.1, 0.3)
"""Further bins of value gaps, as shares of the scale's range, for scales that are wider than a handful of steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """Events of the candidates for the known items, flattened: `cell` numbers (query, candidate, fact)."""

    cell: Array
    share: Array
    """1 / number of the candidate's events for that item."""
    code: Array
    known_code: Array
    """Level nearest to the known value, -1 = value unknown on one side."""
    day_bin: Array
    """Bin of the day gap, -1 = day unknown on one side."""


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _events(record_ptr: Array, record_item: Array, candidate: Array, query_ptr: Array, item: Array, cell: Array, at: Array,
            share: Array) -> int:  # fmt: skip
    """List the candidates' events for the known items; with empty outputs, only count them."""
    n, base = 0, 0
    for q in range(candidate.shape[0]):
        m = query_ptr[q + 1] - query_ptr[q]
        for c in range(candidate.shape[1]):
            r = candidate[q, c]
            for f in range(m):
                if r >= 0:
                    i = item[query_ptr[q] + f]
                    lo, hi = record_ptr[r], record_ptr[r + 1]
                    k = lo + np.searchsorted(record_item[lo:hi], i)
                    first = k
                    while k < hi and record_item[k] == i:
                        k += 1
                    for e in range(first, k):
                        if cell.size > 0:
                            cell[n], at[n], share[n] = base + f, e, 1.0 / (k - first)
                        n += 1
            base += m
    return n


def fit_noise(dataset: Dataset, facts: Facts) -> Noise:
    """Noise that explains the knowledge best."""
    step = max(1, facts.n_queries // MOST_QUERIES)
    known = Known.of(dataset, _every(facts, step), np.full(len(range(0, facts.n_queries, step)), -1, np.int64))
    noise = _start(dataset, known)
    for rounds in ROUNDS:
        candidate = _candidates(dataset, known, noise)
        noise = _em(dataset, known, candidate, noise, rounds)
    return noise


def _every(facts: Facts, step: int) -> Facts:
    """Every `step`-th query."""
    if step == 1:
        return facts
    parts = [facts.part(q, q + 1) for q in range(0, facts.n_queries, step)]
    ptr = np.concatenate([[0], np.cumsum([p.item.size for p in parts])]).astype(np.int64)
    return Facts(ptr, np.concatenate([p.item for p in parts]), np.concatenate([p.value for p in parts]),
                 np.concatenate([p.day for p in parts]), np.concatenate([p.length for p in parts]),
                 facts.length_within, facts.adversary)  # fmt: skip


def _start(dataset: Dataset, known: Known) -> Noise:
    """Broad kernels over the bins that can occur."""
    value = time = None
    if known.has_value.any() and dataset.n_levels > 1:
        extra = tuple(s * dataset.value_range for s in SCALE_EDGES if s * dataset.value_range > 1.5 * VALUE_EDGES[-1])
        edges = np.asarray((*VALUE_EDGES, *extra))
        bins = ValueBins(tuple(edges.tolist()), (0.0,) * (edges.size + 1))
        edges = edges[bins.reach(dataset.levels).max(axis=0)[:-1] > 0]
        value = ValueBins(tuple(edges.tolist()), averaged(edges, (0.0, 1.0, 2.0)))
    if known.has_day.any():
        time = DayBins(
            DAY_EDGES, averaged(np.asarray(DAY_EDGES, dtype=np.float64), (0, 3, 14, 30, 90)), dataset.day_span
        )
    return Noise(e=0.2, h=0.2 if value or time else 0.0, value=value, time=time)


def _candidates(dataset: Dataset, known: Known, noise: Noise) -> Array:
    """(queries, candidates): the records that score highest under the present noise, -1 = none."""
    n = min(MOST_CANDIDATES, dataset.n_records)
    out = np.empty((known.facts.n_queries, n), np.int64)
    batch = max(1, 40_000_000 // dataset.n_records)
    engine = MemoryEngine()
    for first in range(0, known.facts.n_queries, batch):
        stop = min(first + batch, known.facts.n_queries)
        plan = compile_odds(dataset, known.facts.part(first, stop), known.exclude[first:stop], noise)
        scores = engine.scores(plan, dataset)
        out[first:stop] = np.argpartition(-scores, n - 1, axis=1)[:, :n] if n < dataset.n_records else np.arange(n)
    return out


def _evidence(dataset: Dataset, known: Known, candidate: Array, noise: Noise) -> Evidence:
    arguments = (dataset.record_ptr, dataset.record_item, candidate, known.query_ptr, known.item)
    none = np.empty(0, np.int64)
    n = _events(*arguments, none, none, np.empty(0))
    cell, at, share = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    _events(*arguments, cell, at, share)
    fact = _fact_of_cell(known, candidate.shape[1])[cell]
    code = dataset.record_code[at].astype(np.int64) if dataset.has_value else np.zeros(n, np.int64)
    known_code, day_bin = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    if isinstance(noise.value, ValueBins):
        told = known.has_value[fact] & (code < dataset.n_levels)
        known_code[told] = nearest_level(known.value[fact[told]], dataset.levels)
    if isinstance(noise.time, DayBins):
        day = dataset.record_day[at].astype(np.int64)
        told = known.has_day[fact] & (day != dataset.no_day)
        day_bin[told] = noise.time.place(known.day[fact[told]] - day[told])
    return Evidence(cell, share, code, known_code, day_bin)


def _fact_of_cell(known: Known, n_candidates: int) -> Array:
    """Fact that each cell (query, candidate, fact) is about."""
    counts = np.diff(known.query_ptr)
    return np.concatenate([
        np.tile(np.arange(lo, lo + m), n_candidates) for lo, m in zip(known.query_ptr[:-1].tolist(), counts.tolist(), strict=True)
    ]) if counts.size else np.empty(0, np.int64)  # fmt: skip


def _em(dataset: Dataset, known: Known, candidate: Array, noise: Noise, rounds: int) -> Noise:
    """Run EM over fixed candidates."""
    seen = _evidence(dataset, known, candidate, noise)
    n_candidates = candidate.shape[1]
    fact = _fact_of_cell(known, n_candidates)
    row = np.repeat(np.arange(known.facts.n_queries * n_candidates), np.repeat(np.diff(known.query_ptr), n_candidates))
    held = np.bincount(seen.cell, minlength=fact.size) > 0
    q = item_share(known)
    # the background of days is counted from the release; that of values is seen through the kernel
    time_back = time_odds(known, noise)[1]
    before = np.inf
    for _ in range(rounds):
        value_back = value_odds(known, noise)[1]
        g = value_back * time_back
        rate = pick_rates(dataset, known.facts, noise)[candidate].reshape(-1)[row]
        chance = _chances(dataset, noise, seen, value_back[fact[seen.cell]], time_back[fact[seen.cell]])
        right_events = (1 - noise.e) * (1 - noise.h) * rate[seen.cell] * seen.share * chance
        right = np.bincount(seen.cell, weights=right_events, minlength=fact.size)
        wrong_value = np.where(held, (1 - noise.e) * noise.h * rate * wrong_chance(known, noise, g)[fact], 0.0)
        wrong_item = noise.e * (q * g)[fact]
        whole = right + wrong_value + wrong_item
        who, level = _posterior(np.log(whole), row, known.facts.n_queries, n_candidates)
        weight = who[row] / whole
        noise = _maximize(dataset, known, noise, seen, weight[seen.cell] * right_events, float((weight * wrong_value).sum()),
                          float((weight * wrong_item).sum()))  # fmt: skip
        if abs(level - before) < TOLERANCE * max(1.0, abs(level)):
            break
        before = level
    return noise


def _chances(dataset: Dataset, noise: Noise, seen: Evidence, value_back: Array, time_back: Array) -> Array:
    """K of each event; a channel unknown on one side counts as background."""
    out = np.ones(seen.cell.size)
    if isinstance(noise.value, ValueBins):
        told = seen.known_code >= 0
        out[told] *= noise.value.chance(dataset.levels, seen.code[told], seen.known_code[told])
        out[~told] *= value_back[~told]
    if isinstance(noise.time, DayBins):
        each_day = np.asarray(noise.time.share) / noise.time.widths()
        told = seen.day_bin >= 0
        out[told] *= each_day[seen.day_bin[told]]
        out[~told] *= time_back[~told]
    return out


def _posterior(log_whole: Array, row: Array, n_queries: int, n_candidates: int) -> tuple[Array, float]:
    """Posterior of each (query, candidate) given that the target is one of them, and the log-likelihood."""
    log_record = np.bincount(row, weights=log_whole, minlength=n_queries * n_candidates).reshape(
        n_queries, n_candidates
    )
    top = log_record.max(axis=1, keepdims=True)
    p = np.exp(log_record - top)
    total = p.sum(axis=1, keepdims=True)
    return (p / total).reshape(-1), float((top + np.log(total)).sum())


def _maximize(dataset: Dataset, known: Known, noise: Noise, seen: Evidence, weight: Array, wrong_value: float,
              wrong_item: float) -> Noise:  # fmt: skip
    """Shares and kernels that fit the responsibilities; e and h under Beta(1, 4)."""
    right = float(weight.sum())
    e = wrong_item / (right + wrong_value + wrong_item + 3.0)
    h = wrong_value / (right + wrong_value + 3.0) if noise.h > 0 else 0.0
    value, time = noise.value, noise.time
    if isinstance(value, ValueBins):
        told = seen.known_code >= 0
        counts = value.counts(dataset.levels, seen.code[told], seen.known_code[told], weight[told])
        value = ValueBins(value.edges, without_floor(counts, value.widths(dataset.levels)))
    if isinstance(time, DayBins):
        told = seen.day_bin >= 0
        counts = np.bincount(seen.day_bin[told], weights=weight[told], minlength=len(time.share))
        time = DayBins(time.edges, without_floor(decreasing(counts, time.widths()), time.widths()), time.span)
    n_right = round((1 - e) * float(np.median(np.diff(known.facts.query_ptr))))
    return Noise(float(np.clip(e, 1e-4, 0.95)), float(np.clip(h, 0.0, 0.95)), value, time, n_right or None, sure=False)


def decreasing(counts: Array, widths: Array) -> Array:
    """Counts of the bins after their density was made not to rise with the gap.

    >>> decreasing(np.array([10.0, 0.0, 30.0]), np.array([1.0, 1.0, 2.0])).tolist()
    [10.0, 10.0, 20.0]
    """
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(counts / widths, weights=widths, increasing=False).x * widths)


def without_floor(counts: Array, widths: Array) -> tuple[float, ...]:
    """Shares of the bins after the density of the widest gaps was taken off everywhere, with one pseudo-count in all.

    What is as frequent at the widest gaps as at the narrow ones is no memory of the entry: that part is for h.

    >>> [round(x, 3) for x in without_floor(np.array([10.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0]))]
    [0.848, 0.121, 0.03]
    """
    kept = np.maximum(counts - counts[-1] / widths[-1] * widths, 0.0) + 1.0 / counts.size
    return tuple((kept / kept.sum()).tolist())
