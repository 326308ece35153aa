"""Whether labels mean the same in source and release: records with one label the same person, items the same thing.

Records and items are matched by label. If the release has new labels that also occur in the source
(pseudonyms 1 … N, shuffled), every label names somebody else, nobody is "found", and the release
would look safe.
"""

from __future__ import annotations

from hashlib import sha256
from math import sqrt

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.row_copies import rows_of
from standout.errors import InputError

COMPARED = 200
"""Records to compare, and items, at most."""
OTHERS = 10
"""Other records of the release that each is compared with, at most."""
FEWEST_ITEMS = 5
"""Items to compare, at least: fewer say nothing about the labels of items."""
HOLDERS = 2000
"""People whose entries say who holds an item, at most."""
KINDS = 3
"""Kinds of tokens of a record: items, (item, value) and (item, day) pairs."""
Z = 1.645
"""The mean must lie this many standard errors above chance."""
CLEARLY = 4.0
"""Margin of a resemblance that another run of the same defense cannot lose by chance."""


def check_same_labels(source: Dataset, release: Dataset, place: Array) -> None:
    """Refuse a release whose labels seem to mean something else than those of the source."""
    if note := other_labels(source, release, place):
        raise InputError(note)


def other_labels(source: Dataset, release: Dataset, place: Array) -> str:
    """What is wrong if records or items resemble those of the same label in the source no more than others do; else nothing.

    Parameters
    ----------
    source, release
        The two datasets.
    place
        Record index in the release of every record of the source, -1 = none.
    """
    if not (place >= 0).any():
        return (
            "no label of a record of the source occurs in the release, so nobody can be found there; audit a copy with the "
            "original labels, or the release alone"
        )
    for what, score in (
        ("records", lead_of_records(source, release, place)),
        ("items", lead_of_items(source, release, place)),
    ):
        if score.size and not above_chance(score):
            return (
                f"{what} with the same label do not belong together: {what} of the release are more similar to those of the same "
                f"label in the source than to others in {50 + 50 * score.mean():.0f} % of comparisons ({what} compared: "
                f"{score.size:,}; 50 % is chance). Records and items are matched by label, so people count as not found. "
                "Give both the labels of the source, state the defense, or audit the release on its own"
            )
    return ""


def above_chance(score: Array, times: float = 1.0) -> bool:
    """Whether the mean lead is above chance, where each lead is uniform in -1 … 1, by `times` the usual margin."""
    return bool(score.size and score.mean() >= times * Z / sqrt(3 * score.size))


def lead_of_records(source: Dataset, release: Dataset, place: Array) -> Array:
    """Per person: share of other records less similar than the own record, minus the share of more similar ones.

    People for whom all records of the release are equally similar are left out.
    """
    chosen = _drawn(np.flatnonzero(place >= 0), COMPARED, source, release)
    candidates = _candidates(place[chosen], release.n_records)
    items = find_labels(release.item_labels, source.item_labels)
    levels = np.unique(np.concatenate([source.levels, release.levels]))
    mine = [_tokens(source, person, items, levels) for person in chosen.tolist()]
    theirs = {r: _tokens(release, r, None, levels) for r in np.unique(candidates).tolist()}
    alike = np.zeros(candidates.shape)
    for kind in range(KINDS):
        alike += _excess(
            [x[kind] for x in mine], {r: x[kind] for r, x in theirs.items()}, candidates
        )
    return _lead(alike)


def lead_of_items(source: Dataset, release: Dataset, place: Array) -> Array:
    """Per item: share of other items whose holders are less similar, minus the share of those with more similar ones."""
    people = _drawn(np.flatnonzero(place >= 0), HOLDERS, source, release)
    index = find_labels(release.item_labels, source.item_labels)
    mine, theirs = _holders(source, people), _holders(release, place[people])
    shared = np.flatnonzero([at in theirs and k in mine for k, at in enumerate(index.tolist())])
    chosen = _drawn(shared, COMPARED, source, release)
    held = np.array(sorted(theirs), np.int64)
    if chosen.size < FEWEST_ITEMS:
        return np.empty(0)
    candidates = held[_candidates(np.searchsorted(held, index[chosen]), held.size)]
    return _lead(_excess([mine[k] for k in chosen.tolist()], theirs, candidates))


