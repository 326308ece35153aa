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
LENGTH_GROUPS = 4


@dataclass(frozen=True, eq=False)
class Truth:
    """The answer key: the record behind each query, kept apart from what the adversary sees."""

    target: Array
    calibration: Array
    """Queries on which thresholds and winners are chosen; they are reported on the others."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One attack on one adversary's knowledge: answers with the targets present, and with each removed."""

    attack: Attack
    present: Verdicts
    absent: Verdicts

    def right(self, truth: Truth) -> Array:
        """Whether the best record is the target."""
        return np.asarray(self.present.best == truth.target)


def judge(trial: Trial, truth: Truth, dataset: Dataset) -> dict[str, Any]:
    """All numbers of one trial, as plain data. No label, no index of a record."""
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
        "by_length": _by_length(right, dataset.lengths[truth.target]),
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
    return {
        **calibrate.at_threshold(threshold, *rest),
        "n_calibration": int(chosen.sum()),
        "det": calibrate.det_curve(*rest),
        "true_rate_at": [calibrate.at_false_rate(*rest, f) for f in calibrate.FALSE_RATES],
    }


def _by_length(right: Array, lengths: Array) -> list[dict[str, Any]]:
    """Hit rate by record length, in groups of about equal size."""
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, LENGTH_GROUPS + 1)).astype(np.int64))
    if edges.size == 1:
        edges = np.append(edges, edges[0])
    rows = []
    for k in range(edges.size - 1):
        last = k == edges.size - 2
        high = int(edges[k + 1]) if last else int(edges[k + 1]) - 1
        inside = (lengths >= edges[k]) & (lengths <= high)
        if inside.any():
            rows.append({"shortest": int(edges[k]), "longest": high, **Rate.of(right[inside])._asdict()})
    return rows
