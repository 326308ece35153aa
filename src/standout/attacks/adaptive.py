"""Tables of the adaptive likelihood: an adversary's knowledge of the source, and a release with published parameters.

The formulas are those of `formulas.defended`. Nothing of the source is read except its value scale,
its range of days, and which items the adversary's own choice rule covers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.adaptive_channels import (
    Seen,
    buckets,
    day_backgrounds,
    day_distances,
    seen_values,
)
from standout.attacks.adaptive_sizes import Sizes, is_grouped, known_lengths, sizes, source_lengths
from standout.attacks.bayes import NATS_PER_FACT
from standout.attacks.picks import log_ways
from standout.attacks.tables import Known
from standout.data.dataset import Dataset
from standout.data.mechanism import Mechanism
from standout.data.row_copies import in_parts
from standout.formulas import defended as formula
from standout.scoring.adaptive_factors import mean_chances
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.plan import Combine, Plan, Tie, fixed_point
from standout.scoring.postings import postings

FLOOR = 1e-6
"""Added to the factor of every fact: one fact that the mechanism cannot explain does not exclude a record."""

MOST_TOGETHER = 10
"""Most facts about one released item."""

_AT_ONCE = 256
_NONE = np.empty(0)


class Wrong(NamedTuple):
    """How facts are wrong."""

    items: bool
    n: int
    """Exact number, 0 if it varies."""
    share: float
    """Probability of each fact, 0 if the number is exact."""
    h: float
    """Share of facts with a wrong value and day."""
    n_right: int
    """Most right items of a query."""


def wrong_of(who: Adversary, grouped: bool) -> Wrong:
    """How the adversary's facts are wrong; for grouped items, an exact number is treated as a probability."""
    items = who.wrong_kind == "item" and who.wrong > 0
    exact = not who.wrong_varies and not grouped
    return Wrong(
        items,
        int(who.wrong) if exact else 0,
        0.0 if exact else float(who.wrong_share),
        0.0 if items else float(who.wrong_share),
        who.n_right_items if exact or not items else 1,
    )


def compile_adaptive(release: Dataset, facts: Facts, exclude: Array, floor: float = FLOOR) -> Plan:
    """Plan of log P(A|r) - log P(A|absent) for all queries, under the mechanism of the release.

    Parameters
    ----------
    release
        A release that knows its source and its mechanism.
    facts, exclude
        Knowledge drawn from the source, in the indices of the release; one record per query that is
        not there (-1 = none).
    floor
        Added to the factor of every fact.
    """
    mechanism, source, who = release.mechanism, release.source, facts.adversary
    assert mechanism is not None and source is not None and who is not None
    known = Known.of(release, facts, exclude)
    grouped = is_grouped(mechanism)
    merged = grouped and not source.has_repeats
    size, wrong = sizes(release, who, grouped, merged), wrong_of(who, grouped)
    value = seen_values(known, who, source, mechanism)
    day = day_backgrounds(known, source, mechanism) if who.time_within is not None else None
    tables = _tables(known, who, source, mechanism, wrong, value, day)._replace(
        floor=floor, grouped=grouped, merged=merged
    )
    if merged and tables.use_time:
        tables = tables._replace(near=day_distances(release, tables.within))
    tables = tables._replace(
        **_queries(known, size, wrong, grouped), **known_lengths(known, who, mechanism, grouped)
    )
    tables = tables._replace(
        **source_lengths(mechanism, size, tables.most_facts, wrong.n_right, merged)
    )
    tables = tables._replace(**_facts(known, mechanism, size, wrong, value, day, tables))
    plan_tables = known.tables()
    return Plan(
        combine=Combine.ADAPTIVE,
        tie=Tie.INDEX,
        use_value=tables.use_value,
        use_time=tables.use_time,
        filtered=False,
        tables=plan_tables,
        scale=tables.scale,
        base=np.zeros(facts.n_queries),
        factor=size.length,
        weight=size.weight,
        further=size.further,
        n_possible=tables.n_possible,
        adaptive=tables,
    )


