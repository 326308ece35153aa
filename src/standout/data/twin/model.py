"""Computes the tables that the Netflix twin draws from, from the published marginals.

Fitted only to the marginals in `netflix_marginals.json`, never to attack results. What can be
solved is solved here, in a second, for any number of items; the rest are the parameters below, set
once by comparing marginals.
"""

from __future__ import annotations

import datetime as dt
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.twin.items import (
    CLASS_EDGES,
    N_SAMPLES,
    alias_tables,
    capped,
    group_affinity,
    item_entry_days,
    item_values,
    popularity,
    sample_tastes,
    settled,
    target_support,
)
from standout.data.twin.kernels import Z_MAX, ItemModel, People, draw_people

FIRST_DAY = dt.date(1999, 11, 11)
N_DAYS = (dt.date(2005, 12, 31) - FIRST_DAY).days + 1
N_RECORDS = 480_189
N_ITEMS = 17_770

KNOBS = {
    "early_joiners_rate_more": 0.35,
    "more_entries_more_days": 0.772,
    "more_days_longer_stay": 0.543,
    "stay_location": 1.221,
    "stay_spread": 1.09,
    "burst_spread": 2.125,
    "burst_spread_varies": 0.136,
    "first_day_weight": 3.48,
    "two_a_day": 0.267,
    "stay_skew": -0.212,
}
"""Knobs of `People`, in the order of the kernel.

The first is a guess: marginals do not say how much more early joiners rate, since the calendar can
make up for it. The others were found by Nelder and Mead on bursts, spans, first-day shares,
distinct days and entries per day.
"""

TASTE_GROUPS = 24
"""Latent groups; every record mixes them, most records lean on one or two."""
TASTE_SPREAD = 8.0
"""Standard deviation of a record's log interest over groups. Set, as the next two, by pair lifts and outside-top shares."""
AFFINITY_SPREAD = 1.3
"""Standard deviation of an item's place in each dimension of taste."""
MAINSTREAM_SLOPE = 1.2
"""Spread over groups of the change of log affinity per power of ten in rank."""
JOIN_GROWTH = 0.293
"""Growth of joining within a year, beyond that of entries: log ratio of December to January."""
ONE_DAY = 1.4
"""Raw number of days at the level up to which records certainly have one day; it rounds to 1 below 1.5."""
LENIENCY = 0.44
"""Standard deviation of a record's own mean, where the latent value has 1."""


@lru_cache(maxsize=1)
def real_marginals() -> dict[str, Any]:
    """Aggregates of the Netflix Prize training data, as shipped with the package."""
    text = (
        files("standout.data.twin").joinpath("netflix_marginals.json").read_text(encoding="utf-8")
    )
    out: dict[str, Any] = json.loads(text)
    return out


SCORES = np.linspace(-Z_MAX, Z_MAX, 2001)
"""Normal scores at which quantile functions are tabulated."""


def normal_scores(levels: Array) -> Array:
    """Normal scores of quantile levels; 0 and 1 stand for the extremes of half a million draws."""
    from statistics import NormalDist

    inverse = NormalDist().inv_cdf
    return np.array([inverse(float(min(max(q, 1e-6), 1 - 1e-6))) for q in levels])


def month_of_day() -> tuple[Array, list[str]]:
    """Month index of each day, and the months' names."""
    names = [(FIRST_DAY + dt.timedelta(days=d)).strftime("%Y-%m") for d in range(N_DAYS)]
    months = sorted(set(names))
    index = {m: k for k, m in enumerate(months)}
    return np.array([index[m] for m in names]), months


def _joining(real: dict[str, Any]) -> Array:
    """Cumulative share of first days: a year's share is known, its months follow the entries."""
    month, months = month_of_day()
    by_month = np.array([real["entries_by_month"].get(m, 0.0) for m in months])
    share = np.zeros(len(months))
    for year, records in real["records_by_first_year"].items():
        inside = np.array([m.startswith(year) for m in months])
        growth = np.exp(JOIN_GROWTH * np.linspace(0.0, 1.0, inside.sum())) * by_month[inside]
        share[inside] = records * growth / growth.sum()
    per_day = (share / np.bincount(month))[month]
    return np.concatenate([[0.0], np.cumsum(per_day) / per_day.sum()])


