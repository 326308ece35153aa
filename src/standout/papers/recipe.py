"""`Recipe`: one published figure or table, which can be measured on any release and drawn.

What is measured is in the module of the paper (`ns08.py`, `f06.py`, `dss12.py`), which `recipes` loads
by name; `standout reproduce` runs them, and `summary.py` writes the results.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.resources import files
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
    def not_measurable(cls, text: str) -> Claim:
        """A claim about cases without targets in this data."""
        return cls(text, 0, np.nan, np.nan, np.nan)

    @classmethod
    def paired(cls, text: str, first: tuple[Array, Array], second: tuple[Array, Array]) -> Claim:
        """Compare (targets, outcome) of two cases on the targets that both have.

        >>> import numpy as np
        >>> one = (np.array([1, 2, 3]), np.array([True, True, False]))
        >>> two = (np.array([2, 1, 9]), np.array([False, True, True]))
        >>> claim = Claim.paired("first ≥ second", one, two)
        >>> claim.n, claim.difference, claim.word
        (2, 0.5, 'undecided')
        """
        _, a, b = np.intersect1d(first[0], second[0], return_indices=True)
        gaps = first[1][a].astype(np.float64) - second[1][b].astype(np.float64)
        if gaps.size == 0:
            return cls.not_measurable(text)
        mean, half = float(gaps.mean()), Z_95 * float(gaps.std()) / np.sqrt(gaps.size)
        return cls(text, int(gaps.size), mean, mean - half, mean + half)


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
    """Measure: one row per bar or point. A point that cannot be measured has no value and a `note`.

    `RUNS` in the module of the paper; `claims` are from its `CLAIMS`.
    """
    chart: Row
    """Kind of chart and what it shows, see `draw.draw`."""
    claims: Callable[[RecipeInputs], list[Claim]]


@cache
def read_toml(name: str) -> dict[str, Any]:
    """A data file of this package."""
    return tomllib.loads((files("standout.papers") / name).read_text(encoding="utf-8"))


def recipes(paper: str, only: str | None = None) -> list[Recipe]:
    """Recipes of a paper in the order of its figures, or those named in `only` (comma-separated ids)."""
    if paper not in PAPERS:
        raise ParameterError(f"no paper {paper!r}. Papers: {', '.join(PAPERS)}")
    module = import_module(f"standout.papers.{paper}")
    known = {
        one["id"]: Recipe(
            **one, run=module.RUNS[one["id"]], claims=module.CLAIMS.get(one["id"], no_claims)
        )
        for one in read_toml("figures.toml")["figure"]
        if one["paper"] == paper
    }
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
    return columns_of(Rate.of(hits))


def columns_of(rate: Rate) -> Row:
    """Columns n, count, rate, low, high of a rate."""
    return {key: getattr(rate, key) for key in ("n", "count", "rate", "low", "high")}


def mean_columns(x: Array, column: str) -> Row:
    """Columns n, mean, low, high of a mean (normal interval)."""
    if x.size == 0:
        return {"n": 0, column: None, "low": None, "high": None, "note": "nobody in this group"}
    mean, half = float(x.mean()), Z_95 * float(x.std()) / np.sqrt(x.size)
    return {"n": int(x.size), column: mean, "low": max(0.0, mean - half), "high": mean + half}


@dataclass(frozen=True)
class Published:
    """One printed number and the measured row that it belongs to."""

    paper: str
    id: str
    what: str
    where: dict[str, Any]
    column: str
    value: float | str
    place: str
    page: int
    certainty: str
    relation: str = "="
    unit: str = "%"
    why: str = ""

    def fits(self, row: Row) -> bool:
        """Whether the number belongs to this row."""
        return all(row.get(k) == v for k, v in self.where.items())

    def number(self, row: Row) -> float:
        """The printed number; "prior/2" depends on the row."""
        if isinstance(self.value, str):
            name, _, part = self.value.partition("/")
            return float(row[name]) / float(part)
        return float(self.value)


def published() -> list[Published]:
    """All printed numbers."""
    return [Published(**v) for v in read_toml("published.toml")["value"]]


def published_data(paper: str) -> Row:
    """The data of a paper: its size, and its name in words."""
    return dict(read_toml("published.toml")[paper])


def of_figure(recipe: Recipe) -> list[Published]:
    """Printed numbers of one figure or table."""
    return [p for p in published() if (p.paper, p.id) == (recipe.paper, recipe.id)]


def with_published(recipe: Recipe, rows: Rows) -> Rows:
    """Rows joined with the printed number of their bar or point; numbers in the text precede independent reproductions."""
    out = [dict(r) for r in rows]
    for p in of_figure(recipe):
        # a bound or another column is not the height of a bar
        if p.relation == "=" and p.column in ("rate", "bits", "users", "f"):
            for row in filter(p.fits, out):
                row.setdefault("published", p.number(row))
    return out