def _tables(
    known: Known,
    who: Adversary,
    source: Dataset,
    mechanism: Mechanism,
    wrong: Wrong,
    value: Seen,
    day: tuple[Array, Array] | None,
) -> AdaptiveTables:
    """Tables with the kernels of values and days, neutral in all else."""
    n, release = known.item.size, known.in_memory
    shift, period_first, bucket = buckets(release, mechanism)
    use_time = day is not None and release.has_time and bool(known.has_tick.any())
    zeros, ones = np.zeros(n), np.ones(n)
    return AdaptiveTables(
        use_value=value.right.shape[1] > 1,
        use_time=use_time,
        wrong_items=wrong.items,
        wrong_values=wrong.h > 0,
        n_wrong=wrong.n,
        share_wrong=wrong.share,
        floor=0.0,
        kept_pairs=mechanism.kept_pairs,
        grouped=False,
        merged=False,
        together=0,
        most_facts=1,
        cap=-1,
        miss=0.0,
        lost=0.0,
        within=who.time_ticks(source),
        per_day=release.ticks_per_day,
        shift=shift if use_time else 0,
        period_first=period_first,
        span_first=int(source.first_tick) - int(release.first_tick),
        span=int(source.tick_span),
        day_tick=int(release.first_tick) % release.ticks_per_day,
        bucket=bucket if use_time else np.empty(0, np.int64),
        near=np.ones(1),
        slack=int(bucket.max(initial=1)) - 1,
        rho=np.ones((1, 1)),
        node_log=_NONE,
        node_rho=_NONE.reshape(0, 1),
        node_miss=_NONE.reshape(0, 1, 1),
        node_low=_NONE,
        node_high=_NONE,
        classes=False,
        lose=0.0,
        know_length=False,
        low=_NONE,
        high=_NONE,
        told=_NONE,
        length_back=_NONE,
        gone_ptr=_NONE,
        gone_item=_NONE,
        gone_weight=_NONE,
        gone_inside=_NONE,
        gone_rare=_NONE,
        log_ways=_NONE,
        start=np.ones((1, 1)),
        total=np.ones((1, 2)),
        n_possible=_NONE,
        scale=_NONE,
        rare=np.zeros(n, np.int64),
        right_value=value.right,
        wrong_value=value.wrong,
        has_tick=known.has_tick & use_time,
        tick_back=ones if day is None else day[0],
        tick_back_wrong=ones if day is None else day[1],
        q_g=ones,
        q=ones,
        by_chance_right=zeros,
        by_chance_wrong=zeros,
        lost_right=ones,
        lost_wrong=ones,
        outside=ones,
        strange=zeros,
        own=ones,
        mix_right=zeros,
        mix_wrong=zeros,
        chance=ones,
        same=np.zeros(n, np.int64),
        n_same=np.ones(n, np.int64),
        length=_NONE,
        weight=_NONE,
        every_length=_NONE,
        strangers=_NONE,
        rare_length=_NONE,
        rare_weight=_NONE,
    )


def _queries(known: Known, size: Sizes, wrong: Wrong, grouped: bool) -> dict[str, Any]:
    """Tables per query."""
    release, n = known.in_memory, known.facts.n_queries
    m = np.diff(known.query_ptr)
    n_gone = known.n_known - m
    start = np.zeros((n, wrong.n + 1))
    for k in range(wrong.n + 1):
        # a fact about a withheld item is as probable for every record as for a person outside the
        # release
        start[:, k] = np.where(n_gone >= k, np.exp(log_ways(np.maximum(n_gone, k), k)), 0.0)
    gone_ptr, gone_item, gone_weight = _excluded(release, known.exclude, grouped, size)
    gone_rare = size.rare[gone_item]
    query = np.repeat(np.arange(n), np.diff(gone_ptr))
    lost = np.bincount(2 * query + gone_rare, weights=gone_weight, minlength=2 * n).reshape(n, 2)
    same, n_same = _together(known, grouped)
    return {
        "log_ways": np.asarray(log_ways(known.n_known, np.full(n, wrong.n))),
        "start": start,
        "total": np.maximum(size.totals - lost, 1.0),
        "classes": size.classes,
        "rare": size.rare[known.item],
        "n_possible": release.n_records - (known.exclude >= 0).astype(np.int64),
        "scale": fixed_point(NATS_PER_FACT * np.maximum(known.n_known, 1)),
        "gone_ptr": gone_ptr,
        "gone_item": gone_item,
        "gone_weight": gone_weight,
        "gone_rare": gone_rare,
        "gone_inside": gone_weight * (1 - size.strange[gone_item]),
        "most_facts": int(m.max(initial=1)),
        "same": same,
        "n_same": n_same,
        "together": int(n_same.max(initial=1)) if grouped else 0,
    }


def _excluded(
    release: Dataset, exclude: Array, grouped: bool, size: Sizes
) -> tuple[Array, Array, Array]:
    """Items of each query's excluded record: range, item, weight (pairs; 0 for items that are never picked)."""
    rows, weights = [], []
    for r in exclude.tolist():
        row = (
            release.record_item[release.record_ptr[r] : release.record_ptr[r + 1]]
            if r >= 0
            else np.empty(0, np.int64)
        )
        item, count = np.unique(row, return_counts=True)
        rows.append(item.astype(np.int64))
        weights.append((count if grouped else size.supports[item] > 0).astype(np.float64))
    ptr = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    return ptr, np.concatenate([*rows, np.empty(0, np.int64)]), np.concatenate([*weights, _NONE])


