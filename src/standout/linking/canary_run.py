"""What the attack says of the canaries: recall, and false matches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.formulas.rates import Rate
from standout.formulas.spacing import benjamini_hochberg
from standout.linking.attack import LinkLikelihood, options
from standout.linking.canaries import Canaries
from standout.linking.fitted import N_CANDIDATES
from standout.linking.groups import TopScores
from standout.linking.score import candidates


class CanaryRun(NamedTuple):
    """Canaries, and what the attack said of them."""

    planted: Canaries
    top: TopScores

    @property
    def null_mean(self) -> float:
        """Mean of -log p of absent canaries, at least 1."""
        use = self.top.applies & self.planted.is_absent
        return max(1.0, float(-np.log(self.top.p[use]).mean())) if use.sum() >= 20 else 1.0

    @property
    def false_share(self) -> Rate:
        """Absent canaries with p ≤ 5 %."""
        return Rate.of(self.top.p[self.planted.is_absent] <= 0.05)

    def present(self) -> tuple[Array, Array]:
        """Number of facts of each present canary, and whether it is found."""
        here = ~self.planted.is_absent
        return np.diff(self.planted.knowledge.query_ptr)[here], (
            self.top.record[:, 0] == self.planted.record
        )[here]

    def report(self, real: Array, null_mean: float) -> dict[str, Any]:
        """Recall and false matches at the cuts that the p-values of the real queries give.

        Parameters
        ----------
        real
            p-values of the real queries.
        null_mean
            Mean of -log p of absent people that these were corrected for.
        """
        p = np.nan_to_num(self.top.p, nan=1.0) ** (1.0 / null_mean)
        absent, right = self.planted.is_absent, self.top.record[:, 0] == self.planted.record
        adjusted = benjamini_hochberg(real)
        rows = []
        for fdr in (0.01, 0.05):
            cut = float(real[adjusted <= fdr].max(initial=0.0))
            rows.append(
                {
                    "fdr": fdr,
                    "p_cut": cut,
                    "recall": Rate.of((right & (p <= cut))[~absent])._asdict(),
                    "false": Rate.of((p <= cut)[absent])._asdict(),
                }
            )
        return {
            "n_present": int((~absent).sum()),
            "n_absent": int(absent.sum()),
            "found": Rate.of(right[~absent])._asdict(),
            "absent_below_5": self.false_share._asdict(),
            "null_mean": self.null_mean,
            "cuts": rows,
        }


def run_canaries(
    dataset: Dataset, attack: LinkLikelihood, planted: Canaries, engine: Any
) -> CanaryRun:
    """Score the canaries like the queries of the second file."""
    own = options(attack, own=False)
    found = candidates(
        dataset, planted.knowledge, own, N_CANDIDATES, engine, exclude=planted.exclude
    )
    return CanaryRun(planted, TopScores.of(*found, np.diff(planted.knowledge.query_ptr)))
