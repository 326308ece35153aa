"""Whether records with the same label in source and release are about the same people.

Records are matched by label. If the release has new labels that also occur in the source (pseudonyms 1 … N, shuffled), every
label names somebody else, nobody is "found", and the release would look safe.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.errors import InputError

Array = npt.NDArray[Any]

PEOPLE = 200
"""People to compare, at most."""
OTHERS = 10
"""Other records of the release that each is compared with, at most."""
Z = 1.645
"""The mean must lie this many standard errors above chance."""


def check_same_people(source: Dataset, release: Dataset, place: Array) -> None:
    """Refuse a release whose records resemble the source's records of the same label no more than other records do.

    Parameters
    ----------
    source, release
        The two datasets.
    place
        Record index in the release of every record of the source, -1 = none.
    """
    score = lead_of_own(source, release, place)
    if score.size and not is_same_people(score):
        raise InputError(
            f"records with the same label do not belong together: for {score.size:,} people the record of the release with "
            f"their label is more similar to their record in the source than another record in {50 + 50 * score.mean():.0f} % "
            "of comparisons (50 % is chance). Records are matched by label; give the release the labels of the source, or "
            "audit the release on its own"
        )


def is_same_people(score: Array) -> bool:
    """Whether the scores of `lead_of_own` lie above chance, where each is uniform in -1 … 1."""
    return bool(score.size and score.mean() >= Z / sqrt(3 * score.size))


def lead_of_own(source: Dataset, release: Dataset, place: Array) -> Array:
    """Per person: share of other records less similar than the own record, minus the share of more similar ones.

    People for whom all records of the release are equally similar are left out.
    """
    there = np.flatnonzero(place >= 0)
    chosen = there[np.unique(np.linspace(0, there.size - 1, PEOPLE).astype(np.int64))] if there.size else there
    n = release.n_records
    steps = np.unique(np.arange(1, OTHERS + 1) * n // (OTHERS + 1))
    steps = steps[steps > 0] if n > OTHERS else np.arange(1, n)
    items = find_labels(release.item_labels, source.item_labels)
    levels = np.unique(np.concatenate([source.levels, release.levels]))
    out = []
    for person, own in zip(chosen.tolist(), place[chosen].tolist(), strict=True):
        mine = _tokens(source, person, items, levels)
        candidates = [own, *((own + steps) % n).tolist()]
        alike = np.array([_similarity(mine, _tokens(release, r, None, levels)) for r in candidates])
        signs = np.sign(alike[0] - alike[1:])
        if signs.any():
            out.append(float(signs.mean()))
    return np.array(out)


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
        value_of_day = (tick[known] + data.first_tick) // data.ticks_per_day
        day = item[known] * 2**32 + value_of_day + 2**31
    return tuple(np.unique(x[x >= 0]) for x in (item, value, day))


def _similarity(one: tuple[Array, ...], other: tuple[Array, ...]) -> float:
    """Sum over the kinds of tokens of |common| / |all|."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        common = np.intersect1d(a, b, assume_unique=True).size
        total += common / max(a.size + b.size - common, 1)
    return total
