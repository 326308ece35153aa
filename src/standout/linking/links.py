"""`Links`: who of a second file is which record of the release, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.errors import ParameterError
from standout.formulas.spacing import benjamini_hochberg
from standout.linking.findings import LinkFindings
from standout.linking.noise import LinkNoise

if TYPE_CHECKING:
    import pandas as pd


RULES = ("spacing", "posterior")


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """Answers for every person of the second file. Made by `standout.link`.

    Arrays have one element per query, in the order of the second file's people. Labels and record
    indices are shown nowhere unless they are asked for: `to_frame()`, `save` and the notebook view
    give aggregates.
    """

    best: Array
    """Record index, -1 = nobody."""
    posterior: Array
    """P(`best` is the person's record), calibrated by the spacing test; one-to-one if that was asked for."""
    p: Array
    """p-value of the spacing test that the best record is unrelated, corrected if absent canaries have too small ones; NaN where
    the test does not apply."""
    model_posterior: Array
    """P(best record is the person's) by the likelihood alone: too sure where people's items go together."""
    n_facts: Array
    """Facts about items that the release holds."""
    candidates: Array
    """(queries, k): records that score highest, -1 = none."""
    chances: Array
    """(queries, k): their probabilities one by one."""
    one_to_one: bool
    noise: LinkNoise
    expected_links: float
    """Expected number of queries whose `best` is right."""
    interval: tuple[float, float]
    """95 % interval of that number."""
    details: Mapping[str, Any]
    """Numbers of the run: data, canaries, one-to-one, warnings."""
    queries: Array
    """Label of each query."""
    record_labels: Array
    assigned: Array
    """Record of the best hard assignment with each record used once, -1 = none; empty unless one-to-one was asked for."""

    @property
    def n_queries(self) -> int:
        """Number of people in the second file."""
        return int(self.best.size)

    @property
    def refused(self) -> Array:
        """Queries that the spacing test does not apply to: too few candidates, or scores on a lattice."""
        return np.isnan(self.p)

    def accepted(self, fdr: float = 0.05, rule: str = "spacing") -> Array:
        """Mask of the links that are accepted at this false discovery rate.

        Parameters
        ----------
        fdr
            Largest expected share of wrong links among the accepted ones.
        rule
            "spacing": Benjamini–Hochberg on the p-values of the spacing test; refused queries are
            never accepted. "posterior": links with a posterior of at least 1 - `fdr`. It relies on
            the fitted share of found queries; where the test does not apply, on the likelihood.
        """
        if not 0 < fdr < 1:
            raise ParameterError(f"fdr={fdr}: use a number between 0 and 1")
        if rule not in RULES:
            raise ParameterError(f"rule={rule!r}: use {' or '.join(repr(r) for r in RULES)}")
        if not self.n_queries:
            return np.zeros(0, np.bool_)
        named = self.best >= 0
        if rule == "spacing":
            # one-to-one may name another record than the one that the test is about
            about = np.where(self.best != self.candidates[:, 0], np.nan, self.p)
            return np.asarray(named & (benjamini_hochberg(about) <= fdr))
        return np.asarray(named & (self.posterior >= 1 - fdr))

    @property
    def findings(self) -> LinkFindings:
        """The numbers without labels, as written to JSON and shown in the report."""
        return LinkFindings.of(self)

    def to_frame(self, labels: bool = False) -> pd.DataFrame:
        """Aggregates by number of known items, as a pandas frame; with `labels`, one row per person with both labels."""
        import pandas as pd

        if not labels:
            return self.findings.to_frame()
        label = [self.record_labels[r] if r >= 0 else None for r in self.best.tolist()]
        columns = {
            "person": self.queries,
            "record": pd.Series(label, dtype=object),
            "posterior": self.posterior,
            "p": self.p,
            "facts": self.n_facts,
            "accepted_5": self.accepted(0.05),
            "accepted_1": self.accepted(0.01),
        }
        return pd.DataFrame(columns)

    def save(self, path: str | Path) -> Path:
        """Write the aggregates as JSON; `LinkFindings.load` reads them."""
        return self.findings.save(path)

    def __str__(self) -> str:
        return str(self.findings)

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()

    def __repr__(self) -> str:
        return (
            f"<Links of {self.n_queries:,} people: {self.expected_links:,.0f} expected to be right>"
        )
