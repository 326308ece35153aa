"""Entries of one record that a defense moved to the same item."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.adversary.splitmix import jit
from standout.arrays import Array
from standout.data.dataset import Dataset


def merged(changed: Dataset, source: Dataset) -> Dataset:
    """The changed data with one entry per (record, item) pair, if the source has no repeats either.

    Of several entries the latest stays, of equally late ones the one with the largest value; a
    missing time or value comes last. Data with repeats keeps each entry as an event.
    """
    if source.has_repeats or not changed.has_repeats:
        return changed
    keep = _latest(
        changed.record_ptr,
        changed.record_item,
        changed.record_code,
        changed.record_tick,
        changed.n_levels,
        changed.no_tick,
    )
    return changed.with_entries(keep)


def collisions(before: Dataset, after: Dataset) -> dict[str, Any]:
    """Fields of a mechanism: entries that `merged` left out, as a share of all entries and as a number."""
    n = before.n_entries - after.n_entries
    return {"collided": n / max(before.n_entries, 1), "n_collided": n}


@jit
def _latest(ptr: Array, item: Array, code: Array, day: Array, no_value: int, no_tick: int) -> Array:
    keep = np.zeros(item.size, np.bool_)
    for r in range(ptr.size - 1):
        best, best_day, best_code = ptr[r] - 1, np.int64(-1), np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            d, c = np.int64(-1), np.int64(-1)
            if day.size > 0 and np.int64(day[k]) != no_tick:
                d = np.int64(day[k])
            if code.size > 0 and np.int64(code[k]) != no_value:
                c = np.int64(code[k])
            if best < ptr[r] or item[k] != item[best]:
                if best >= ptr[r]:
                    keep[best] = True
                best, best_day, best_code = k, d, c
            elif d > best_day or (d == best_day and c > best_code):
                best, best_day, best_code = k, d, c
        if best >= ptr[r]:
            keep[best] = True
    return keep
