"""Synthetic pairs of files: a release of people with tastes, and a second file about some of them, with planted noise."""

from __future__ import annotations

import numpy as np

import standout as so


def world(n=400, n_items=300, per=25, groups=6, taste=4.0, seed=0):
    """Entries (record, item, value, day) of people whose items go together: each prefers one group of items."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_items + 1) ** 0.6
    kind = rng.integers(0, groups, n_items)
    out = []
    for person in range(n):
        p = popularity * np.where(kind == person % groups, taste, 1.0)
        size = int(rng.integers(per // 2, 2 * per))
        item = rng.choice(n_items, size, replace=False, p=p / p.sum())
        day = rng.integers(0, 1000) + rng.integers(0, 400, size)
        out.append(np.column_stack([np.full(size, person), item, rng.integers(1, 6, size), day]))
    return np.concatenate(out)


def second_file(
    entries, people, knows=10, e=0.25, value_moved=0.3, days=7, lost=0.0, unrelated=0.0, seed=1
):
    """Facts (person, item, value, day) with noise: share e of wrong items, values moved by 1, days moved by ±days.

    `lost`: share of right items whose value and day are random. `unrelated`: share of people whose
    days are random.
    """
    rng = np.random.default_rng(seed)
    n_items = int(entries[:, 1].max()) + 1
    count = np.bincount(entries[:, 1], minlength=n_items)
    out = []
    for person in people:
        mine = entries[entries[:, 0] == person]
        mine = mine[rng.permutation(len(mine))[:knows]]
        item, value, day = mine[:, 1].copy(), mine[:, 2].astype(float), mine[:, 3].astype(float)
        moved = rng.random(len(mine)) < value_moved
        value = np.where(moved, np.clip(value + rng.choice([-1, 1], len(mine)), 1, 5), value)
        day = day + rng.integers(-days, days + 1, len(mine))
        wrong = rng.random(len(mine)) < e
        others = np.setdiff1d(np.arange(n_items), entries[entries[:, 0] == person, 1])
        p = count[others] / count[others].sum()
        item[wrong] = rng.choice(others, int(wrong.sum()), replace=False, p=p)
        random = wrong | (rng.random(len(mine)) < lost) | (rng.random() < unrelated)
        value = np.where(random, rng.integers(1, 6, len(mine)), value)
        day = np.where(random, rng.integers(0, 1400, len(mine)), day)
        out.append(np.column_stack([np.full(len(mine), person), item, value, day]))
    return np.concatenate(out)


def release(entries, value=True, time=True, without=()):
    """The release without some people."""
    kept = entries[~np.isin(entries[:, 0], without)]
    return so.Dataset.from_arrays(
        kept[:, 0].astype(int),
        kept[:, 1].astype(int),
        kept[:, 2] if value else None,
        kept[:, 3] if time else None,
    )


def knowledge(facts, value=True, time=True):
    """The second file as knowledge."""
    return so.Knowledge.from_arrays(
        facts[:, 0].astype(int),
        facts[:, 1].astype(int),
        facts[:, 2] if value else None,
        facts[:, 3] if time else None,
    )


def truth(dataset, aux):
    """Record of each query, -1 = absent."""
    at = np.minimum(np.searchsorted(dataset.record_labels, aux.queries), dataset.n_records - 1)
    return np.where(dataset.record_labels[at] == aux.queries, at, -1)
