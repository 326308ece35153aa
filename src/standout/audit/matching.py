"""How far a release is what its labels and its stated defense say: people, entries, values and times, compared with the source.

The compared people are chosen at random. The choice is derived from the seed and from the content
of both datasets: it is reproducible, and nobody can know it before the release is finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.audit.same_labels import content_random
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.row_copies import rows_of
from standout.formulas.rates import at_most

MOST_HIDDEN = 0.02
"""Largest share of people whom wrong labels or records of nobody may hide: the verdict says nothing about fewer people."""
COMPARED, OTHERS = 2000, 100
"""People to compare, at most, and records of the release that each is compared with."""
LEAST_LEAD = 0.25
"""Below this mean lead, records do not resemble their source enough to tell whose they are."""
SLACK, MARGIN = 0.05, 3.0
"""Difference of a share between a release and another run of its defense that is accepted: slack, and standard errors."""
Z = 1.645
CHANCE = 1e-3
"""Probability that two runs of one defense differ by chance more than the bound of Kolmogorov and Smirnov."""


@dataclass(frozen=True)
class Match:
    """How far a release is what its labels and its stated defense say."""

    n_source: int
    n_missing: int
    """People of the source without a record in the release."""
    n_added: int
    """Records of the release that belong to nobody in the source."""
    n_compared: int
    hidden: float
    """Estimated share of people whose label names the record of somebody else."""
    hidden_upper: float
    """One-sided 95 % bound of it; 1 if records do not resemble their source enough."""
    doubts: tuple[str, ...] = ()
    """What differs from the source, or from another run of the stated defense."""

    @property
    def added_share(self) -> float:
        """Records of nobody, per person of the source."""
        return self.n_added / self.n_source

    @property
    def is_shown(self) -> bool:
        """Whether labels and stated defense are shown to be right, except for few people."""
        return not self.doubts and self.hidden_upper <= MOST_HIDDEN

    @property
    def is_wrong(self) -> bool:
        """Whether labels are clearly wrong for many people."""
        return self.hidden > 2 * MOST_HIDDEN and self.hidden_upper < 1


class Gaps(NamedTuple):
    """Released minus source value or time, of each person and item that both datasets hold."""

    who: Array
    """Person of each gap."""
    by: Array

    def distance(self, other: Gaps) -> tuple[float, float]:
        """Largest difference of the two distributions, and how large chance makes it; every person has the same weight.

        All times of a person may be shifted together, so the number of people counts, and not the
        number of entries.
        """
        scale = max(1e-300, np.abs(self.by).max(), np.abs(other.by).max())
        levels, at = np.unique(
            np.round(np.append(self.by, other.by) / scale, 6), return_inverse=True
        )
        below, people = [], []
        for who, level in ((self.who, at[: self.by.size]), (other.who, at[self.by.size :])):
            count = np.bincount(who)
            people.append(int((count > 0).sum()))
            below.append(
                np.cumsum(np.bincount(level, 1 / count[who], minlength=levels.size)) / people[-1]
            )
        return float(np.abs(below[0] - below[1]).max()), sqrt(
            log(2 / CHANCE) / 2 * sum(1 / n for n in people)
        )


class Pairs(NamedTuple):
    """People and their records: what is compared."""

    lead: Array
    """Per person: share of other records that resemble the source's record less than the own one, minus the share of more."""
    perfect: Array
    """The same if the own record were an unchanged copy."""
    measures: dict[str, Array]
    """Per person: shares of entries that were kept, added, and of values and times that changed."""
    gaps: dict[str, Gaps]
    """Of values and of times."""