def _drawn(indices: Array, most: int, source: Dataset, release: Dataset) -> Array:
    """At most this many of the indices, at random: the content of both datasets decides, so nobody can prepare for it."""
    if indices.size <= most:
        return indices
    return np.sort(content_random(source, release).choice(indices, most, replace=False))


def content_random(source: Dataset, release: Dataset, seed: int = 0) -> np.random.Generator:
    """Random numbers that are a function of the seed and of the content of both datasets."""
    digest = sha256(f"{seed} {source.fingerprint} {release.fingerprint}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


def _candidates(own: Array, n: int) -> Array:
    """(own, own and others): each index, followed by others of the n."""
    steps = (
        np.unique(np.arange(1, OTHERS + 1) * n // (OTHERS + 1)) if n > OTHERS else np.arange(1, n)
    )
    return np.asarray((own[:, None] + np.append(0, steps)) % max(n, 1))


def _lead(alike: Array) -> Array:
    """Mean sign of the first column's lead over each other column; rows in which all are equal are left out."""
    sign = np.sign(np.round(alike[:, :1] - alike[:, 1:], 9))
    return np.asarray(sign[sign.any(axis=1)].mean(axis=1)) if sign.size else np.empty(0)


def _holders(data: Dataset, records: Array) -> dict[int, Array]:
    """Positions in `records` of the holders of each item."""
    ptr, at = rows_of(data.record_ptr, records)
    pairs = np.unique(
        data.record_item[at].astype(np.int64) * records.size
        + np.repeat(np.arange(records.size), np.diff(ptr))
    )
    item, holder = np.divmod(pairs, max(records.size, 1))
    there, first = np.unique(item, return_index=True)
    return dict(zip(there.tolist(), np.split(holder, first[1:]), strict=True))


def _tokens(data: Dataset, record: int, items: Array | None, levels: Array) -> tuple[Array, ...]:
    """Distinct items of a record, and its (item, value) and (item, day) pairs, in numbers that both datasets share."""
    rows = slice(int(data.record_ptr[record]), int(data.record_ptr[record + 1]))
    item = data.record_item[rows].astype(np.int64)
    item = item if items is None else items[item]
    value, day = np.empty(0, np.int64), np.empty(0, np.int64)
    if data.has_value:
        code = data.record_code[rows].astype(np.int64)
        known = code < data.n_levels
        value = item[known] * (levels.size + 1) + np.searchsorted(levels, data.levels[code[known]])
    if data.has_time:
        tick = data.record_tick[rows].astype(np.int64)
        known = tick != data.no_tick
        day = item[known] * 2**32 + (tick[known] + data.first_tick) // data.ticks_per_day + 2**31
    # an item that the release lacks has index -1
    return tuple(np.unique(x[x >= 0]) for x in (item, value, day))


def _excess(mine: list[Array], theirs: dict[int, Array], candidates: Array) -> Array:
    """(people, candidates): common tokens beyond what popularity and length let expect, in standard deviations."""
    every, counts = np.unique(
        np.concatenate([*theirs.values(), np.empty(0, np.int64)]), return_counts=True
    )
    out, total = np.zeros(candidates.shape), int(counts.sum())
    if not total:
        return out
    for k, tokens in enumerate(mine):
        at = np.minimum(np.searchsorted(every, tokens), every.size - 1)
        popular = int(counts[at[every[at] == tokens]].sum()) / total
        for c, record in enumerate(candidates[k].tolist()):
            other = theirs[record]
            expected = popular * other.size
            if expected:
                out[k, c] = (
                    np.intersect1d(tokens, other, assume_unique=True).size - expected
                ) / sqrt(expected)
    return out
