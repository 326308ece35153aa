"""`ungrouped`: a source that a release with grouped items could come from, for the canaries of `defended_canaries.py`.

Canaries need data to which the defense can be applied once more, and grouping the groups of a
release would change nothing. So canaries are people of a source that the attacker makes up, such
that the release itself is what the defense would make of it.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from standout.adversary.choosing import key_uniforms
from standout.arrays import Array
from standout.data.cache import once
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records, entry_values
from standout.data.labels import find_labels
from standout.data.purposes import PURPOSE_BEHIND, PURPOSE_COPY, PURPOSE_NAME

SEED = 2**40
ROUNDS = 100
"""Rounds in which the activity of records and the weight of groups are fitted to each other."""


def ungrouped(release: Dataset) -> Dataset:
    """The release with items of the source in place of groups; computed once and cached on the release.

    How many of a person's items are behind a group is drawn (`_items_behind`); which ones they are
    makes no difference to the attack. Where a record's entries of a group
    were merged, the latest is shown: the others are copies of random entries of the record that are
    not later. Where all were kept, they are divided among the items.
    """
    return once(release, "ungrouped", None, lambda: _ungrouped(release))


def _ungrouped(release: Dataset) -> Dataset:
    assert release.mechanism is not None and release.mechanism.items is not None
    assert release.source is not None
    order = np.argsort(release.mechanism.items.source, kind="stable")
    labels = release.mechanism.items.source[order]
    group = find_labels(release.item_labels, release.mechanism.items.release[order])
    size = np.bincount(group[group >= 0], minlength=release.n_items)
    member = np.argsort(group, kind="stable")[int((group < 0).sum()) :]
    start = np.cumsum(size) - size

    record, item = entry_records(release), release.record_item.astype(np.int64)
    key = release.record_keys[record] + item.astype(np.uint64)
    behind = np.minimum(_items_behind(release, record, item, key, size), size[item])
    merged = not release.source.has_repeats
    count = behind if merged else (size[item] > 0).astype(np.int64)
    at = np.repeat(np.arange(item.size), count)
    # which of the entries of its record and group each is
    first = np.flatnonzero(np.diff(record * release.n_items + item, prepend=-1))
    before = np.cumsum(count) - count
    number = np.arange(at.size) - np.repeat(before[first], np.add.reduceat(count, first))
    if not merged:
        number = number % behind[at]
    offset = (key_uniforms(SEED, PURPOSE_NAME, key) * size[item]).astype(np.int64)
    shown = member[start[item[at]] + (offset[at] + number) % size[item[at]]]
    giver = np.where(number > 0, _not_later(release, record, at, number), at) if merged else at
    value, day = entry_values(release), entry_days(release)
    columns = {name: x[giver] for name, x in (("value", value), ("day", day)) if x is not None}
    return release.with_entries(count, item=shown, item_labels=labels, **columns)


def _items_behind(release: Dataset, record: Array, item: Array, key: Array, size: Array) -> Array:
    """Per entry: number of the person's items in its group, at least 1; the same for all entries of a group in a record.

    Each of the group's `size` items is held with probability 1-exp(-Λ_r·q_g/size). Λ of a record
    and q of a group are those with which every record shows the expected number of groups, and every
    group the expected number of records.
    """
    length, place, count = np.unique(release.lengths, return_inverse=True, return_counts=True)
    shown = np.minimum(length, release.n_items - 0.5)
    support = np.minimum(release.supports, release.n_records - 0.5)
    activity, weight = shown.astype(np.float64), support / max(support.sum(), 1.0)
    for _ in range(ROUNDS):
        activity *= shown / np.maximum(-np.expm1(-np.outer(activity, weight)).sum(axis=1), 1e-9)
        weight *= support / np.maximum(count @ -np.expm1(-np.outer(activity, weight)), 1e-9)
    mean = activity[place.reshape(-1)][record] * weight[item] / np.maximum(size[item], 1)
    none = np.exp(-mean * size[item])
    drawn = none + key_uniforms(SEED, PURPOSE_BEHIND, key) * (1 - none)
    behind = stats.binom.ppf(drawn, size[item], -np.expm1(-mean))
    return np.asarray(np.maximum(behind, 1), np.int64)


def _not_later(release: Dataset, record: Array, at: Array, number: Array) -> Array:
    """For each copy of an entry, a random entry of the same record that is not later."""
    tick = release.record_tick if release.has_time else np.zeros(record.size, np.int64)
    order = np.lexsort((tick, record))
    # entries of the record that are not later: place of the last one with this time
    last = np.searchsorted(
        record[order] * (int(tick.max(initial=0)) + 1) + tick[order],
        record * (int(tick.max(initial=0)) + 1) + tick,
        side="right",
    )
    begin = release.record_ptr[record].astype(np.int64)
    key = release.record_keys[record[at]] + release.record_item[at].astype(np.uint64)
    drawn = key_uniforms(SEED, PURPOSE_COPY, key + (number.astype(np.uint64) << np.uint64(32)))
    return np.asarray(order[begin[at] + (drawn * (last - begin)[at]).astype(np.int64)])