def _together(known: Known, grouped: bool) -> tuple[Array, Array]:
    """First fact of the query about the same item, by its place in the query, and the number of such facts."""
    n = known.item.size
    place = np.arange(n) - known.query_ptr[known.query]
    if not grouped or n == 0:
        return place, np.ones(n, np.int64)
    key = known.query.astype(np.int64) * (known.dataset.n_items + 1) + known.item
    _, first, which, count = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    which = which.reshape(-1)
    # more facts than the kernel sums over are treated one by one
    few = np.where(count <= MOST_TOGETHER, count, 1)[which]
    return np.where(few > 1, place[first][which], place), few


def _facts(
    known: Known,
    mechanism: Mechanism,
    size: Sizes,
    wrong: Wrong,
    value: Seen,
    day: tuple[Array, Array] | None,
    tables: AdaptiveTables,
) -> dict[str, Any]:
    """Tables per fact: backgrounds, and what the mechanism makes of held and lost entries."""
    x, y = mechanism.moved, mechanism.replaced
    support = np.maximum(size.supports[known.item] - _own_weight(known, tables), 0.0)
    q = np.maximum(support, 0.5) / tables.total[known.query, tables.rare]
    g = value.back * (day[0] if day is not None else 1.0)
    off = value.back_wrong * (day[1] if day is not None else 1.0)
    absent = (1 - wrong.h) * g + wrong.h * off
    mean_right, mean_wrong = g, off
    if x > 0 or mechanism.attributes > 0:
        mean_right, mean_wrong = _mean_chances(known, tables)
    strange = size.strange[known.item]
    # the mean over all holders includes the entry itself
    swapped = (
        formula.attribute_share(mechanism.attributes, support)
        * support
        / np.maximum(support - 1, 1)
    )
    moved = x / (x + mechanism.lost + y) if x > 0 else 0.0
    # the fact may be about an event that was removed, where another event of the item is left; of
    # two entries that met on an item, the person's own is the one that stays in about half of the
    # cases
    shown = (1 - mechanism.hidden) * (1 - mechanism.collided / 2)
    return {
        "q_g": mechanism.kept_pairs * q * absent,
        "q": q,
        "by_chance_right": strange * mean_right / absent,
        "by_chance_wrong": strange * mean_wrong / absent,
        "lost_right": (moved * mean_right + (1 - moved) * g) / absent,
        "lost_wrong": (moved * mean_wrong + (1 - moved) * off) / absent,
        "outside": g / absent,
        "strange": strange,
        "own": shown * (1 - swapped),
        "mix_right": shown * swapped * mean_right + (1 - shown) * g,
        "mix_wrong": shown * swapped * mean_wrong + (1 - shown) * off,
        "chance": np.ones(known.item.size)
        if known.facts.chance is None
        else known.facts.chance[known.facts.item >= 0],
    }


def _own_weight(known: Known, tables: AdaptiveTables) -> Array:
    """Pairs of each fact's item in the query's excluded record."""
    out = np.zeros(known.item.size)
    for q in np.flatnonzero(known.exclude >= 0).tolist():
        lo, hi = tables.gone_ptr[q], tables.gone_ptr[q + 1]
        facts = slice(int(known.query_ptr[q]), int(known.query_ptr[q + 1]))
        at = np.searchsorted(tables.gone_item[lo:hi], known.item[facts])
        safe = np.minimum(at, max(hi - lo - 1, 0))
        if hi > lo:
            there = tables.gone_item[lo:hi][safe] == known.item[facts]
            out[facts] = np.where(there, tables.gone_weight[lo:hi][safe], 0.0)
    return out


def _mean_chances(known: Known, tables: AdaptiveTables) -> tuple[Array, Array]:
    """Mean over the item's released entries of the chance of its fact: right, wrong."""
    post, n = postings(known.in_memory.index), known.item.size
    right, wrong = np.zeros(n), np.zeros(n)
    item, gone = known.item.astype(np.int64), known.exclude[known.query].astype(np.int64)

    def add(first: int) -> None:
        mean_chances(
            first,
            min(first + _AT_ONCE, n),
            post,
            item,
            known.known_tick,
            gone,
            tables,
            right,
            wrong,
        )

    in_parts(add, range(0, n, _AT_ONCE))
    return right, wrong
