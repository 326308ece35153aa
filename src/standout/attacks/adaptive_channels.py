"""What an adversary's values and days look like through a defense's mechanism: chances per released entry, and backgrounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from standout.adversary.adversary import Adversary
from standout.arrays import Array
from standout.attacks.bayes import SHRINK
from standout.attacks.odds import entry_histograms
from standout.attacks.tables import Known
from standout.data.background import background
from standout.data.cache import once
from standout.data.dataset import Dataset
from standout.data.mechanism import Mechanism
from standout.formulas.defended import DECONVOLUTION_STEPS, deconvolved, through_values
from standout.formulas.likelihood import shrunk
from standout.kernels.moments import Periods

LEAST_CHANCE = 1e-12
"""Smallest background probability of a known value or day."""

MOST_SHIFTS = 65
"""Shifts over which the background of days is averaged."""


STRIDES = (1, 2, 3, 5, 8, 13)
"""Distances in a record, in entries, of the pairs whose days are compared."""

EVEN = 0.05
"""Share of the uniform distribution in that of the distances."""


class Seen(NamedTuple):
    """One channel of the facts."""

    right: Array
    """float64 (facts, levels + 1) for values: probability of the known value by released level, last = no value. (1, 1) where
    the channel is not used."""
    wrong: Array
    """The same for wrong facts."""
    back: Array
    back_wrong: Array
    """float64 (facts): probabilities of the known value or day of a person outside the release; 1 where it is not known."""


def unused(n: int) -> Seen:
    """A channel that is not used."""
    return Seen(np.ones((1, 1)), np.ones((1, 1)), np.ones(n), np.ones(n))


def change_of(mechanism: Mechanism, source: Dataset, release: Dataset) -> sparse.csr_array:
    """D (levels of the source, levels of the release): probability of each released value."""
    if mechanism.value is not None and np.array_equal(mechanism.value.release, release.levels):
        return mechanism.value.chance
    if mechanism.value is not None:
        at, places = (
            mechanism.value.chance.tocoo(),
            np.searchsorted(release.levels, mechanism.value.release),
        )
        return sparse.csr_array(
            (at.data, (at.row, places[at.col])), shape=(source.n_levels, release.n_levels)
        )
    at = np.searchsorted(release.levels, source.levels)
    safe = np.minimum(at, release.n_levels - 1)
    same = release.levels[safe] == source.levels
    return sparse.csr_array(
        (np.ones(int(same.sum())), (np.flatnonzero(same), safe[same])),
        shape=(source.n_levels, release.n_levels),
    )


def seen_values(known: Known, who: Adversary, source: Dataset, mechanism: Mechanism) -> Seen:
    """Chances of the known values through the defense's change of values."""
    n, kernel, has = known.item.size, who.value_kernel(source), known.has_value
    if kernel is None or not has.any():
        return unused(n)
    change = change_of(mechanism, source, known.in_memory)
    told, place = np.unique(known.value[has], return_inverse=True)
    place = place.reshape(-1)
    own, n_own, common = entry_histograms(known, np.flatnonzero(has), "value")
    prior = source_values(own, n_own, common, change)
    right, back = through_values(prior, change, kernel.table(told, source.levels)[place])
    errors = who.level_errors(source)
    assert errors is not None
    pairs = np.arange(told.size)[:, None], np.arange(source.n_levels)[None, :]
    off = errors.wrong(told, *pairs)[place]
    wrong, back_wrong = through_values(prior, change, off)
    shape = n, known.dataset.n_levels + 1
    out = Seen(np.ones(shape), np.ones(shape), np.ones(n), np.ones(n))
    out.back[has], out.back_wrong[has] = (
        np.maximum(back, LEAST_CHANCE),
        np.maximum(back_wrong, LEAST_CHANCE),
    )
    out.right[has, :-1], out.wrong[has, :-1] = right, wrong
    out.right[has, -1], out.wrong[has, -1] = out.back[has], out.back_wrong[has]
    return out


def source_values(own: Array, n_own: Array, common: Array, change: sparse.csr_array) -> Array:
    """π (facts, levels of the source): the item's released histogram, shrunk to the common one, before the change."""
    levels = change.shape[0]
    # where every value has one released value, the first step is the solution
    certain = bool((np.diff(change.indptr) <= 1).all() and (change.data == 1).all())
    steps = 1 if certain else DECONVOLUTION_STEPS
    # rows of `common` differ only by the excluded record
    distinct, place = np.unique(common, axis=0, return_inverse=True)
    shared = deconvolved(
        distinct, change, np.full((distinct.shape[0], levels), 1.0 / max(levels, 1)), steps
    )
    h = shrunk(own / np.maximum(n_own, 1)[:, None], n_own[:, None], common, SHRINK)
    return deconvolved(h, change, shared[place.reshape(-1)], steps)


