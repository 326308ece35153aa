"""The self-test: people with known records are added to a part of the data, in memory, and every attack must find them."""

from __future__ import annotations

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import starts
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records, entry_values
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


def self_test(
    data: Dataset, attacks: dict[str, Attack], engine: str | Engine = "memory", seed: int = 0
) -> tuple[bool, str]:
    """Plant people in a part of the data and attack them with all their facts, exactly known.

    Returns whether every attack found everyone, and a sentence about it.

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
    among = f"{N_ALONE + 2 * N_PAIRS} planted people among {part.n_records:,} records of this data"
    for label, one in attacks.items():
        seen = attack_people(one, planted, knowledge, targets, engine)
        n_found = int((seen.credit[:N_ALONE] == 1.0).sum())
        if n_found != N_ALONE or not _shares_ties(seen.credit[N_ALONE:], seen.n_tied[N_ALONE:]):
            got = f"{label} found {n_found} of {N_ALONE} unique people of {among}"
            return False, f"{got}; all were expected. The rates cannot be trusted"
    return (True, f"every attack found all of {among}") if attacks else (False, "no attack ran")


def _shares_ties(credit: Array, n_tied: Array) -> bool:
    """Whether an attack gets half a credit for people with an equal record, on average.

    An attack with its own random choice among equal records reports no tie.
    """
    return bool((n_tied == 1).all() or ((n_tied > 1).all() and credit.mean() == 0.5))


def _part(data: Dataset, seed: int) -> Dataset:
    """Some records of the data, few enough that the test takes seconds."""
    per_record = max(1.0, data.n_entries / data.n_records)
    n = int(min(MOST_RECORDS, max(2, MOST_ENTRIES // per_record), data.n_records))
    return data.take(np.sort(sample_targets(data, np.arange(data.n_records), n, seed)))


def _planted(part: Dataset, seed: int) -> tuple[Dataset, Array]:
    """The part with the planted people, and their record indices: the single ones first, then both of each pair."""
    n_people = N_ALONE + N_PAIRS
    n_own = min(MOST_KNOWN, part.n_items + 1)
    random = np.random.default_rng(starts(seed, PURPOSE_PLANTS, np.arange(4, dtype=np.uint64)))
    record = part.n_records + np.arange(n_people + N_PAIRS)
    item, entry = [], []
    for k in range(n_people):
        common = random.choice(part.n_items, n_own - 1, replace=False)
        item.append(np.append(common, part.n_items + k))
        # values and days of real entries, so that they fit the scales of the data
        entry.append(random.integers(0, part.n_entries, n_own))
    # the second one of each pair
    item += item[N_ALONE:]
    entry += entry[N_ALONE:]
    take = np.concatenate([np.arange(part.n_entries), *entry])
    value, day = entry_values(part), entry_days(part)
    made = Dataset.from_arrays(
        np.concatenate([entry_records(part), np.repeat(record, n_own)]),
        np.concatenate([part.record_item, *item]),
        None if value is None else value[take],
        None if day is None else day[take],
        resolution=part.time_resolution,
    )
    return made, np.searchsorted(made.record_labels, record)
