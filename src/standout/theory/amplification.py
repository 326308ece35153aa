"""Amplification (DSS12, Theorem 3): what a match reveals about the rest of a record, even if it is the wrong record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.choosing import starts
from standout.adversary.knowledge import Knowledge
from standout.adversary.sampling import sample, sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.purposes import PURPOSE_RUN
from standout.engines.engine import Engine
from standout.engines.engine import engine as find_engine
from standout.errors import ParameterError
from standout.formulas import dss12
from standout.formulas.rates import Z_95
from standout.scoring.plan import Combine
from standout.scoring.tasks import FindAbove
from standout.theory.certificates import (
    fitting_t_for_shares,
    no_eligible_record,
    rare_adversary,
    with_rare_share,
)
from standout.theory.pairs import Learned, learn, pair_s

if TYPE_CHECKING:
    import pandas as pd


PER_RUN, RUNS = 50, 60
"""n and the number of runs of Algorithm 3."""


MOST_SCORES = 2**24
"""Scores that are held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Theorem3:
    """Theorem 3 compared with the measurement, for one share of rare items."""

    eta1: float
    n_eligible: int
    l2: float
    """Least l2 over the queries: f_D is taken there, so that it holds for each of them."""
    l2_mean: float
    eta3: float
    guarantee: float
    """f_D(l1, l2, η3)."""
    measured: float
    """Share of queries with S(y, o) ≥ guarantee; the theorem says at least η3."""
    violations: int
    """Queries with S(aux, o) below their l2. The proof allows none: anything above 0 is a bug."""
    learned: Learned

    @classmethod
    def of(
        cls,
        eta1: float,
        n_eligible: int,
        l2: Array,
        eta3: float,
        guarantee: float,
        learned: Learned,
    ) -> Theorem3:
        """Compare the guarantee with what was learned from the matches; `l2` is that of each query."""
        measured = float((learned.similarity >= guarantee - 1e-9).mean())
        violations = int((learned.known_similarity < l2 - 1e-6).sum())
        least, mean = float(l2.min()), float(l2.mean())
        return cls(eta1, n_eligible, least, mean, eta3, guarantee, measured, violations, learned)


@dataclass(frozen=True, eq=False, repr=False)
class Amplification:
    """f_D over (η1, η2, η3), Theorem 3, and how much of the unknown a match reveals."""

    knows: int
    gamma: float
    t: float
    eta1: Array
    eta2: Array
    eta3: Array
    f: Array
    """(η1, η2, η3): mean over the runs; NaN where no record has that share of rare items."""
    spread: Array
    """Half width of the 95 % interval of that mean over the runs."""
    nobody_similar: Array
    """(η1, η2): share of draws where no record reached S(aux, r) ≥ η2; they count as k = 1."""
    theorem_3: tuple[Theorem3, ...]
    scalar: bool

    def __float__(self) -> float:
        if not self.scalar:
            raise TypeError("f_D was computed at several points: use .f or .to_frame()")
        return float(self.f[0, 0, 0])

    def to_frame(self) -> pd.DataFrame:
        """One row per (η1, η2, η3)."""
        import pandas as pd

        return pd.DataFrame(self._points())

    def _points(self) -> list[dict[str, Any]]:
        rows = []
        for a, b, c in np.ndindex(self.f.shape):
            f, half = float(self.f[a, b, c]), float(self.spread[a, b, c])
            found = {
                "f": f,
                "low": max(0.0, f - half),
                "high": min(1.0, f + half),
                "nobody_similar": float(self.nobody_similar[a, b]),
            }
            row = {
                "eta1": float(self.eta1[a]),
                "eta2": float(self.eta2[b]),
                "eta3": float(self.eta3[c]),
                **(found if np.isfinite(f) else dict.fromkeys(found)),
            }
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        theorem = [{**vars(x), "learned": x.learned.to_dict()} for x in self.theorem_3]
        return {
            "knows": self.knows,
            "gamma": self.gamma,
            "t": self.t,
            "surface": self._points(),
            "theorem_3": theorem,
        }

    def __repr__(self) -> str:
        return f"<Amplification: f_D at {self.f.size} points, knows={self.knows}, gamma={self.gamma:g}, t={self.t:.4g}>"


