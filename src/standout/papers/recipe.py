"""`Recipe`: one published figure or table, which can be measured on any release and drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.experiment.journal import resumable
from standout.formulas.rates import Z_95, Rate

if TYPE_CHECKING:
    from standout.papers.mentions import Mentions

T = TypeVar("T")
Row = dict[str, Any]
Rows = list[Row]

PAPERS = {
    "ns08": "Narayanan and Shmatikov 2008, Robust De-anonymization of Large Sparse Datasets",
    "f06": "Frankowski, Cosley, Sen, Terveen and Riedl 2006, You Are What You Say",
    "dss12": "Datta, Sharma and Sinha 2012, Provable De-anonymization of Large Datasets with Sparse Dimensions",
}

SHORT = {
    "ns08": "Narayanan and Shmatikov 2008",
    "f06": "Frankowski et al. 2006",
    "dss12": "Datta et al. 2012",
}


@dataclass(eq=False)
class RecipeInputs:
    """Inputs of recipes, and a cache of measurements that several of them share."""

    dataset: Dataset
    targets: int | None = 1000
    """Targets per point, None = every eligible record."""
    seed: int = 0
    mentions: Mentions | None = None
    """F06 only."""
    engine: str = "memory"
    source: str = "your data"
    """Source of the data, in words; shown under every figure."""
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.targets is not None and self.targets < 1:
            raise ParameterError(
                f"targets={self.targets}: attack at least one record per point, or None for all"
            )

    def once(self, key: Any, work: Callable[[], T]) -> T:
        """Result of `work`, plain data and arrays, computed once per key; kept on disk if a journal is in use."""
        if key not in self.kept:
            self.kept[key] = resumable("reproduce", lambda: [repr(key), *self._about], work)
        found: T = self.kept[key]
        return found

    @cached_property
    def _about(self) -> list[Any]:
        """Everything that measurements depend on."""
        said = None if self.mentions is None else content_digest(self.mentions)
        return [self.dataset.fingerprint, self.targets, self.seed, said]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper about two cases, compared on the same targets."""

    figure: str
    text: str
    n: int
    difference: float
    """Difference between the first case and the second; the claim is that it is not negative."""
    low: float
    high: float

    @property
    def word(self) -> str:
        """Result of the claim in one word."""
        if self.n == 0:
            return "not measurable here"
        if self.high < 0:
            return "contradicted"
        if self.low == self.high == 0:
            return "equal"
        return "holds" if self.low > 0 else "undecided"

    @classmethod
    def paired(
        cls, figure: str, text: str, first: tuple[Array, Array], second: tuple[Array, Array]
    ) -> Claim:
        """Compare (targets, outcome) of two cases on the targets that both have.

        >>> import numpy as np
        >>> one = (np.array([1, 2, 3]), np.array([True, True, False]))
        >>> two = (np.array([2, 1, 9]), np.array([False, True, True]))
        >>> claim = Claim.paired("fig04", "first ≥ second", one, two)
        >>> claim.n, claim.difference, claim.word
        (2, 0.5, 'undecided')
        """
        _, a, b = np.intersect1d(first[0], second[0], return_indices=True)
        gaps = first[1][a].astype(np.float64) - second[1][b].astype(np.float64)
        if gaps.size == 0:
            return cls(figure, text, 0, np.nan, np.nan, np.nan)
        mean, half = float(gaps.mean()), Z_95 * float(gaps.std()) / np.sqrt(gaps.size)
        return cls(figure, text, int(gaps.size), mean, mean - half, mean + half)


def no_claims(setting: RecipeInputs) -> list[Claim]:
    """For figures without claims in the paper that can be compared."""
    return []


@dataclass(frozen=True)
class Recipe:
    """One figure or table."""

    paper: str
    id: str
    """File name of its outputs, `fig04` or `table1`."""
    label: str
    """Its name in the paper."""
    title: str
    parameters: str
    """The experiment in words, as in the paper."""
    run: Callable[[RecipeInputs], Rows]
    """Measure: one row per bar or point. A point that cannot be measured has no value and a `note`."""
    draw: Callable[[Rows], Any]
    """Altair chart from rows with published values joined."""
    claims: Callable[[RecipeInputs], list[Claim]] = no_claims


_REGISTRY: dict[str, dict[str, Recipe]] = {}


def add(recipe: Recipe) -> Recipe:
    """Register a recipe."""
    _REGISTRY.setdefault(recipe.paper, {})[recipe.id] = recipe
    return recipe


def recipes(paper: str, only: str | None = None) -> list[Recipe]:
    """Recipes of a paper in the order of its figures, or those named in `only` (comma-separated ids)."""
    if paper not in PAPERS:
        raise ParameterError(f"no paper {paper!r}. Papers: {', '.join(PAPERS)}")
    import_module(f"standout.papers.{paper}")
    known = _REGISTRY[paper]
    if only is None:
        return list(known.values())
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise ParameterError(
                f"no figure or table {name!r} in {paper}. It has: {', '.join(known)}"
            )
    return [known[name] for name in names]


def rate_columns(hits: Array) -> Row:
    """Columns n, count, rate, low, high of a proportion."""
    rate = Rate.of(hits)
    return {"n": rate.n, "count": rate.count, "rate": rate.rate, "low": rate.low, "high": rate.high}


def mean_columns(x: Array, column: str) -> Row:
    """Columns n, mean, low, high of a mean (normal interval)."""
    if x.size == 0:
        return {"n": 0, column: None, "low": None, "high": None, "note": "nobody in this group"}
    mean, half = float(x.mean()), Z_95 * float(x.std()) / np.sqrt(x.size)
    return {"n": int(x.size), column: mean, "low": max(0.0, mean - half), "high": mean + half}
