"""`Outcome`: the result of an engine. `Verdicts`: the answers of an attack."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.formulas.ns08 import bits_left, eccentricity
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan, Tie

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """Partials of the whole release, and the plan that reads them."""

    plan: Plan
    partials: Partials
    n_records: Array
    """Per query: records in the release, the excluded one not counted."""
    beta: Array | None = None
    mass: Array | None = None
    """Σ exp(beta · (score - best score)) over all candidates."""

    @property
    def score(self) -> Array:
        """Score of the best record, NaN if there is no candidate."""
        return np.where(
            self.partials.best_score == LOWEST, np.nan, self.plan.score(self.partials.best_score)
        )

    @property
    def second(self) -> Array:
        """Score of the second best, NaN if there is none."""
        return np.where(
            self.partials.second_score == LOWEST,
            np.nan,
            self.plan.score(self.partials.second_score),
        )

    @property
    def sigma(self) -> Array:
        """Standard deviation of the scores of all candidates."""
        return self.partials.sigma() / self.plan.scale

    @property
    def eccentricity(self) -> Array:
        """(max - max2) / σ; integers are subtracted, so that a tie is exactly 0."""
        second = np.where(
            self.partials.second_score == LOWEST,
            self.partials.best_score,
            self.partials.second_score,
        )
        return eccentricity(self.partials.best_score, second, self.partials.sigma())


@dataclass(frozen=True, eq=False, repr=False)
class Verdicts:
    """One answer per query: the best record, how far it stands out, and whether the attack names it."""

    best: Array
    """Record index. If records tie (`n_tied`), the lower index, or the one chosen by the attack's tie rule."""
    score: Array
    second: Array
    runner_up: Array
    """Record index of the second best."""
    sigma: Array
    eccentricity: Array
    statistic: Array
    """Statistic that the attack's criterion compares with its threshold."""
    matched: Array
    n_candidates: Array
    n_matching: Array
    """Candidates in the matching set, for attacks that have one."""
    share: Array
    """Π(best), NaN for attacks without a lineup."""
    rank: Array
    """Candidates with at least the score of the watched record, itself included; 0 = not watched."""
    bits: Array
    """Bits left for the watched record, NaN = not watched or no lineup."""
    absent: Array
    """P(target not in the release), NaN for attacks without a model."""
    posterior: Array
    """P(the best record is the target), where the target may be absent; NaN for attacks without a model."""
    presence_error: Array
    """Standard error of logit P(present), from the calibration on canaries; 0 = not calibrated."""
    n_tied: Array
    """Candidates tied at the top, by score and by the attack's own tie rule if it has one; 0 = no candidate."""
    credit: Array
    """Credit of the answer for the watched record: 1/`n_tied` if it is tied at the top, else 0; NaN = not watched."""
    spacing: Array
    """p-value of the spacing test that the target is absent; NaN if it does not apply."""

    @property
    def answer(self) -> Array:
        """The named record, -1 (⊥) if none is named."""
        return np.where(self.matched, self.best, -1)

    @classmethod
    def of(
        cls,
        seen: Outcome,
        statistic: Array,
        matched: Array,
        watch: Array,
        watched: Array,
        watched_length: Array,
        lineup: bool,
        posterior: Array,
        absent: Array,
        presence_error: Array,
        spacing: Array,
    ) -> Verdicts:
        """Turn an outcome into verdicts.

        Parameters
        ----------
        seen, statistic, matched
            The engine's outcome, and the result of the attack's criterion.
        watch, watched, watched_length
            One record per query (-1 = none), its integer score (`LOWEST` = no candidate) and its
            number of items.
        lineup
            Whether to compute the distribution over the records.
        posterior, absent, presence_error, spacing
            As in the fields of those names.
        """
        p, n = seen.partials, seen.plan.n_queries
        is_watched = watch >= 0
        share = np.full(n, np.nan)
        bits = np.full(n, np.nan)
        if lineup and seen.mass is not None and seen.beta is not None:
            share = np.where(p.n > 0, 1.0 / np.maximum(seen.mass, 1.0), 0.0)
            log_share = seen.beta * (watched - p.best_score) - np.log(np.maximum(seen.mass, 1.0))
            in_lineup = is_watched & (watched > LOWEST)
            outside = np.where(is_watched, bits_left(0.0, seen.n_records), np.nan)
            bits = np.where(in_lineup, np.maximum(-log_share / np.log(2.0), 0.0), outside)
        elif lineup:
            share = np.where(p.n_cut > 0, 1.0 / np.maximum(p.n_cut, 1), 0.0)
            inside = is_watched & (watched >= seen.plan.tables.query.cut)
            bits = np.where(
                is_watched, bits_left(np.where(inside, share, 0.0), seen.n_records), np.nan
            )
        # a filter may exclude the watched record: it then ranks after every candidate
        rank = np.where(watched > LOWEST, p.n_watch, p.n + 1)
        on_top = is_watched & (watched > LOWEST) & (watched == p.best_score)
        if seen.plan.tie == Tie.SHORT:
            on_top &= watched_length == p.best_key
        return cls(
            best=p.best,
            score=seen.score,
            second=seen.second,
            runner_up=p.second,
            sigma=seen.sigma,
            eccentricity=seen.eccentricity,
            statistic=statistic,
            matched=matched & (p.n > 0),
            n_candidates=p.n,
            n_matching=p.n_cut,
            share=share,
            rank=np.where(is_watched, rank, 0),
            bits=bits,
            absent=absent,
            posterior=posterior,
            presence_error=presence_error,
            n_tied=p.n_top,
            spacing=spacing,
            credit=np.where(
                is_watched, np.where(on_top, 1.0 / np.maximum(p.n_top, 1), 0.0), np.nan
            ),
        )

    @classmethod
    def concatenate(cls, parts: list[Verdicts]) -> Verdicts:
        """Verdicts of several batches, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def to_frame(self) -> pd.DataFrame:
        """One row per query, as a pandas frame; record indices, no labels."""
        import pandas as pd

        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})

    def _repr_html_(self) -> str:
        """For notebooks: counts of the answers; a row per query is in `to_frame`."""
        n, named = self.best.size, int(self.matched.sum())
        rows = {
            "queries": f"{n:,}",
            "answered": f"{named:,}",
            "nobody named": f"{n - named:,}",
            "median eccentricity": f"{np.median(self.eccentricity):.2f}" if n else "–",
        }
        if n and not np.isnan(self.posterior).all():
            rows["mean posterior of the best record"] = f"{np.nanmean(self.posterior):.3f}"
        cells = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in rows.items())
        return f"<table>{cells}</table>"

    def __repr__(self) -> str:
        return f"<Verdicts on {self.best.size:,} queries, {int(self.matched.sum()):,} matched>"
