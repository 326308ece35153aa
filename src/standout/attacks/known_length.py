"""A known length of the target: ℓ is uniform in L·(1±share), so that its density for a record of L items is 1/(2·share·L).

Scores have that density times 2·share·ℓ, which is ℓ/L for records whose length is in the window of
ℓ, over its mean for a person outside the release. A length that is known exactly (share 0) has a
window of one length.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.attacks.tables import Known
from standout.scoring.factors import ByCount, RecordFactor, SumOfCounts


def told_lengths(known: Known) -> Array:
    """ℓ of each query, at least 1: a share above 1 can give a negative length, and any positive number serves as the unit."""
    return np.maximum(np.abs(known.facts.length.astype(np.float64)), 1.0)


def length_background(known: Known, low: Array, high: Array, keeps: float = 1.0) -> Array:
    """Mean of ℓ/L over the records whose length L is from `low` to `high`, 0 for others; NaN where ℓ is not known.

    Half a record of length ℓ is added, so that it is never 0. The excluded record of a query does
    not count.

    Parameters
    ----------
    known
        What is known of the targets.
    low, high
        Shortest and longest length that agrees with the known one, per query.
    keeps
        Share of a source's items that its record has; lengths of the source are those of the
        records over this.
    """
    count = known.dataset.length_counts.astype(np.float64)
    length = np.maximum(np.arange(count.size) / keeps, 1.0)
    total = np.concatenate([[0.0], np.cumsum(count / length)])
    inside = (
        total[np.searchsorted(length, high, side="right")]
        - total[np.searchsorted(length, low, side="left")]
    )
    own = np.maximum(np.append(known.gone.lengths, 0)[known.gone_at] / keeps, 1.0)
    gone = known.exclude >= 0
    inside = np.maximum(inside - np.where(gone & (own >= low) & (own <= high), 1.0 / own, 0.0), 0.0)
    return np.asarray((told_lengths(known) * inside + 0.5) / (count.sum() - gone + 1.0))


def knows_length(known: Known) -> bool:
    """Whether the length of every target is known, to within a share."""
    return known.facts.length_within is not None and not np.isnan(known.facts.length).any()


def log_over_mean(known: Known) -> Array:
    """log(ℓ/mean) per query: with -log L of a record in the window, the log density ratio of a known length."""
    low, high = known.length_window(known.facts.length_within)
    return np.asarray(np.log(told_lengths(known)) - np.log(length_background(known, low, high)))


def with_length(known: Known, log_pick: RecordFactor) -> tuple[RecordFactor, Array]:
    """log_pick + log L per record, and `log_over_mean` per query.

    Unchanged and 0 where no length is known.
    """
    if not knows_length(known):
        return log_pick, np.zeros(known.facts.n_queries)
    parts = log_pick.parts if isinstance(log_pick, SumOfCounts) else (log_pick,)
    assert all(isinstance(part, ByCount) for part in parts)
    lengths = ByCount(np.log(np.maximum(np.arange(known.dataset.longest + 1), 1.0)))
    return SumOfCounts((*parts, lengths)), log_over_mean(known)


def longest_possible(known: Known) -> tuple[Array, Array]:
    """Longest length in each query's window, which a score counts from, and what the base of the score then needs.

    Both are 0 where no length is known.
    """
    n = known.facts.n_queries
    if not knows_length(known):
        return np.zeros(n, np.int64), np.zeros(n)
    _, high = known.length_window(known.facts.length_within)
    longest = np.clip(high, 1, max(int(known.dataset.longest), 1))
    return longest, log_over_mean(known) - np.log(longest)