def match(source: Dataset, release: Dataset, place: Array, seed: int) -> Match:
    """Compare randomly chosen people with the records of their labels.

    Parameters
    ----------
    source, release
        The two datasets.
    place
        Record index in the release of every record of the source, -1 = none.
    seed
        Random seed.
    """
    rng = content_random(source, release, seed)
    there = np.flatnonzero(place >= 0)
    n_missing, n_added = int((place < 0).sum()), release.n_records - there.size
    people = np.sort(rng.choice(there, min(COMPARED, there.size), replace=False))
    found = _pairs(source, release, people, place[people], rng)
    doubts: tuple[str, ...]
    if release.origin is None:
        hidden, upper = _hidden(found.lead, found.perfect, people.size == there.size)
        doubts = tuple(_changed(found))
    else:
        example = release.defense.apply(source, seed=int(rng.integers(2**31)))
        at = find_labels(example.record_labels, source.record_labels)
        chosen = people[at[people] >= 0]
        if chosen.size < people.size // 2:  # another sample of people
            chosen = np.sort(
                rng.choice(
                    np.flatnonzero(at >= 0), min(COMPARED, int((at >= 0).sum())), replace=False
                )
            )
        expected = _pairs(source, example, chosen, at[chosen], rng)
        hidden, upper = _hidden(found.lead, expected.lead, False)
        doubts = tuple(_other_than(found, expected, str(release.defense)))
    renamed = min(n_missing, n_added) / source.n_records
    share = there.size / source.n_records
    return Match(
        source.n_records,
        n_missing,
        n_added,
        int(people.size),
        hidden * share + renamed,
        min(1.0, upper * share + renamed),
        doubts,
    )


def _hidden(lead: Array, expected: Array, is_all: bool) -> tuple[float, float]:
    """Share of people whose lead is lost, and its 95 % bound; a wrong label has a lead of 0 on average."""
    if (
        not lead.size
        or not expected.size
        or abs(expected).max() == 0
        or expected.mean() < LEAST_LEAD
    ):
        return 0.0, 1.0
    share = float(np.clip(1 - lead.mean() / expected.mean(), 0.0, 1.0))
    if is_all and lead.size == expected.size:
        return share, share
    if lead.size == expected.size:
        error = (lead - (1 - share) * expected).std() / sqrt(lead.size)
    else:
        error = sqrt(lead.var() / lead.size + expected.var() / expected.size)
    bound = at_most(ceil(share * lead.size - 1e-9), lead.size, 0.95)
    return share, float(min(1.0, max(bound, share + Z * error / expected.mean())))


def _changed(found: Pairs) -> list[str]:
    """What differs from the source although no defense is stated."""
    words = {
        "added": "entries that the person does not have",
        "value": "other values",
        "time": "other times",
    }
    shares = {
        name: float(found.measures[name].mean()) for name in words if found.measures[name].size
    }
    return [
        f"{100 * shares[name]:.0f} % of the compared entries are {word}, and no defense is stated"
        for name, word in words.items()
        if shares.get(name, 0.0) > MOST_HIDDEN
    ]


def _other_than(found: Pairs, expected: Pairs, claim: str) -> list[str]:
    """In what a release differs from another run of the stated defense."""
    words = {
        "kept": "kept entries",
        "added": "added entries",
        "value": "changed values",
        "time": "changed times",
        "value_gap": "changes of values",
        "time_gap": "changes of times",
    }
    out = []
    for name, word in words.items():
        mine, theirs = found.measures[name], expected.measures[name]
        if not mine.size or not theirs.size:
            continue
        error = sqrt(mine.var() / mine.size + theirs.var() / theirs.size)
        scale = max(1e-12, theirs.mean()) if name.endswith("_gap") else 1.0
        if abs(mine.mean() - theirs.mean()) > 2 * SLACK * scale + MARGIN * error:
            out.append(f"{word} are not as another run of {claim} leaves them")
    for name, word in (("value", "values"), ("time", "times")):
        if found.gaps[name].by.size and expected.gaps[name].by.size:
            distance, chance = found.gaps[name].distance(expected.gaps[name])
            if distance > SLACK + chance:
                out.append(
                    f"differences of {word} are not distributed as another run of {claim} leaves them"
                )
    return out


def _pairs(
    source: Dataset, release: Dataset, people: Array, own: Array, rng: np.random.Generator
) -> Pairs:
    """Resemblance of people to their own and to other records, and what became of their entries."""
    names = _names(source, release)
    weight = np.log1p(release.n_records / np.maximum(release.supports, 1))
    mine = _matrix(source, people, names, weight)
    theirs = _matrix(release, own, None, weight)
    others = _matrix(
        release,
        np.sort(rng.choice(release.n_records, min(OTHERS, release.n_records), replace=False)),
        None,
        weight,
    )
    alike = (mine @ others.T).toarray() / np.maximum(_norms(others), 1e-12)
    same = np.asarray(mine.multiply(theirs).sum(axis=1)).reshape(-1) / np.maximum(
        _norms(theirs), 1e-12
    )
    lead, perfect = (
        np.sign(np.round(x[:, None] - alike, 9)).mean(axis=1) for x in (same, _norms(mine))
    )
    held = _norms(mine) > 0
    return Pairs(lead[held], perfect[held], *_measures(source, release, people, own, names))


