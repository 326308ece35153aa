"""Odds tables of the likelihood: a product over facts, for noise that was fitted or given and for facts wrong by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from standout.adversary.choice import PickRule
from standout.adversary.counts import ItemCount, entries_by_item, records_by_count
from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.bayes import SHRINK, level_parts
from standout.attacks.choice_share import chosen_share
from standout.attacks.known_length import longest_possible
from standout.attacks.noise import Noise
from standout.attacks.tables import Known
from standout.data.background import background, histograms_of_record
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.formulas import likelihood as formula
from standout.kernels.levels import LevelKernel
from standout.scoring.factors import ByCount, RecordFactor
from standout.scoring.pick_weights import ByPickWeight, PickRateByWeight
from standout.scoring.plan import Plan


def told_background(known: Known, noise: Noise) -> Array:
    """Smoothed probability of each known value and day among the item's own entries, treated as independent."""
    return np.asarray(value_odds(known, noise)[1] * time_background(known, noise))


def compile_odds(
    dataset: Catalog, facts: Facts, exclude: Array, noise: Noise, missing: Array | None = None
) -> Plan:
    """Plan of LLR(r) for all queries.

    A held item counts (1-e)·((1-h)·K + h·u) / (e·q·g), its odds against a wrong one, before the
    division by L_r (`formulas.likelihood`): `floor` is the part with u, `value` that with K.

    A fact about an item that no candidate holds is either wrong (`noise.complete`) or removed from
    all records: then it has the same probability for every record and for an absent target, and
    changes nothing.

    Parameters
    ----------
    dataset, facts
        The release, and what is known.
    exclude
        One record index per query, -1 = none.
    noise
        Shares of wrong facts, and kernels.
    missing
        Per item of the release: probability that the release lost the entry of a person who holds
        the item. The share of wrong items is then e_i = 1 - (1-e)·(1-missing_i). Default: e for
        every item.
    """
    known = Known.of(dataset, facts, exclude)
    q = item_share(known)
    value, value_background = value_odds(known, noise)
    time = time_odds(known, noise)
    g = value_background * time.background
    e = 1 - (1 - noise.e) * (
        1 - (np.zeros(known.item.size) if missing is None else missing[known.item])
    )
    right = (1 - e) / (e * q)
    wrong = np.broadcast_to(wrong_chance(known, noise, g), known.item.shape)
    floor = right * noise.h * wrong / g
    value = value * known.by_cell(right * (1 - noise.h) / g, value)
    # an absent person's values are wrong equally often: a wrong value is not evidence of presence
    base = np.log(e) - np.log(1 - noise.h + noise.h * wrong / g)
    if not noise.complete:
        base = base * (known.support > 0)
    outside = (known.n_known - np.diff(known.query_ptr)) * noise.complete
    longest, length = longest_possible(known)
    base = known.sum_over_facts(base) + outside * np.log(noise.e) + length
    factor, chosen = pick_factor(dataset, facts, noise), weights_known(dataset, facts)
    if chosen is not None:
        # known items come by the choice's weights, wrong ones by pairs of the release
        weight = chosen.weights_of(known.item)
        if known.given.any():
            # an attribute is known of everybody: as likely as all items of a record together
            counts = entries_by_item(dataset) if chosen.by_events else dataset.supports
            every = float(counts @ chosen.weights_of(np.arange(dataset.n_items)))
            weight = np.where(known.given, every / dataset.n_records, weight)
        value, floor = value * known.by_cell(weight, value), floor * weight
        share = np.where(known.given, q, chosen_share(known, chosen))
        base += known.sum_over_facts(np.log(q / ((1 - e) * share + e * q)))
    plan = known.odds_plan(value, time.table, time.row, time.most, floor, factor, base, longest)
    by_events = chosen is not None and chosen.by_events
    return replace(plan, n_possible=_n_possible(known, noise), by_events=by_events)