def buckets(release: Dataset, mechanism: Mechanism) -> tuple[int, bool, Array]:
    """Largest shift, whether dates were rounded before it, and the length in ticks of the period that starts on each day.

    The days are those of the release and of the shifts; none if dates were not rounded.
    """
    change = mechanism.time
    shift = change.shift if change else 0
    if change is None or change.period is None:
        return shift, False, np.empty(0, np.int64)
    first, last = _days(release)
    lengths = Periods(change.period).lengths(first - shift, last - first + 1 + 2 * shift)
    return shift, change.period_first, lengths * release.ticks_per_day


def _days(release: Dataset) -> tuple[int, int]:
    """First and last day of the release, counted from 1970-01-01."""
    first, per_day = int(release.first_tick), release.ticks_per_day
    return first // per_day, (first + int(release.tick_span)) // per_day


def day_backgrounds(known: Known, source: Dataset, mechanism: Mechanism) -> tuple[Array, Array]:
    """Probability of each known day of a person outside the release: right fact, wrong fact; 1 where the day is not known."""
    n, has = known.item.size, known.has_tick
    back, wrong = np.ones(n), np.ones(n)
    if not has.any():
        return back, wrong
    own, n_own, common = entry_histograms(known, np.flatnonzero(has), "day")
    rows, total = np.arange(own.shape[0]), np.zeros(own.shape[0])
    shift = mechanism.time.shift if mechanism.time else 0
    shifts = np.unique(
        np.linspace(-shift, shift, min(2 * shift + 1, MOST_SHIFTS)).round().astype(np.int64)
    )
    day = known.tick[has].astype(np.int64)
    for z in shifts:
        at, width = _bins(known.in_memory, mechanism, day + z * known.dataset.ticks_per_day)
        total += (
            shrunk(own[rows, at] / np.maximum(n_own, 1), n_own, common[rows, at], SHRINK) / width
        )
    back[has] = np.maximum(total / shifts.size, LEAST_CHANCE)
    wrong[has] = 1.0 / (source.tick_span + 1)
    return back, wrong


def _bins(release: Dataset, mechanism: Mechanism, day: Array) -> tuple[Array, Array]:
    """Bin of the released days that each day falls on, and the number of days that share the bin.

    Periods would make a comb of the bins: the days of a period all fall on the bin of its first
    day.
    """
    span, bins = int(release.tick_span), background(release).bin_ticks
    n_bins = span // bins + 1
    inside = np.clip(day, 0, span)
    # dates that are shifted after rounding do not make a comb
    if mechanism.time is None or mechanism.time.period is None or mechanism.time.period_first:
        at = inside // bins
        return at, np.minimum(bins, span + 1 - at * bins).astype(np.float64)
    first, per_day = int(release.first_tick), release.ticks_per_day
    first_day, last_day = _days(release)
    days = np.arange(first_day, last_day + 1)
    every = np.clip(
        (Periods(mechanism.time.period).draw(days) * per_day - first) // bins, 0, n_bins - 1
    )
    # the first and the last day may lie partly outside the release
    begin = np.maximum(days * per_day, first)
    ticks = np.minimum((days + 1) * per_day, first + span + 1) - begin
    width = np.maximum(np.bincount(every, weights=ticks, minlength=n_bins), 1.0)
    at = every[(inside + first) // per_day - first_day]
    return at, width[at]


def day_distances(release: Dataset, within: int) -> Array:
    """Probability per tick of another entry of the same record, by its distance in days; cached on the release.

    It is counted over pairs of entries of the release, mixed with a uniform share, and widened by
    the adversary's error.
    """
    return once(release, "day_distances", within, lambda: _day_distances(release, within))


def _day_distances(release: Dataset, within: int) -> Array:
    per_day = release.ticks_per_day
    tick = release.record_tick.astype(np.int64)
    record = np.repeat(np.arange(release.n_records), np.diff(release.record_ptr))
    n = int(release.tick_span) // per_day + 1
    count = np.zeros(n)
    for stride in STRIDES:
        same = (record[stride:] == record[:-stride]) & (tick[stride:] != release.no_tick)
        same &= tick[:-stride] != release.no_tick
        gap = np.abs(tick[stride:][same] - tick[:-stride][same]) // per_day
        count += np.bincount(gap, minlength=n)[:n]
    share = (1 - EVEN) * count / max(count.sum(), 1.0) + EVEN / n
    share[1:] /= 2
    both = np.concatenate([share[:0:-1], share])
    width = 2 * (within // per_day) + 1
    wide = np.convolve(both, np.full(width, 1.0 / width))
    return np.ascontiguousarray(wide[wide.size // 2 :]) / per_day