def _names(source: Dataset, release: Dataset) -> Array:
    """Index in the release of each item of the source, -1 = not there; as published where a defense renamed items."""
    mechanism = release.mechanism
    if mechanism is None or mechanism.items is None:
        return find_labels(release.item_labels, source.item_labels)
    out = np.full(source.n_items, -1, np.int64)
    at = find_labels(source.item_labels, mechanism.items.source)
    to = find_labels(release.item_labels, mechanism.items.release)
    out[at[at >= 0]] = to[at >= 0]
    return out


def _matrix(data: Dataset, records: Array, names: Array | None, weight: Array) -> sparse.csr_array:
    """(records, items of the release): weight of each item that a record holds."""
    ptr, at = rows_of(data.record_ptr, records)
    row, item = (
        np.repeat(np.arange(records.size), np.diff(ptr)),
        data.record_item[at].astype(np.int64),
    )
    item = item if names is None else names[item]
    pairs = np.unique(np.stack([row[item >= 0], item[item >= 0]]), axis=1)
    return sparse.csr_array(
        (weight[pairs[1]], (pairs[0], pairs[1])), shape=(records.size, weight.size)
    )


def _norms(matrix: sparse.csr_array) -> Array:
    return np.asarray(np.sqrt(matrix.multiply(matrix).sum(axis=1))).reshape(-1)


def _measures(
    source: Dataset, release: Dataset, people: Array, own: Array, names: Array
) -> tuple[dict[str, Array], dict[str, Gaps]]:
    """Per person: shares of kept and added items, shares of changed values and times, and how much they changed; the gaps."""
    n, n_items = people.size, max(1, release.n_items)
    a, b = _entries(source, people, names, n_items), _entries(release, own, None, n_items)
    both = np.intersect1d(a.key, b.key)

    def per_person(keys: Array) -> Array:
        return np.bincount((keys // n_items).astype(np.int64), minlength=n)

    of_source, of_release, common = per_person(a.key), per_person(b.key), per_person(both)
    out = {
        "kept": (common / np.maximum(of_source, 1))[of_source > 0],
        "added": (1 - common / np.maximum(of_release, 1))[of_release > 0],
    }
    gaps: dict[str, Gaps] = {}
    ia, ib = np.searchsorted(a.key, both), np.searchsorted(b.key, both)
    for name, x, y in (("value", a.value[ia], b.value[ib]), ("time", a.day[ia], b.day[ib])):
        known = ~(np.isnan(x) | np.isnan(y))
        gaps[name] = Gaps((both[known] // n_items).astype(np.int64), y[known] - x[known])
        who, gap = gaps[name].who, np.abs(gaps[name].by)
        count = np.bincount(who, minlength=n)
        for suffix, number in (("", gap > 1e-9), ("_gap", gap)):
            total = np.bincount(who, number.astype(np.float64), minlength=n)
            out[name + suffix] = (total / np.maximum(count, 1))[count > 0]
    return out, gaps


class _Entries(NamedTuple):
    key: Array
    """person · items + item, ascending and distinct: the first entry of each pair."""
    value: Array
    day: Array


def _entries(data: Dataset, records: Array, names: Array | None, n_items: int) -> _Entries:
    ptr, at = rows_of(data.record_ptr, records)
    row, item = (
        np.repeat(np.arange(records.size), np.diff(ptr)),
        data.record_item[at].astype(np.int64),
    )
    item = item if names is None else names[item]
    value, day = np.full(at.size, np.nan), np.full(at.size, np.nan)
    if data.has_value:
        value = np.append(data.levels, np.nan)[np.minimum(data.record_code[at], data.n_levels)]
    if data.has_time:
        tick = data.record_tick[at].astype(np.float64)
        day = np.where(
            data.record_tick[at] == data.no_tick,
            np.nan,
            (tick + data.first_tick) / data.ticks_per_day,
        )
    there = item >= 0
    key, first = np.unique(row[there] * n_items + item[there], return_index=True)
    return _Entries(key, value[there][first], day[there][first])