def _n_possible(known: Known, noise: Noise) -> Array:
    """Per query: records that could be the target, the excluded one not counted."""
    dataset, marked = known.dataset, _pickable(known.dataset, known.facts)
    possible = formula.pick_rate(np.arange(dataset.longest + 1), noise.n_right, noise.sure) > 0
    n_gone = np.append(ItemCount(marked).of(known.gone), 0)[known.gone_at]
    total = int(records_by_count(dataset, marked)[possible].sum())
    return np.asarray(total - ((known.gone_at >= 0) & possible[n_gone]))


def item_share(known: Known) -> Array:
    """q_i: share of this item in the release's (record, item) pairs, without the excluded record."""
    dataset = known.dataset
    total = dataset.n_pairs - known.gone_lengths[known.query]
    # an item held only by the excluded record can still occur in a fact
    return np.asarray(np.maximum(known.support, 0.5) / np.maximum(total, 1))


def pick_factor(dataset: Catalog, facts: Facts, noise: Noise) -> RecordFactor:
    """Factor per record: `pick_rates`, computed by a shard, to the 24 bits of a float32: a GPU then reads half as much."""
    if (chosen := weights_known(dataset, facts)) is not None:
        key = (facts.adversary, noise.n_right, noise.sure, facts.from_release)
        return once(dataset, "pick_factor", key, lambda: _weighted(dataset, facts, chosen, noise))
    rate = formula.pick_rate(np.arange(dataset.longest + 1), noise.n_right, noise.sure)
    return ByCount(rate.astype(np.float32).astype(np.float64), _pickable(dataset, facts))


def _weighted(dataset: Catalog, facts: Facts, chosen: PickRule, noise: Noise) -> PickRateByWeight:
    rate = formula.pick_rate(np.arange(dataset.longest + 1), noise.n_right, noise.sure)
    count = ItemCount(_pickable(dataset, facts))
    return PickRateByWeight(rate, count, ByPickWeight.of(chosen))


def weights_known(dataset: Catalog, facts: Facts) -> PickRule | None:
    """The choice of the adversary who drew the facts, if it has weights: those of this release, also if it is not the source."""
    if facts.adversary is None:
        return None
    chosen = facts.adversary.pick_rule(dataset)
    return chosen if chosen.weighted else None


def pick_rates(dataset: Catalog, facts: Facts, noise: Noise, rows: Rows) -> Array:
    """1/L_r, or 1/Ω_r, for fetched records, where L_r counts the items that the adversary's choice rule could pick.

    A rule such as "outside the most held items" refers to the source. Another release ranks its
    items differently, so all items of a record count there.
    """
    if (chosen := weights_known(dataset, facts)) is not None:
        return _weighted(dataset, facts, chosen, noise).of_rows(rows)
    return formula.pick_rate(
        ItemCount(_pickable(dataset, facts)).of(rows), noise.n_right, noise.sure
    )


def _pickable(dataset: Catalog, facts: Facts) -> Array | None:
    """Mark the items that the choice rule could pick; None = all, also if the release does not show which."""
    who = facts.adversary
    if who is None or not facts.from_release:
        return None
    marked = who.pickable(dataset)
    return None if marked.all() else marked


def value_odds(known: Known, noise: Noise) -> tuple[Array, Array]:
    """K(v | level) by cell (last of a row: no value) and its mean over the item's own entries, the background."""
    n, has, kernel = known.item.size, known.has_value, noise.value
    if kernel is None or not has.any():
        return np.ones(n), np.ones(n)
    table, total, n_own, common = value_backs(known, kernel)
    back = formula.shrunk(total / np.maximum(n_own, 1), n_own, common, SHRINK)
    back = np.where(has, np.maximum(back, 1e-12), 1.0)
    table[known.cells.start[1:] - 1] = back
    return table, back


def value_backs(known: Known, kernel: LevelKernel) -> tuple[Array, Array, Array, Array]:
    """K(v | level) by cell, 1 without a value; per fact: its sum over the item's entries, their number, its mean over all."""
    cells, levels, n = known.cells, known.dataset.levels, known.item.size
    told = known.has_value[cells.row] & (cells.code < levels.size)
    table = np.ones(cells.row.size)
    table[told] = kernel.chances(known.value[cells.row[told]], cells.code[told], levels)
    own = _own_counts(known) * told
    total, n_own = (np.bincount(cells.row, weights=x, minlength=n) for x in (table * own, own))
    return table, total, n_own, _common_chance(known, kernel)


