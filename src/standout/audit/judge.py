"""`judge`: all numbers about one attack, from its outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.audit import calibrate
from standout.audit.groups import SMALLEST, cut
from standout.data.catalog import Catalog
from standout.experiment.outcomes import Outcomes
from standout.formulas.rates import Rate

KS = (1, 5, 10, 100)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def judge(
    outcomes: Outcomes,
    calibration: Array,
    release: Catalog,
    lengths: Array | None = None,
    rarest: Array | None = None,
    eligible_share: float = 1.0,
) -> dict[str, Any]:
    """All numbers of one attack, as plain data. No label, no index of a record.

    Parameters
    ----------
    outcomes
        What became of each target, with its record present and removed.
    calibration
        bool: queries on which thresholds are chosen; what depends on them is reported on the others.
    release
        The data that was attacked.
    lengths
        Per query: number of items in the person's record, to group by.
    rarest
        Per query: how many records of the release hold the rarest of the known items, to group by.
    eligible_share
        Share of all records that could be targets; in rates of all records the others count as not
        found.
    """
    credit, ranks = outcomes.credit, np.where(outcomes.is_candidate, outcomes.rank, 0)
    hit = Rate.of(credit)
    result: dict[str, Any] = {
        "hit": hit._asdict(),
        "hit_all": hit.of_all(eligible_share)._asdict(),
        "matched_right": Rate.of(outcomes.matched * credit)._asdict(),
        "matched_wrong": Rate.of(outcomes.matched * (1.0 - credit))._asdict(),
        "false_match": Rate.of(outcomes.absent_matched)._asdict(),
        "k_identified": [_identified(ranks, k, eligible_share) for k in KS],
        "n_without_candidates": int((outcomes.n_candidates == 0).sum()),
        "lineup_bits": _bits(outcomes.bits, release.n_records),
        "rank_bits": _bits(outcomes.rank_bits, release.n_records),
        "baselines": _baselines(outcomes.target, release),
        "calibrated": _calibrated(outcomes, calibration, eligible_share),
        "by_length": [] if lengths is None else _by_group(credit, lengths, "shortest", "longest"),
        "by_rarity": []
        if rarest is None
        else _by_group(credit, rarest, "rarest_from", "rarest_to"),
    }
    if outcomes.has_lineup:
        result["lineup"] = calibrate.reliability(outcomes.share, credit)
    return result


def _identified(ranks: Array, k: int, eligible_share: float) -> dict[str, Any]:
    rate = Rate.of((ranks > 0) & (ranks <= k))
    return {"k": k, **rate._asdict(), "rate_all": rate.of_all(eligible_share).rate}


def _bits(bits: Array, n_records: int) -> dict[str, Any] | None:
    """Mean and quantiles over the targets that are in the release and among the candidates."""
    known = bits[~np.isnan(bits)]
    if known.size == 0:
        return None
    return {
        "n": int(known.size),
        "prior": float(np.log2(n_records)),
        "mean": float(known.mean()),
        "quantiles": [
            {"level": p, "bits": float(x)}
            for p, x in zip(LEVELS, np.quantile(known, LEVELS), strict=True)
        ],
    }


def _baselines(target: Array, release: Catalog) -> dict[str, Any]:
    """Random: any record. Popularity: always the record with most items (a random one if several tie)."""
    credit = (release.lengths_of(target) == release.longest) / release.length_counts[-1]
    return {"random": 1.0 / release.n_records, "popularity": Rate.of(credit)._asdict()}


def _calibrated(
    outcomes: Outcomes, calibration: Array, eligible_share: float
) -> dict[str, Any] | None:
    """Threshold at equal error on one half; everything that depends on it on the other half."""
    chosen, reported = calibration, ~calibration
    if not chosen.any() or not reported.any():
        return None
    credit, present, absent = outcomes.credit, outcomes.statistic, outcomes.absent_statistic
    threshold = calibrate.equal_error(credit[chosen], present[chosen], absent[chosen])
    rest = credit[reported], present[reported], absent[reported]
    swept = calibrate.sweep(*rest)
    found = calibrate.at_threshold(threshold, *rest)
    return {
        **found,
        "matched_right_all": found["matched_right"]["rate"] * eligible_share,
        "n_calibration": int(chosen.sum()),
        "det": calibrate.det_curve(*rest, swept),
        "true_rate_at": [calibrate.at_false_rate(*rest, f, swept) for f in calibrate.FALSE_RATES],
    }


def _by_group(credit: Array, size: Array, low: str, high: str) -> list[dict[str, Any]]:
    """Hit rate by a size of the query, in groups; `low` and `high` name the bounds."""
    ends = cut(size, SMALLEST)
    first_of = [int(size.min()), *(end + 1 for end in ends[:-1])]
    groups = [(lo, hi, (size >= lo) & (size <= hi)) for lo, hi in zip(first_of, ends, strict=True)]
    return [
        {low: lo, high: hi, **Rate.of(credit[inside])._asdict()}
        for lo, hi, inside in groups
        if inside.any()
    ]
