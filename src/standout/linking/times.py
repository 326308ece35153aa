"""Times that two files can be compared by: days, or hours if both files have them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.data.dataset import Dataset
from standout.data.times import TICKS_PER_DAY

WHOLE = 1e-6


def comparable(dataset: Dataset, second: Knowledge) -> Dataset:
    """The release with times by the hour if it has hours or finer times and so has the second file, else by the day.

    Minutes and seconds are not compared: their tables would be long, and two files rarely agree to the minute.
    """
    if not dataset.has_time or dataset.ticks_per_day == 1:
        return dataset
    known = second.time[~np.isnan(second.time)]
    has_hours = bool((np.abs(known - np.round(known)) > WHOLE).any())
    return coarser(dataset, "hour" if has_hours else "day")


def coarser(dataset: Dataset, resolution: str) -> Dataset:
    """The same records with times in longer ticks."""
    step = dataset.ticks_per_day // TICKS_PER_DAY[resolution]
    if step <= 1:
        return dataset
    first = dataset.first_tick // step
    tick = dataset.record_tick.astype(np.int64)
    moved = (tick + dataset.first_tick) // step - first
    changed = np.where(tick == dataset.no_tick, dataset.no_tick, moved).astype(
        dataset.record_tick.dtype
    )
    span = (dataset.tick_span + dataset.first_tick) // step - first
    return replace(
        dataset,
        record_tick=changed,
        first_tick=int(first),
        tick_span=int(span),
        time_resolution=resolution,
        origin=None,
    )
