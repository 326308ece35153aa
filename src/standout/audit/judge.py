"""`judge`: all numbers about one attack, from its outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.audit import calibrate
from standout.audit.groups import SMALLEST, cut
from standout.data.catalog import Catalog
from standout.experiment.outcomes import Outcomes
from standout.formulas.rates import Rate
from standout.results import Count, Part, Share, optional

KS = (1, 5, 10, 100)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Identified(Rate):
    """Share of people whose record is alone among the first `k`."""

    k: Count
    rate_all: Share
    """As a share of all records."""


@dataclass(frozen=True)
class ByLength(Rate):
    """Hit rate of people whose record holds `shortest` to `longest` items."""

    shortest: Count
    longest: Count


@dataclass(frozen=True)
class ByRarity(Rate):
    """Hit rate of people whose rarest known item is held by `rarest_from` to `rarest_to` records."""

    rarest_from: Count
    rarest_to: Count


@dataclass(frozen=True)
class Quantile(Part):
    """Bits that this share of people do not exceed."""

    level: Share
    bits: float


@dataclass(frozen=True)
class Bits(Part):
    """Remaining uncertainty of the targets that are in the release and among the candidates."""

    n: Count
    prior: float
    """Bits if nothing is known."""
    mean: float
    quantiles: tuple[Quantile, ...]


@dataclass(frozen=True)
class Baselines(Part):
    """Hit rates without knowledge: a random record, and always the record with most items."""

    random: Share
    popularity: Rate


@dataclass(frozen=True)
class Calibrated(calibrate.AtThreshold):
    """Threshold at equal error on one half of the targets; all rates on the other half."""

    n_calibration: Count
    det: tuple[calibrate.ErrorRates, ...]
    """Rates at each threshold."""
    true_rate_at: tuple[calibrate.ErrorRates, ...]
    """Highest true rate for a given false rate."""
    matched_right_all: Share | None = optional()


@dataclass(frozen=True)
class AttackUsed(Part):
    """An attack, its options, and its label, which is unique in an audit."""

    label: str
    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class AttackNumbers(Part):
    """All numbers of one attack."""

    hit: Rate
    """The best record is the target, without threshold; a tie of n records at the top counts 1/n."""
    hit_all: Rate
    """As a share of all records; those that hold too few items count as not found."""
    matched_right: Rate
    """A record was named with the attack's own threshold, and it is right."""
    matched_wrong: Rate
    """A record was named, and it is wrong, although the target is in the data."""
    false_match: Rate
    """A record was named although the target was removed from the data."""
    k_identified: tuple[Identified, ...]
    n_without_candidates: Count | None
    lineup_bits: Bits | None
    """-log2 of the lineup's probability of the target."""
    rank_bits: Bits | None
    """log2 of the target's rank."""
    baselines: Baselines
    calibrated: Calibrated | None
    by_length: tuple[ByLength, ...]
    by_rarity: tuple[ByRarity, ...]
    lineup: calibrate.Reliability | None = optional()


@dataclass(frozen=True, kw_only=True)
class AttackResult(AttackNumbers):
    """An attack and its numbers."""

    attack: AttackUsed


def judge(
    outcomes: Outcomes,
    calibration: Array,
    release: Catalog,
    lengths: Array | None = None,
    rarest: Array | None = None,
    eligible_share: float = 1.0,
) -> AttackNumbers:
    """All numbers of one attack. No label, no index of a record.

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
    return AttackNumbers(
        hit=hit,
        hit_all=hit.of_all(eligible_share),
        matched_right=Rate.of(outcomes.matched * credit),
        matched_wrong=Rate.of(outcomes.matched * (1.0 - credit)),
        false_match=Rate.of(outcomes.absent_matched),
        k_identified=tuple(_identified(ranks, k, eligible_share) for k in KS),
        n_without_candidates=int((outcomes.n_candidates == 0).sum()),
        lineup_bits=_bits(outcomes.bits, release.n_records),
        rank_bits=_bits(outcomes.rank_bits, release.n_records),
        baselines=_baselines(outcomes.target, release),
        calibrated=_calibrated(outcomes, calibration, eligible_share),
        by_length=tuple(
            ByLength(**hits, shortest=low, longest=high)
            for hits, low, high in _groups(credit, lengths)
        ),
        by_rarity=tuple(
            ByRarity(**hits, rarest_from=low, rarest_to=high)
            for hits, low, high in _groups(credit, rarest)
        ),
        lineup=calibrate.reliability(outcomes.share, credit) if outcomes.has_lineup else None,
    )


def _identified(ranks: Array, k: int, eligible_share: float) -> Identified:
    rate = Rate.of((ranks > 0) & (ranks <= k))
    return Identified(**rate, k=k, rate_all=rate.of_all(eligible_share).rate)


def _bits(bits: Array, n_records: int) -> Bits | None:
    """Mean and quantiles over the targets that are in the release and among the candidates."""
    known = bits[~np.isnan(bits)]
    if known.size == 0:
        return None
    return Bits(
        n=int(known.size),
        prior=float(np.log2(n_records)),
        mean=float(known.mean()),
        quantiles=tuple(map(Quantile, LEVELS, np.quantile(known, LEVELS).tolist())),
    )


def _baselines(target: Array, release: Catalog) -> Baselines:
    """Random: any record. Popularity: always the record with most items (a random one if several tie)."""
    credit = (release.lengths_of(target) == release.longest) / release.length_counts[-1]
    return Baselines(1.0 / release.n_records, Rate.of(credit))


def _calibrated(outcomes: Outcomes, calibration: Array, eligible_share: float) -> Calibrated | None:
    """Threshold at equal error on one half; everything that depends on it on the other half."""
    chosen, reported = calibration, ~calibration
    if not chosen.any() or not reported.any():
        return None
    credit, present, absent = outcomes.credit, outcomes.statistic, outcomes.absent_statistic
    threshold = calibrate.equal_error(credit[chosen], present[chosen], absent[chosen])
    rest = credit[reported], present[reported], absent[reported]
    swept = calibrate.sweep(*rest)
    found = calibrate.at_threshold(threshold, *rest)
    return Calibrated(
        **found,
        matched_right_all=found.matched_right.rate * eligible_share,
        n_calibration=int(chosen.sum()),
        det=calibrate.det_curve(*rest, swept),
        true_rate_at=tuple(calibrate.at_false_rate(*rest, f, swept) for f in calibrate.FALSE_RATES),
    )


def _groups(credit: Array, size: Array | None) -> Iterator[tuple[Rate, int, int]]:
    """Hit rate by a size of the query, with the smallest and the largest size of each group; nothing without sizes."""
    if size is None:
        return
    low = int(size.min())
    for high in cut(size, SMALLEST):
        inside = (size >= low) & (size <= high)
        if inside.any():
            yield Rate.of(credit[inside]), low, high
        low = high + 1
