"""The self-test: people with known records are added to a part of the data, in memory, and every attack must find them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import starts
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_PLANTS
from standout.engines.engine import Engine
from standout.experiment.outcomes import attack_people

N_ALONE = 8
"""Planted people with an item that nobody else holds: every attack must find each of them."""
N_PAIRS = 4
"""Planted pairs of equal records: an attack that finds one of two gets half a credit."""
MOST_KNOWN = 8
MOST_RECORDS = 2_000
MOST_ENTRIES = 500_000


@dataclass(frozen=True)
class SelfTest:
    """What each attack did to the planted people."""

    n_alone: int
    n_pairs: int
    n_records: int
    """Records of the data among which they were planted."""
    found: dict[str, float]
    """Per attack: share of the single people that were found."""
    halves: dict[str, float | None]
    """Per attack: mean credit for people with an equal record; None for an attack that decides ties by its own rule."""

    @property
    def failed(self) -> list[str]:
        """Attacks that did not find everyone, or that found one of two equal records too often or too rarely."""
        return [a for a in self.found if self.found[a] != 1.0 or self.halves[a] not in (0.5, None)]

    @property
    def passed(self) -> bool:
        """Whether every attack found everyone."""
        return not self.failed and bool(self.found)

    def words(self) -> str:
        """The result in one sentence."""
        n = self.n_alone + 2 * self.n_pairs
        among = f"{n} planted people among {self.n_records:,} records of this data"
        if self.passed:
            return f"every attack found all of {among}"
        if not self.found:
            return "no attack ran"
        worst = self.failed[0]
        got = f"{self.found[worst] * self.n_alone:g} of {self.n_alone}"
        return f"{worst} found {got} unique people of {among}; all were expected. The rates cannot be trusted"


def self_test(
    data: Dataset, attacks: dict[str, Attack], engine: str | Engine = "memory", seed: int = 0
) -> SelfTest:
    """Plant people in a part of the data and attack them with all their facts, exactly known.

    Parameters
    ----------
    data
        The data that is attacked. It is not changed.
    attacks
        Attacks by label.
    engine
        Name of an engine, or an engine.
    seed
        Random seed.
    """
    part = _part(data, seed)
    planted, targets = _planted(part, seed)
    who = Adversary(
        knows=int(planted.lengths[targets].min()),
        value_within=0 if planted.has_value else None,
        time_within=0 if planted.has_time else None,
    )
    knowledge = who.sample(planted, targets, seed)
    found: dict[str, float] = {}
    halves: dict[str, float | None] = {}
    for label, one in attacks.items():
        seen = attack_people(one, planted, knowledge, targets, engine)
        found[label] = float(np.mean(seen.credit[:N_ALONE] == 1.0))
        twins, tied = seen.credit[N_ALONE:], seen.n_tied[N_ALONE:]
        # an attack with its own random choice among equal records reports no tie
        halves[label] = (
            float(twins.mean()) if (tied > 1).all() else None if (tied == 1).all() else -1.0
        )
    return SelfTest(N_ALONE, N_PAIRS, part.n_records, found, halves)


def _part(data: Dataset, seed: int) -> Dataset:
    """Some records of the data, few enough that the test takes seconds."""
    per_record = max(1.0, data.n_entries / data.n_records)
    n = int(min(MOST_RECORDS, max(2, MOST_ENTRIES // per_record), data.n_records))
    return data.take(np.sort(sample_targets(data, np.arange(data.n_records), n, seed)))


def _planted(part: Dataset, seed: int) -> tuple[Dataset, Array]:
    """The part with the planted people, and their record indices: the single ones first, then both of each pair."""
    n_people = N_ALONE + N_PAIRS
    n_own = min(MOST_KNOWN, part.n_items + 1)
    random = np.random.default_rng(
        starts(np.uint64(seed % 2**64), PURPOSE_PLANTS, np.arange(4, dtype=np.uint64))
    )
    record = np.repeat(np.arange(part.n_records), np.diff(part.record_ptr))
    item = part.record_item.astype(np.int64)
    who, what, entry = [], [], []
    for k in range(n_people):
        items = random.choice(part.n_items, n_own - 1, replace=False)
        # values and days of real entries, so that they fit the scales of the data
        rows = random.integers(0, part.n_entries, n_own)
        for copy in [k] if k < N_ALONE else [k, k + N_PAIRS]:
            who.append(np.full(n_own, part.n_records + copy))
            what.append(np.append(items, part.n_items + k))
            entry.append(rows)
    take = np.concatenate([np.arange(part.n_entries), *entry])
    made = Dataset.from_arrays(
        np.concatenate([record, *who]),
        np.concatenate([item, *what]),
        _values(part)[take] if part.has_value else None,
        _times(part)[take] if part.has_time else None,
        resolution=part.time_resolution,
    )
    added = part.n_records + np.concatenate(
        [np.arange(n_people), np.arange(n_people, n_people + N_PAIRS)]
    )
    return made, np.searchsorted(made.record_labels, added)


def _values(data: Dataset) -> Array:
    """Value of each entry, NaN = none."""
    return np.append(data.levels, np.nan)[np.minimum(data.record_code, data.n_levels)]


def _times(data: Dataset) -> Array:
    """Time of each entry in days, NaN = none."""
    ticks = np.where(
        data.record_tick == data.no_tick, np.nan, data.record_tick + float(data.first_tick)
    )
    return ticks / data.ticks_per_day