def _match_distinct_days(people: People, target: Array, levels: Array) -> People:
    """Adjust the raw quantiles of distinct days until, after the caps by entries and span, they equal the real ones."""
    z = normal_scores(levels)
    grid = SCORES
    # 5 to 10 % of the records have one day, and the first-day shares indicate about 5 %
    knots = np.log(np.where(target > 1, target, np.where(levels < 0.05, 1.0, ONE_DAY)))
    pilot = np.empty((40_000, 4), np.int64)
    for _ in range(8):
        people = people._replace(log_days=np.interp(grid, z, knots))
        draw_people(0, len(pilot), 0, people, pilot)
        got = np.quantile(pilot[:, 3], levels[3:-1])
        knots[3:-1] += 0.8 * np.log(target[3:-1] / got)
        knots = np.minimum(np.maximum.accumulate(knots), np.log(N_DAYS))
    return people


def _match_calendar(people: People, real: dict[str, Any]) -> People:
    """Scale activity by month until the pilot's entries fall on months as the real ones do."""
    month, months = month_of_day()
    target = np.array([real["entries_by_month"].get(m, 0.0) for m in months])
    pilot = np.empty((12_000, 4), np.int64)
    draw_people(0, len(pilot), 0, people, pilot)
    length, first, span, n_days = pilot.T
    edges = np.concatenate([[0], np.cumsum(np.bincount(month))])
    overlap = np.minimum(first + span + 1, edges[1:, None]) - np.maximum(first, edges[:-1, None])
    overlap = np.maximum(overlap, 0).T.astype(float)
    # the first and last day of a record are given; only the days between follow the calendar
    per_day = length / n_days
    fixed = np.bincount(month[first], per_day, len(months))
    fixed += np.bincount(month[first + span], np.where(n_days > 1, per_day, 0.0), len(months))
    moving = per_day * np.maximum(n_days - 2, 0)
    activity = np.ones(len(months))
    for _ in range(60):
        where = overlap * activity
        got = fixed + (moving / where.sum(axis=1)) @ where
        activity *= np.clip(target * length.sum() / np.maximum(got, 1e-9), 0.5, 2.0)
        activity = np.clip(activity / np.average(activity, weights=target), 1e-3, 1e3)
    return people._replace(calendar=np.concatenate([[0.0], np.cumsum(settled(activity)[month])]))


@lru_cache(maxsize=4)
def people_model(n_items: int, mean_length: float) -> People:
    """Tables of record lengths, first days, spans and numbers of days."""
    real = real_marginals()
    levels = np.array(real["quantile_levels"])
    z = normal_scores(levels)
    grid = SCORES
    scale = mean_length / real["mean_entries_per_record"]
    people = People(
        join_cdf=_joining(real),
        log_length=np.interp(grid, z, np.log(real["entries_per_record"])) + np.log(scale),
        log_days=np.zeros(grid.size),
        knobs=np.array(list(KNOBS.values())),
        calendar=np.arange(N_DAYS + 1, dtype=float),
        longest=max(1, int(n_items * max(real["entries_per_record"]) / N_ITEMS)),
    )
    # days shrink with lengths, so that bursts keep their size
    days = np.maximum(1.0, np.array(real["distinct_days_per_record"]) * min(scale, 1.0))
    people = _match_distinct_days(people, days, levels)
    return _match_calendar(people, real)


@lru_cache(maxsize=4)
def twin_model(n_items: int, mean_length: float, seed: int) -> tuple[People, ItemModel]:
    """All tables of the kernel."""
    real = real_marginals()
    people = people_model(n_items, mean_length)
    pilot = np.empty((20_000, 4), np.int64)
    draw_people(0, len(pilot), 0, people, pilot)
    rng = np.random.default_rng([seed, 6])
    support = capped(target_support(real, n_items), mean_length)
    share = support / support.sum()
    edges = np.array(CLASS_EDGES) * (mean_length / real["mean_entries_per_record"])
    affinity = group_affinity(share, TASTE_GROUPS, AFFINITY_SPREAD, MAINSTREAM_SLOPE, rng)
    entry_day, availability, profile, moments = item_entry_days(real, n_items, *month_of_day(), rng)
    tastes = sample_tastes(N_SAMPLES, TASTE_GROUPS, TASTE_SPREAD)
    weight = popularity(real, support, pilot[:, 0], edges, tastes @ affinity * moments)
    quality, cuts = item_values(real, share, rng)
    tables = alias_tables(weight, affinity, availability)
    label = rng.permutation(n_items).astype(np.int32)
    knobs = np.array([TASTE_SPREAD, LENIENCY])
    return people, ItemModel(edges, *tables, entry_day, profile, quality, cuts, label, knobs)