def amplification(
    dataset: Dataset,
    knows: int = 10,
    gamma: float = 0.1,
    t: float | None = None,
    eta1: Any = 0.8,
    eta2: Any = 0.75,
    eta3: Any = 0.9,
    seed: int = 0,
    *,
    per_run: int = PER_RUN,
    runs: int = RUNS,
    engine: str | Engine = "memory",
    progress: Callable[[int, int], None] | None = None,
) -> Amplification:
    """f_D(η1, η2, η3): how similar to the target all records are that are similar to the knowledge (Algorithm 3).

    Each run draws targets and knowledge with a share η1 of rare items, takes k = min{ S(y,r) :
    S(aux,r) ≥ η2 } of each, and of those the (1-η3) quantile; f_D is the mean over the runs. The
    target is among the r; where no record reaches η2 the claim is empty and k = 1.

    Parameters
    ----------
    dataset
        The release.
    knows, gamma
        m items, values moved by up to gamma × (range of the scale).
    t
        Items with 1/log2|supp| ≥ t are rare. Default: a t that fits the data.
    eta1, eta2, eta3
        A number or several each: share of rare items, similarity to the knowledge, share of targets
        it holds for.
    seed
        Random seed of targets and knowledge.
    per_run, runs
        n targets per run (without replacement; all eligible ones when they are fewer), and how many
        runs are averaged.
    engine
        Engine that scores.
    progress
        Called with (runs done, runs in all).
    """
    in_memory(dataset, "amplification")
    etas = {"eta1": eta1, "eta2": eta2, "eta3": eta3}
    shares, levels, keeps = (_points_of(x, name) for name, x in etas.items())
    if per_run < 1 or runs < 1:
        raise ParameterError(f"per_run={per_run}, runs={runs}: at least one each")
    rarity = fitting_t_for_shares(dataset, knows, shares) if t is None else t
    f = np.full((shares.size, levels.size, keeps.size), np.nan)
    spread, empty, theorem, machine = f.copy(), f[:, :, 0].copy(), [], find_engine(engine)
    for a, share in enumerate(shares.tolist()):
        eligible = with_rare_share(dataset, knows, share, rarity)
        if eligible.size == 0:
            continue
        who = rare_adversary(knows, gamma, rarity, share)
        draws = _draw(dataset, who, eligible, per_run, runs, seed)
        l2 = np.concatenate([_l2(dataset, aux, gamma) for _, aux in draws])
        ks = []
        for done, (y, aux) in enumerate(draws, a * runs + 1):
            ks.append(_k(dataset, y, aux, np.append(levels, l2.min()), machine))
            if progress:
                progress(done, runs * shares.size)
        per = _quantiles(ks, keeps)
        f[a] = per[:, :-1].mean(axis=0)
        spread[a] = Z_95 * per[:, :-1].std(axis=0) / np.sqrt(len(ks))
        empty[a] = np.concatenate([np.isinf(k[:, :-1]) for k in ks]).mean(axis=0)
        # the weighted algorithm on the same draws
        learned = Learned.concatenate([learn(dataset, y, aux, engine) for y, aux in draws])
        guarantee = float(per[:, -1, :].mean(axis=0)[0])
        found = (share, int(eligible.size), l2, float(keeps[0]), guarantee, learned)
        theorem.append(Theorem3.of(*found))
    if not theorem:
        raise no_eligible_record(dataset, knows, float(shares.min()), rarity)
    scalar = all(np.ndim(x) == 0 for x in etas.values())
    return Amplification(
        knows, gamma, rarity, shares, levels, keeps, f, spread, empty, tuple(theorem), scalar
    )


def _quantiles(ks: list[Array], keeps: Array) -> Array:
    """(runs, levels, η3): f_D of each run; if no record was similar, k = 1."""
    return np.array(
        [[[dss12.kept_quantile(np.minimum(x, 1.0), eta) for eta in keeps] for x in k.T] for k in ks]
    )


Draws = list[tuple[Array, Knowledge]]


def _points_of(x: Any, name: str) -> Array:
    points = np.atleast_1d(np.asarray(x, np.float64))
    if points.ndim != 1 or points.size == 0 or not ((points > 0) & (points <= 1)).all():
        raise ParameterError(f"{name}={x}: use shares above 0 and at most 1")
    return points


def _draw(dataset: Dataset, who: Any, eligible: Array, n: int, runs: int, seed: int) -> Draws:
    """Targets and knowledge of each run, a function of (seed, run)."""
    seeds = starts(seed, PURPOSE_RUN, np.arange(runs, dtype=np.int64))
    out = []
    for s in seeds:
        y = sample_targets(dataset, eligible, n, int(s))
        # D_{m,η1} differs slightly from the adversary's eligibility rule, so `Adversary.sample` is
        # not used
        out.append((y, sample(who, dataset, y, int(s), check=False)))
    return out


def _l2(dataset: Dataset, aux: Knowledge, gamma: float) -> Array:
    facts = aux.bind(dataset)
    weights = dss12.w(dataset.supports[facts.item]).reshape(facts.n_queries, -1)
    return np.array([dss12.l2(row, gamma) for row in weights])


def _similar(
    dataset: Dataset, aux: Knowledge, least: float, machine: Engine
) -> Iterator[tuple[Array, Array]]:
    """Per query, the records with S(aux, r) ≥ least, and that similarity."""
    from standout.attacks.datta import similarity_table
    from standout.attacks.tables import Known

    facts = aux.bind(dataset)
    step = max(1, MOST_SCORES // dataset.n_records)
    for lo in range(0, facts.n_queries, step):
        part = facts.part(lo, min(lo + step, facts.n_queries))
        known = Known.of(dataset, part, part.nobody)
        plan = known.plan(Combine.SUM, similarity_table(known), np.zeros((known.item.size, 1)))
        m = np.diff(part.query_ptr)
        # each contribution was rounded once: records at the threshold are included
        cut = np.floor(least * m * plan.scale).astype(np.int64) - m
        found = machine.map(FindAbove(plan, cut), dataset.all_shards)
        edges = np.searchsorted(found.query, np.arange(part.n_queries + 1))
        for q, (first, stop) in enumerate(pairwise(edges.tolist())):
            yield (
                found.record[first:stop],
                (found.score[first:stop] + m[q]) / (plan.scale[q] * m[q]),
            )


def _k(dataset: Dataset, y: Array, aux: Knowledge, levels: Array, machine: Engine) -> Array:
    """(queries, levels): min{ S(y,r) : S(aux,r) ≥ level }, inf where no record is that similar."""
    out = np.full((y.size, levels.size), np.inf)
    for q, (found, near) in enumerate(_similar(dataset, aux, float(levels.min()), machine)):
        whole = pair_s(dataset, np.full(found.size, y[q]), found)
        for b, level in enumerate(levels):
            out[q, b] = whole[near >= level].min(initial=np.inf)
    return out
