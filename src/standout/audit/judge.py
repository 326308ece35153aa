"""`judge`: verdicts against the truth. The only place where the two meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.attacks.attack import Attack
from standout.attacks.verdicts import Verdicts
from standout.audit import calibrate
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.formulas.rates import Rate

Array = npt.NDArray[Any]

KS = (1, 5, 10, 100)
GROUPS = 4


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The answer key: the record behind each query, kept apart from what the adversary sees."""

    target: Array
    calibration: Array
    """Queries on which thresholds and winners are chosen; they are reported on the others."""


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One attack on one adversary's knowledge: answers with the targets present, and with each removed."""

    attack: Attack
    present: Verdicts
    absent: Verdicts

    def right(self, truth: Truth) -> Array:
        """Whether the best record is the target."""
        return np.asarray(self.present.best == truth.target)


def judge(trial: Trial, truth: Truth, dataset: Dataset, rarest: Array | None = None) -> dict[str, Any]:
    """All numbers of one trial, as plain data. No label, no index of a record.

    Parameters
    ----------
    trial, truth, dataset
        Answers, answer key, release.
    rarest
        Per query: how many records hold the rarest of the known items, to group by.
    """
    present, absent = trial.present, trial.absent
    if present.best.size != truth.target.size or absent.best.size != truth.target.size:
        raise ParameterError("verdicts and truth differ in length: every query needs exactly one answer")
    right = trial.right(truth)
    result: dict[str, Any] = {
        "hit": Rate.of(right)._asdict(),
        "matched_right": Rate.of(present.matched & right)._asdict(),
        "matched_wrong": Rate.of(present.matched & ~right)._asdict(),
        "false_match": Rate.of(absent.matched)._asdict(),
        "k_identified": [{"k": k, **Rate.of(present.rank <= k)._asdict()} for k in KS],
        "bits": _bits(present.bits, dataset.n_records),
        "baselines": _baselines(truth, dataset),
        "calibrated": _calibrated(trial, truth, right),
        "by_length": _by_group(right, dataset.lengths[truth.target], "shortest", "longest"),
        "by_rarity": [] if rarest is None else _by_group(right, rarest, "rarest_from", "rarest_to"),
    }
    if trial.attack.lineup:
        result["lineup"] = calibrate.reliability(present.share, right)
    return result


def _bits(bits: Array, n_records: int) -> dict[str, Any] | None:
    known = bits[~np.isnan(bits)]
    if known.size == 0:
        return None
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    return {
        "prior": float(np.log2(n_records)),
        "mean": float(known.mean()),
        "quantiles": [{"level": p, "bits": float(x)} for p, x in zip(levels, np.quantile(known, levels), strict=True)],
    }


def _baselines(truth: Truth, dataset: Dataset) -> dict[str, Any]:
    """Random: any record. Popularity: always the record with most items, whatever is known."""
    heaviest = int(np.argmax(dataset.lengths))
    return {"random": 1.0 / dataset.n_records, "popularity": Rate.of(truth.target == heaviest)._asdict()}


def _calibrated(trial: Trial, truth: Truth, right: Array) -> dict[str, Any] | None:
    """Threshold at equal error on one half; everything that depends on it on the other half."""
    chosen, reported = truth.calibration, ~truth.calibration
    if not chosen.any() or not reported.any():
        return None
    present, absent = trial.present.statistic, trial.absent.statistic
    threshold = calibrate.equal_error(right[chosen], present[chosen], absent[chosen])
    rest = right[reported], present[reported], absent[reported]
    swept = calibrate.sweep(*rest)
    return {
        **calibrate.at_threshold(threshold, *rest),
        "n_calibration": int(chosen.sum()),
        "det": calibrate.det_curve(*rest, swept),
        "true_rate_at": [calibrate.at_false_rate(*rest, f, swept) for f in calibrate.FALSE_RATES],
    }


def _by_group(right: Array, size: Array, low: str, high: str) -> list[dict[str, Any]]:
    """Hit rate by a size of the query, in groups of about equal number; `low` and `high` name the bounds."""
    edges = np.unique(np.quantile(size, np.linspace(0, 1, GROUPS + 1)).astype(np.int64))
    if edges.size == 1:
        edges = np.append(edges, edges[0])
    rows = []
    for k in range(edges.size - 1):
        last = int(edges[k + 1]) if k == edges.size - 2 else int(edges[k + 1]) - 1
        inside = (size >= edges[k]) & (size <= last)
        if inside.any():
            rows.append({low: int(edges[k]), high: last, **Rate.of(right[inside])._asdict()})
    return rows
