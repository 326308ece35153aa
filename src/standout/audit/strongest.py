"""The strongest attacker: chosen on one half of the targets, reported on the other."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from standout.audit.judge import Trial, Truth
from standout.formulas.rates import Z_95, Rate, mcnemar

Array = npt.NDArray[Any]

REFERENCE = "scoreboard-rh"


def strongest(trials: dict[str, Trial], truth: Truth) -> dict[str, Any] | None:
    """Winner of a panel by hits on the calibration half, its rate on the other half, and its lead over Scoreboard-RH.

    Parameters
    ----------
    trials
        One trial per attack label, all on the same targets and draws.
    truth
        The answer key.
    """
    chosen, reported = truth.calibration, ~truth.calibration
    if not chosen.any() or not reported.any():
        return None
    right = {label: trial.right(truth) for label, trial in trials.items()}
    # a tie goes to the attack with fewer false matches, then to the one named first
    winner = max(right, key=lambda label: (int(right[label][chosen].sum()), -_false_matches(trials[label], chosen)))
    row: dict[str, Any] = {
        "attack": winner,
        "n_attacks": len(trials),
        "hit": Rate.of(right[winner][reported])._asdict(),
    }
    if REFERENCE in right:
        row["versus"] = {"attack": REFERENCE, **paired(right[winner][reported], right[REFERENCE][reported])}
    return row


def _false_matches(trial: Trial, chosen: Array) -> int:
    """Queries of the calibration half that are answered though the target is absent."""
    return int(trial.absent.matched[chosen].sum())


def paired(first: Array, second: Array) -> dict[str, Any]:
    """Difference of two hit rates on the same targets, with an exact McNemar test and a 95 % interval."""
    b, c, n = int((first & ~second).sum()), int((second & ~first).sum()), int(first.size)
    difference = (b - c) / n
    # variance of a paired difference: ((b + c) - (b - c)²/n) / n²
    half = Z_95 * math.sqrt(max(b + c - (b - c) ** 2 / n, 0.0)) / n
    return {
        "n": n,
        "only_first": b,
        "only_second": c,
        "difference": difference,
        "low": max(-1.0, difference - half),
        "high": min(1.0, difference + half),
        "p_value": mcnemar(b, c),
    }