def _own_counts(known: Known) -> Array:
    """(cells): entries of the fact's item with that value code, those of the excluded record not counted."""
    cells, n_levels, gone = known.cells, known.dataset.n_levels, known.gone
    count = cells.entries.astype(np.float64)
    if cells.places is None:
        own = background(known.dataset).values_of(known.dataset, known.item)
        count = np.column_stack([own, np.zeros(known.item.size)]).reshape(-1)
    fact, at = events_of(gone, known.gone_at[known.query], known.item)
    code = gone.code[at].astype(np.int64)
    if cells.places is not None:
        code = cells.places.find(gone.item[at], code).astype(np.int64)
    there = gone.code[at] < n_levels
    np.subtract.at(count, cells.start[fact[there]] + code[there], 1.0)
    return count


def _common_chance(known: Known, kernel: LevelKernel) -> Array:
    """Per fact: K(known value) averaged over the entries of all items, with one pseudo-count per level; 0 without a value.

    Of several channels, the product.
    """
    data, out = known.dataset, np.ones(known.item.size)
    counted = background(data).all_values.astype(np.float64)
    excluded, at = events_of(known.gone, known.gone_at[known.query])
    for column, scale, own_kernel, level_of in level_parts(known, kernel):
        has = ~np.isnan(column)
        everyone, level = counted, known.gone.code[at].astype(np.int64)
        if level_of is not None:
            level = level_of[level]
            everyone = np.bincount(level_of[:-1], counted, scale.n_levels + 1)[:-1].astype(float)
        everyone = everyone + 1.0
        told, place = np.unique(column[has], return_inverse=True)
        one = np.zeros(known.item.size)
        one[has] = own_kernel.sums(told, scale.levels, everyone).weighted[place]
        there = (level < scale.n_levels) & has[excluded]
        fact = excluded[there]
        gone = own_kernel.chances(column[fact], level[there], scale.levels)
        one -= np.bincount(fact, weights=gone, minlength=one.size)
        one /= everyone.sum() - np.bincount(fact, minlength=one.size)
        out *= np.where(has, one, 1.0)
    return np.where(known.has_value, out, 0.0)


def events_of(rows: Rows, place: Array, item: Array | None = None) -> tuple[Array, Array]:
    """Entries of the row at each place (-1 = none), all or those of one item each: whose they are, and where in `rows`."""
    first, stop = np.append(rows.ptr[:-1], 0)[place], np.append(rows.ptr[1:], 0)[place]
    n = stop - first
    whose = np.repeat(np.arange(place.size), n)
    at = np.arange(whose.size) + np.repeat(first - np.cumsum(n) + n, n)
    kept = slice(None) if item is None else rows.item[at] == item[whose]
    return whose[kept], at[kept]


class TimeOdds(NamedTuple):
    """K(gap) of the known times."""

    table: Array
    """(rows, 2·reach + 2): K by signed gap; last column: the background, for entries without a time."""
    row: Array
    """Per fact: its row of `table`."""
    most: Array
    """Per fact: the largest number in its row, the background included."""
    background: Array
    """Per fact: probability of the known time among the item's own entries."""


def time_odds(known: Known, noise: Noise) -> TimeOdds:
    """K(gap) per fact and the background of the known time; facts share a row where the release allows it."""
    n = known.item.size
    has = known.has_tick
    if noise.time is None or not has.any():
        return TimeOdds(np.ones((1, 1)), np.zeros(n, np.int64), np.ones(n), np.ones(n))
    reach = known.useful_reach(int(noise.time.reach))
    kernel = noise.time.table(np.arange(-reach, reach + 1))
    back = time_background(known, noise)
    # the last column is read only for entries without a time
    all_timed = int(background(known.dataset).all_days.sum()) == known.dataset.n_entries
    told = np.where(has, 0.0 if all_timed else back, np.nan)
    distinct, row = np.unique(told, return_inverse=True)
    table = np.ones((distinct.size, kernel.size + 1))
    table[:, :-1] = np.where(np.isnan(distinct)[:, None], 1.0, kernel[None, :])
    table[:, -1] = np.nan_to_num(distinct, nan=1.0)
    return TimeOdds(
        table, row.reshape(-1), np.where(has, np.maximum(kernel.max(), back), 1.0), back
    )


