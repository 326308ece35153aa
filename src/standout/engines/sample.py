"""What a fixed sample of records says of all scores: their spread with its standard error, and a floor of the second best."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.index import DEFAULT_BLOCK, Shard, build_shard, rows_of
from standout.scoring import cpu
from standout.scoring.plan import Plan

Array = npt.NDArray[Any]

SEED = 20_080_518
"""Of the sample: the same records each time, so that the same question gets the same answer."""

RARE = 4.0
"""Records that agree with a fact, of as many as the sample holds, that it may well show none of (probability e^-4)."""


class Sample(NamedTuple):
    """Some records of a dataset, indexed as if they were all."""

    record: Array
    """int64: their indices, rising."""
    shard: Shard


class Spread(NamedTuple):
    """What a sample says of all scores, per query."""

    mean: Array
    sigma: Array
    error: Array
    """Standard error of σ as a share of it; infinite where the sample says nothing."""
    unseen: Array
    """What σ may lack, as a share of it, because agreement is so rare that the sample need not show it."""
    second: Array
    """int64: second highest score in the sample, which the release's own is not below."""


_SAMPLES: WeakKeyDictionary[Dataset, dict[int, Sample]] = WeakKeyDictionary()


def sample_of(data: Dataset, n: int) -> Sample:
    """A fixed sample of `n` records, indexed on first use and kept as long as the dataset."""
    kept = _SAMPLES.setdefault(data, {})
    if n not in kept:
        record = np.sort(np.random.default_rng(SEED).choice(data.n_records, n, replace=False))
        ptr, entry = rows_of(data.record_ptr, record)
        item, code, day = (a[entry] if a.size else a for a in (data.record_item, data.record_code, data.record_day))
        shard = build_shard(ptr, item, code, day, data.n_items, 0, n, DEFAULT_BLOCK, data.has_repeats)
        kept[n] = Sample(record, shard)
    return kept[n]


def spread(plan: Plan, sample: Sample) -> Spread:
    """Estimate the mean and σ of all scores; sampled records that a query excludes are left out."""
    place = np.searchsorted(sample.record, plan.tables.exclude)
    there = sample.record[np.minimum(place, sample.record.size - 1)] == plan.tables.exclude
    tables = plan.tables._replace(exclude=np.where(there, place, -1))
    n, mean, m2, m4, second = (np.zeros(plan.n_queries) for _ in range(5))
    cpu.sample_moments(cpu.postings(sample.shard, plan.no_day), tables, cpu.manner(plan), n, mean, m2, m4, second)
    # the variance of m2 is (m4 - m2²) / n, and the error of a root is half that of its square, as shares
    kurtosis = m4 / np.where(m2 > 0, m2, 1.0) ** 2
    error = np.sqrt(np.maximum(kurtosis - 1.0, 0.0) / n) / 2.0
    # a fact that agrees with RARE / n of all records adds this much to the variance, and may not be in the sample
    t = plan.tables
    largest = np.maximum(t.value.max(axis=1).astype(np.float64) + t.time.max(axis=1)[t.time_row], 0.0)
    query = np.repeat(np.arange(plan.n_queries), np.diff(t.query_ptr))
    unseen = RARE / n * np.bincount(query, weights=largest**2, minlength=plan.n_queries)
    share = unseen / np.where(m2 > 0, m2, 1.0) / 2.0
    return Spread(mean, np.sqrt(m2), np.where(m2 > 0, error, np.inf), share, second.astype(np.int64))
