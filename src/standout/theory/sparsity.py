"""Sparsity (NS08, Definition 1, Fig. 1): how similar the nearest other record is, exactly, and what Theorem 2 predicts of it.

The search for the nearest record is in `nearest.py`. `describe` shows the curves, and the
theorems of `bound` ask how sparse the data is; the gate counts near-duplicates with `delta_at`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.times import days_within, time_words
from standout.errors import ParameterError
from standout.formulas.ns08 import theorem_2_found
from standout.formulas.rates import Rate, at_most
from standout.theory.nearest import nearest

if TYPE_CHECKING:
    import pandas as pd


CURVE = np.round(np.linspace(0.0, 1.0, 41), 4)
"""ε of the curve."""

NEAR_DUPLICATE = 0.9
ITEMS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of known items for which Theorem 2 predicts."""
CONFIDENCE = 0.95
THEOREM = "NS08, Theorem 2"
MOST_POSTINGS = 4e9
"""Amount of work up to which all records are compared; beyond it, a sample."""
SAMPLE = 2000


def sparsity(
    dataset: Dataset,
    value_within: float | None = None,
    time_within: float | str | None = None,
    records: Any = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Array:
    """Nearest-neighbor similarity max over r' ≠ r of Sim(r, r'), one number per requested record, exact.

    Sim counts the items on which both records agree, over the items that either holds. An item
    agrees when both hold it and every requested channel is within its tolerance for some pair of
    their events; a missing value or day agrees with nothing.

    Parameters
    ----------
    dataset
        The release.
    value_within, time_within
        Tolerances; None leaves the channel out, so that holding the item is enough.
    records
        Record indices; all records by default.
    progress
        Called with the number of records done after each batch.

    Examples
    --------
    >>> import standout as so
    >>> ds = so.Dataset.from_arrays(["a", "a", "b", "b", "c"], [1, 2, 1, 3, 9])
    >>> so.sparsity(ds).round(3).tolist()
    [0.333, 0.333, 0.0]
    """
    asked = check_records(dataset, records)
    check_channels(dataset, value_within, time_within)
    return nearest(dataset, asked, value_within, time_within, progress=progress).similarity


def check_records(dataset: Dataset, records: Any) -> Array:
    """Record indices as an array, all of them when None; refuse what is out of range."""
    in_memory(dataset, "a search for nearest neighbors")
    if dataset.n_records < 2:
        raise ParameterError("the data holds one record: a nearest neighbor needs at least two")
    if records is None:
        return np.arange(dataset.n_records, dtype=np.int64)
    asked = np.asarray(records).reshape(-1)
    if asked.size == 0:
        raise ParameterError(
            "records is empty: give record indices, or leave it out for all records"
        )
    if asked.dtype.kind not in "iu" or asked.min() < 0 or asked.max() >= dataset.n_records:
        raise ParameterError(
            f"records: give whole numbers from 0 to {dataset.n_records - 1}, the indices of records"
        )
    return asked.astype(np.int64)


def check_channels(
    dataset: Dataset, value_within: float | None, time_within: float | str | None
) -> None:
    """Refuse invalid tolerances and tolerances of a channel that the data does not have."""
    for name, x, there in (
        ("value_within", value_within, dataset.has_value),
        ("time_within", time_within, dataset.has_time),
    ):
        if x is None:
            continue
        if isinstance(x, str):
            days_within(x)
        elif not 0 <= x < np.inf:
            raise ParameterError(f"{name}={x}: use a number ≥ 0, or None to leave the channel out")
        if not there:
            raise ParameterError(
                f"{name}={x}: the data has no {name.split('_')[0]}s; use {name}=None"
            )


def delta_at(similarity: Array, epsilon: float) -> Rate:
    """δ of (ε,δ)-sparsity: share of records with a neighbor more similar than ε, with its interval.

    >>> delta_at(np.array([0.2, 0.6, 0.9, 0.1]), 0.5).rate
    0.5
    """
    # tolerance for rounding: a ratio equal to ε must not count as above it
    return Rate.of(similarity > epsilon + 1e-12)


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """The (ε,δ) curve of one tolerance."""

    words: str
    value_within: float | None
    time_within: float | str | None
    similarity: Array
    """Nearest-neighbor similarity of each measured record."""
    whole: bool
    """Whether every record was measured."""
    agree: Array | None = None
    """Most items of each measured record on which one other record agrees."""

    def delta(self, epsilon: float) -> Rate:
        """Share of records with a neighbor more similar than ε."""
        return delta_at(self.similarity, epsilon)

    def is_sparse(self, epsilon: float, delta: float) -> bool:
        """Whether the data is (ε,δ)-sparse: all records measured, or the one-sided 95 % bound of the sample says so."""
        rate = self.delta(epsilon)
        return (rate.rate if self.whole else at_most(rate.count, rate.n)) <= delta

    @property
    def near_duplicates(self) -> Rate:
        """Records with a neighbor more similar than 0.9."""
        return self.delta(NEAR_DUPLICATE)

    def to_frame(self) -> pd.DataFrame:
        """One row per ε: δ with its interval."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["curve"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the curve, quartiles and near-duplicates."""
        rates = [self.delta(float(x)) for x in CURVE]
        return {
            "similarity": self.words,
            "value_within": self.value_within,
            "time_within": self.time_within,
            "n": int(self.similarity.size),
            "whole": self.whole,
            "quartiles": _quartiles(self.similarity),
            "most": float(self.similarity.max()),
            "near_duplicates": dict(self.near_duplicates),
            "curve": [
                {"epsilon": float(x), "delta": r.rate, "low": r.low, "high": r.high}
                for x, r in zip(CURVE, rates, strict=True)
            ],
        }


def curves(
    dataset: Dataset,
    records: Array,
    value_within: float = 1,
    time_within: float | str = 14,
    progress: Callable[[int], None] | None = None,
) -> list[Curve]:
    """The three curves of Fig. 1 (items; with values; with values and days), as far as the data has the channels."""
    asked: list[tuple[str, float | None, float | str | None]] = [("items", None, None)]
    if dataset.has_value:
        asked.append((f"items, values ±{value_within:g}", value_within, None))
    if dataset.has_time:
        # the last tolerance, and times as well
        words, value, _ = asked[-1]
        times = time_words(time_within, dataset.time_resolution)
        asked.append((f"{words}, {times}", value, time_within))
    whole = records.size == dataset.n_records
    out = []
    for words, v, t in asked:
        check_channels(dataset, v, t)
        # cut=1: agreement counts with every record, whatever its similarity
        near = nearest(dataset, check_records(dataset, records), v, t, cut=1.0, progress=progress)
        out.append(Curve(words, v, t, near.similarity, whole, near.cover))
    return out


def fitting_records(dataset: Dataset, n: int | None, seed: int) -> Array:
    """Records to compare: `n` of them; if None, all if that takes seconds, else 2,000."""
    if n is None:
        events = np.bincount(dataset.record_item, minlength=dataset.n_items)
        n = (
            dataset.n_records
            if float((events * dataset.supports.astype(np.float64)).sum()) <= MOST_POSTINGS
            else SAMPLE
        )
    if n < 1:
        raise ParameterError(f"records={n}: compare at least one record")
    return np.sort(sample_targets(dataset, np.arange(dataset.n_records, dtype=np.int64), n, seed))


def predicted(
    dataset: Dataset, records: Any, curves: list[Curve], missing: tuple[bool, bool]
) -> list[dict[str, Any]]:
    """One entry per curve: how much other records agree, and the resulting share of people found.

    The assumption about the data is measured record by record: how many items of each record
    another record agrees on. The other assumption is about the adversary: the known items are drawn
    uniformly from the record and are exact.

    Parameters
    ----------
    dataset
        The release.
    records
        Indices of the records that the curves measured.
    curves
        Curves that hold their agreements.
    missing
        Whether values, and whether days, are missing somewhere. If a fact has no value, a record
        also fits that does not agree on one, so curves of that channel predict nothing and are left
        out.

    Returns
    -------
    list of dict
        `similarity` (words), `value_within`, `time_within`, `n`, `whole`, `agreement` (quartiles of
        the largest share of a record's items on which one other record agrees) and `found`: rows of
        `knows`, `n`, `at_least`. `at_least` is a mean over all records with that many items, or a
        95 % lower bound of it (Hoeffding) where records were sampled.
    """
    lengths = dataset.lengths[records]
    out = []
    for curve in curves:
        withins = (curve.value_within, curve.time_within)
        unknown = any(within is not None and x for within, x in zip(withins, missing, strict=True))
        if curve.agree is None or unknown:
            continue
        share = curve.agree / np.maximum(lengths, 1)
        rows = []
        for m in ITEMS:
            found = theorem_2_found(curve.agree, lengths, m, dataset.n_records)
            found = found[~np.isnan(found)]
            if found.size:
                slack = 0.0
                if not curve.whole:
                    slack = math.sqrt(-math.log(1 - CONFIDENCE) / (2 * found.size))
                at_least = max(0.0, float(found.mean()) - slack)
                rows.append({"knows": m, "n": int(found.size), "at_least": at_least})
        out.append(
            {
                "theorem": THEOREM,
                "similarity": curve.words,
                "value_within": curve.value_within,
                "time_within": curve.time_within,
                "n": int(lengths.size),
                "whole": curve.whole,
                "agreement": _quartiles(share),
                "found": rows,
            }
        )
    return out


def _quartiles(x: Array) -> list[float]:
    return [float(q) for q in np.quantile(x, [0.25, 0.5, 0.75])]