def time_background(known: Known, noise: Noise) -> Array:
    """Per fact: probability of the known time among the item's own entries, 1 where no time is known."""
    back, has = np.ones(known.item.size), known.has_tick
    if noise.time is None or not has.any():
        return back
    bins = background(known.dataset).bin_ticks
    own, n_own, common = entry_histograms(known, np.flatnonzero(has), "day")
    at = np.clip(known.tick[has] // bins, 0, own.shape[1] - 1).astype(np.int64)
    rows = np.arange(at.size)
    ticks_in_bin = np.minimum(bins, known.dataset.tick_span + 1 - at * bins)
    back[has] = (
        formula.shrunk(own[rows, at] / np.maximum(n_own, 1), n_own, common[rows, at], SHRINK)
        / ticks_in_bin
    )
    return back


def wrong_chance(known: Known, noise: Noise, g: Array) -> Array:
    """u: probability of the known value and day if they are wrong, a mixture of a uniform distribution and the background."""
    return noise.even_wrong * _even_chance(known, noise) + (1.0 - noise.even_wrong) * g


def _even_chance(known: Known, noise: Noise) -> Array:
    """Probability of a wrong value and day, uniform over values the kernels exclude, or over all if they exclude none."""
    out = np.ones(known.item.size)
    if noise.value is not None and known.has_value.any():
        for column, scale, kernel, _ in level_parts(known, noise.value):
            has = ~np.isnan(column)
            distinct, place = np.unique(column[has], return_inverse=True)
            sums = kernel.sums(distinct, scale.levels, np.zeros(scale.n_levels))
            barred = scale.n_levels - sums.n_possible
            out[has] /= np.where(barred > 0, barred, scale.n_levels)[place]
    if noise.time is not None and known.has_tick.any():
        ticks, reach = known.dataset.tick_span + 1, int(noise.time.reach)
        if not noise.time.table(np.array([-reach, reach])).any():
            reach = min(reach, ticks)
            ticks = max(
                ticks - int(np.count_nonzero(noise.time.table(np.arange(-reach, reach + 1)))), 1
            )
        out[known.has_tick] /= ticks
    return out


def entry_histograms(known: Known, facts: Array, channel: str) -> tuple[Array, Array, Array]:
    """Per fact: the item's histogram, its total, and the common distribution (with one pseudo-count per cell)."""
    back = background(known.dataset)
    by_item = back.value if channel == "value" else back.day
    all_items = back.all_values if channel == "value" else back.all_days
    counted = by_item.shape[0] > 1 or channel == "value"
    if channel == "value":
        own = back.values_of(known.dataset, known.item[facts])
    elif counted:
        own = by_item[known.item[facts]].astype(np.float64)
    else:
        own = np.zeros((facts.size, all_items.size))
    everyone = np.broadcast_to(all_items + 1.0, own.shape).copy()
    which = 0 if channel == "value" else 1
    excluded = known.gone_at[known.query[facts]]
    # all facts of a query exclude the same record: count its entries once
    whole = [
        histograms_of_record(known.dataset, known.gone, k, -1)[which]
        for k in range(known.gone.record.size)
    ]
    for k in np.flatnonzero(excluded >= 0):
        gone = int(excluded[k])
        if counted:
            own[k] -= histograms_of_record(
                known.dataset, known.gone, gone, int(known.item[facts[k]])
            )[which]
        everyone[k] -= whole[gone]
    return own, own.sum(axis=1), everyone / everyone.sum(axis=1, keepdims=True)
