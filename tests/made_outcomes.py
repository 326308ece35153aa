"""Outcomes with chosen arrays, for tests of what is computed from them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from standout.experiment.outcomes import Outcomes


def made_outcomes(credit: Any, **arrays: Any) -> Outcomes:
    """Outcomes with these credits; every array that is not given is neutral."""
    credit = np.asarray(credit, float)
    n = credit.size
    neutral = {
        "target": np.zeros(n, int),
        "on_top": credit > 0,
        "n_tied": np.rint(1 / np.where(credit > 0, credit, 1.0)).astype(int),
        "rank": np.ones(n, int),
        "n_candidates": np.full(n, 1000),
        "matched": np.ones(n, bool),
        "absent": np.zeros(n),
        "presence_error": np.zeros(n),
        "absent_matched": np.zeros(n, bool),
        "pick": np.zeros(n),
    }
    names = [f.name for f in fields(Outcomes) if f.name != "prior"]
    given = {**neutral, **{k: np.asarray(v) for k, v in arrays.items()}}
    return Outcomes(**{k: given.get(k, np.full(n, np.nan)) for k in names})
