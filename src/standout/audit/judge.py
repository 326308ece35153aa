"""`judge`: compare verdicts with the truth. No other module uses both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.adversary.choosing import starts
from standout.attacks.attack import Attack
from standout.attacks.verdicts import Verdicts
from standout.audit import calibrate
from standout.audit.groups import SMALLEST, cut
from standout.data.catalog import Catalog
from standout.data.purposes import PURPOSE_SPLIT
from standout.errors import ParameterError
from standout.formulas.rates import Rate

Array = npt.NDArray[Any]

KS = (1, 5, 10, 100)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The answer key: the record behind each query, kept separate from the knowledge."""

    target: Array
    """Record index in the release, -1 where the person is not in the release and can never be found."""
    calibration: Array
    """Queries on which thresholds and the strongest attack are chosen; rates are reported on the others."""

    @classmethod
    def of(cls, persons: Array, place: Array | None, keys: Array, seed: int) -> Truth:
        """Answer key for these records of the source; half of them, chosen by hash, are for calibration.

        Parameters
        ----------
        persons
            Record indices in the source, one per query.
        place
            Record index in the release of every record of the source, -1 = none; None where both
            are the same data.
        keys
            Keys of these records, from which their random draws start.
        seed
            Random seed.
        """
        order = np.argsort(starts(np.uint64(seed % 2**64), PURPOSE_SPLIT, keys), kind="stable")
        calibration = np.zeros(persons.size, np.bool_)
        calibration[order[: persons.size // 2]] = True
        return cls(persons if place is None else place[persons], calibration)


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One attack on one adversary's knowledge: answers with the targets present, and with each removed."""

    attack: Attack
    present: Verdicts
    absent: Verdicts

    def credit(self, truth: Truth) -> Array:
        """Credit of each answer: 1/(records tied at the top) if the target is one of them, else 0."""
        found = np.asarray(self.present.credit, dtype=np.float64)
        if np.isnan(found[truth.target >= 0]).any():
            raise ParameterError(
                "the targets were not watched: run the attack with watch=truth.target"
            )
        return np.where(truth.target >= 0, found, 0.0)


def judge(
    trial: Trial,
    truth: Truth,
    release: Catalog,
    lengths: Array | None = None,
    rarest: Array | None = None,
    eligible_share: float = 1.0,
) -> dict[str, Any]:
    """All numbers of one trial, as plain data. No label, no index of a record.

    Parameters
    ----------
    trial, truth, release
        Answers, answer key, the data that was attacked.
    lengths
        Per query: number of items in the person's record, to group by.
    rarest
        Per query: how many records of the release hold the rarest of the known items, to group by.
    eligible_share
        Share of all records that could be targets; in rates of all records the others count as not
        found.
    """
    present, absent = trial.present, trial.absent
    if present.best.size != truth.target.size or absent.best.size != truth.target.size:
        raise ParameterError(
            "verdicts and truth differ in length: every query needs exactly one answer"
        )
    credit = trial.credit(truth)
    hit = Rate.of(credit)
    ranks = _ranks(trial, truth)
    result: dict[str, Any] = {
        "hit": hit._asdict(),
        "hit_all": hit.of_all(eligible_share)._asdict(),
        "matched_right": Rate.of(present.matched * credit)._asdict(),
        "matched_wrong": Rate.of(present.matched * (1.0 - credit))._asdict(),
        "false_match": Rate.of(absent.matched)._asdict(),
        "k_identified": [_identified(ranks, k, eligible_share) for k in KS],
        "n_without_candidates": int((present.n_candidates == 0).sum()),
        "lineup_bits": _bits(present.bits, release.n_records),
        "rank_bits": _bits(
            np.where(ranks > 0, np.log2(np.maximum(ranks, 1)), np.nan), release.n_records
        ),
        "baselines": _baselines(truth, release),
        "calibrated": _calibrated(trial, truth, credit, eligible_share),
        "by_length": [] if lengths is None else _by_group(credit, lengths, "shortest", "longest"),
        "by_rarity": []
        if rarest is None
        else _by_group(credit, rarest, "rarest_from", "rarest_to"),
    }
    if trial.attack.lineup:
        result["lineup"] = calibrate.reliability(present.share, credit)
    return result


def _ranks(trial: Trial, truth: Truth) -> Array:
    """Rank of the target among the candidates, ties counted against the attacker; 0 = it is not one of them.

    A filter may leave out the target, or leave no candidate at all: such a query identifies nobody.
    """
    rank = trial.present.rank
    return np.where((truth.target >= 0) & (rank <= trial.present.n_candidates), rank, 0)


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


def _baselines(truth: Truth, release: Catalog) -> dict[str, Any]:
    """Random: any record. Popularity: always the record with most items (a random one if several tie)."""
    credit = (release.lengths_of(truth.target) == release.longest) / release.length_counts[-1]
    return {"random": 1.0 / release.n_records, "popularity": Rate.of(credit)._asdict()}


def _calibrated(
    trial: Trial, truth: Truth, credit: Array, eligible_share: float
) -> dict[str, Any] | None:
    """Threshold at equal error on one half; everything that depends on it on the other half."""
    chosen, reported = truth.calibration, ~truth.calibration
    if not chosen.any() or not reported.any():
        return None
    present, absent = trial.present.statistic, trial.absent.statistic
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
