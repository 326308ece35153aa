"""`describe`: the properties of a release that explain why people in it can be found; power law or lognormal counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.times import tick_text
from standout.theory.entropy import item_information
from standout.theory.sparsity import Curve, curves, fitting_records, predicted

if TYPE_CHECKING:
    import pandas as pd


TOPS = (100, 500, 1000)
AT_LEAST = (1, 5, 10)
FEWEST_TO_FIT = 50
MOST_STARTS = 60
"""Largest number of starts tried for the power-law tail."""
SMALLEST_TAIL = 0.1
"""Smallest share of the counts in the tail: any distribution fits a few counts."""
LONGEST = 200
"""Most rows of a table in plain data."""
QUARTILES = ("least", "first_quartile", "median", "third_quartile", "most")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Fit:
    """One fitted distribution of counts ≥ `start`."""

    kind: str
    start: int
    share: float
    """Share of all counts that lie at or above `start`."""
    ks: float
    """Largest difference between the cumulative shares of data and fit; 0 = perfect."""
    alpha: float | None = None
    """Power law: P(x) ∝ x^-alpha."""
    mu: float | None = None
    sigma: float | None = None
    """Lognormal: mean and standard deviation of ln x."""


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """What `describe` found. Tables are pandas frames; `to_frame` is the overview; `to_dict` is plain data without labels."""

    overview: dict[str, Any]
    """Counts, quartiles, repeats, scale, span."""
    lengths: pd.DataFrame
    """Frame: items (per record), records, at_most (share of records with at most this many). Figs. 2 and 3."""
    supports: pd.DataFrame
    """Frame: rank, support, share_of_pairs (held by the items up to this rank)."""
    length_fits: tuple[Fit, ...]
    support_fits: tuple[Fit, ...]
    outside_top: pd.DataFrame
    """Frame: top, items, records, share: records with at least this many items outside the top."""
    information: pd.DataFrame
    """Frame: rank, support, none, value, time: bits of information in one known entry. Fig. 7."""
    sparsity: tuple[Curve, ...]
    """Nearest-neighbor similarity under each tolerance. Fig. 1."""
    theorem: tuple[dict[str, Any], ...] = ()
    """What Theorem 2 of NS08 predicts, per tolerance (`theory.sparsity`)."""

    def curves(self) -> pd.DataFrame:
        """The (ε,δ) curves, concatenated, as a frame."""
        import pandas as pd

        return pd.concat(
            [c.to_frame().assign(similarity=c.words) for c in self.sparsity], ignore_index=True
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for findings; long tables thinned to at most 200 rows."""
        return {
            "overview": self.overview,
            "lengths": _rows(self.lengths),
            "supports": _rows(self.supports),
            "length_fits": [asdict(f) for f in self.length_fits],
            "support_fits": [asdict(f) for f in self.support_fits],
            "outside_top": _rows(self.outside_top),
            "information": _rows(self.information),
            "sparsity": [c.to_dict() for c in self.sparsity],
            "theorem": [dict(t) for t in self.theorem],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per measured number of the overview: part, measure, value."""
        import pandas as pd

        rows: list[tuple[str, str, Any]] = []
        for key, x in self.overview.items():
            parts = x.items() if isinstance(x, dict) else [("", x)]
            rows += [(key, name, v) for name, v in parts if v is not None]
        for curve in self.sparsity:
            middle = float(np.quantile(curve.similarity, 0.5))
            rows.append(("nearest_neighbor", f"median similarity, {curve.words}", middle))
        return pd.DataFrame(rows, columns=["part", "measure", "value"])

    def _repr_html_(self) -> str:
        """For notebooks: the overview in words and the two charts, as in the report."""
        from standout.report.page import description_html

        return description_html(self)

    def __repr__(self) -> str:
        o = self.overview
        return f"<Description of {o['n_records']:,} records × {o['n_items']:,} items>"


def describe(
    dataset: Dataset,
    *,
    records: int | None = None,
    value_within: float = 1,
    time_within: float | str = 14,
    seed: int = 0,
    progress: Progress | None = None,
) -> Description:
    """Measure the shape of a release: lengths, supports, rarity, information per item, sparsity.

    Parameters
    ----------
    dataset
        The release.
    records
        Number of records whose nearest neighbor is searched. Default: all if that takes seconds,
        else 2,000.
    value_within, time_within
        Tolerances under which entries agree, as in the paper; channels that the data lacks are left
        out.
    seed
        Random seed of the sample of records.
    progress
        Called with (what, done, total).

    Examples
    --------
    >>> import standout as so
    >>> ds = so.Dataset.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 7])
    >>> found = so.describe(ds)
    >>> found.information[["rank", "support", "none"]].round(3).values.tolist()
    [[1.0, 3.0, 0.0], [2.0, 2.0, 0.585]]
    """
    import pandas as pd

    in_memory(dataset, "describe")
    if progress:
        progress("item information", 0, 1)
    information = item_information(dataset, value_within, time_within)
    overall = overview(dataset)
    found: list[Curve] = []
    theorem: list[dict[str, Any]] = []
    if dataset.n_records > 1:
        chosen = fitting_records(dataset, records, seed)
        total = chosen.size * (1 + dataset.has_value + dataset.has_time)
        done = 0

        def step(n: int) -> None:
            nonlocal done
            done += n
            if progress:
                progress("nearest neighbors", done, total)

        found = curves(dataset, chosen, value_within, time_within, step)
        missing = [bool((overall[key] or {}).get("missing")) for key in ("scale", "span")]
        theorem = predicted(dataset, chosen, found, (missing[0], missing[1]))
    items, n = np.unique(dataset.lengths, return_counts=True)
    support = -np.sort(-dataset.supports)
    return Description(
        overview=overall,
        lengths=pd.DataFrame(
            {"items": items, "records": n, "at_most": np.cumsum(n) / dataset.n_records}
        ),
        supports=pd.DataFrame(
            {
                "rank": np.arange(1, support.size + 1),
                "support": support,
                "share_of_pairs": np.cumsum(support) / max(dataset.n_pairs, 1),
            }
        ),
        length_fits=fits(dataset.lengths),
        support_fits=fits(dataset.supports[dataset.supports > 0]),
        outside_top=outside_top(dataset),
        information=information,
        sparsity=tuple(found),
        theorem=tuple(theorem),
    )


def overview(dataset: Dataset) -> dict[str, Any]:
    """Counts, quartiles, repeats, scale and span."""
    out: dict[str, Any] = {
        "n_records": dataset.n_records,
        "n_items": dataset.n_items,
        "n_entries": dataset.n_entries,
        "n_pairs": dataset.n_pairs,
        "density": dataset.n_pairs / (dataset.n_records * dataset.n_items),
        "prior_bits": float(np.log2(dataset.n_records)),
        "items_per_record": _five(dataset.lengths),
        "records_per_item": _five(dataset.supports),
        "repeated_entries": dataset.n_entries - dataset.n_pairs,
        "items_held_once": int((dataset.supports == 1).sum()),
        "scale": None,
        "span": None,
    }
    if dataset.has_value:
        out["scale"] = {
            "levels": dataset.n_levels,
            "low": float(dataset.levels[0]),
            "high": float(dataset.levels[-1]),
            "missing": int((dataset.record_code == dataset.n_levels).sum()),
        }
    if dataset.has_time:
        ends = (dataset.first_tick, dataset.first_tick + dataset.tick_span)
        first, last = (tick_text(tick, dataset.time_resolution) for tick in ends)
        out["span"] = {
            "first": first,
            "last": last,
            "days": ends[1] // dataset.ticks_per_day - ends[0] // dataset.ticks_per_day + 1,
            "resolution": dataset.time_resolution,
            "missing": int((dataset.record_tick == dataset.no_tick).sum()),
        }
    return out


def _five(counts: Array) -> dict[str, float]:
    numbers = np.quantile(counts, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return {**dict(zip(QUARTILES, numbers, strict=True)), "mean": float(counts.mean())}


def outside_top(
    dataset: Dataset, tops: tuple[int, ...] = TOPS, at_least: tuple[int, ...] = AT_LEAST
) -> Any:
    """Frame: records with at least this many items outside the most held ones (the table of NS08, section 5)."""
    import pandas as pd

    from standout.adversary.counts import records_by_count

    rows = []
    for top in tops:
        n = records_by_count(dataset, dataset.popularity_rank >= top)
        for least in at_least:
            count = int(n[least:].sum())
            rows.append((top, least, count, count / dataset.n_records))
    return pd.DataFrame(rows, columns=["top", "items", "records", "share"])


def _rows(frame: Any) -> list[dict[str, Any]]:
    """At most 200 rows as plain data, evenly spaced in the logarithm of the position, with the first and the last."""
    if len(frame) > LONGEST:
        places = np.unique(np.rint(np.geomspace(1, len(frame), LONGEST)).astype(int)) - 1
        frame = frame.iloc[places]
    finite = frame.astype(object).where(np.isfinite(frame), None)
    rows: list[dict[str, Any]] = finite.to_dict("records")
    return rows


def _ks(counts: Array, model: Any) -> float:
    """KS distance between whole counts and a model given as P(X ≤ x), x = count + 1/2."""
    value, n = np.unique(counts, return_counts=True)
    after = np.cumsum(n) / counts.size
    before = after - n / counts.size
    return float(
        max(np.abs(after - model(value + 0.5)).max(), np.abs(before - model(value - 0.5)).max())
    )


def power_law(counts: Array, start: int | None = None) -> Fit:
    """Fit P(x) ∝ x^-α on x ≥ start by maximum likelihood, α = 1 + n / Σ ln(x / (start - 1/2)) (Clauset et al. 2009).

    By default, the start has the smallest KS distance among those that keep a tenth of the counts.

    >>> x = np.floor(9.5 * (1 - (np.arange(5000) + 0.5) / 5000) ** (-1 / 1.5) + 0.5).astype(int)
    >>> round(power_law(x, 10).alpha, 1)
    2.5
    """
    if start is None:
        places = np.unique(counts)
        if places.size > MOST_STARTS:
            places = places[np.linspace(0, places.size - 1, MOST_STARTS).astype(int)]
        tried = [int(x) for x in places if (counts >= x).mean() >= SMALLEST_TAIL]
        return min((power_law(counts, x) for x in tried), key=lambda fit: (fit.ks, fit.start))
    tail = counts[counts >= start]
    low = start - 0.5
    alpha = float(1 + tail.size / np.log(tail / low).sum())
    ks = _ks(tail, lambda x: 1 - (x / low) ** (1 - alpha))
    return Fit("power law", start, tail.size / counts.size, ks, alpha=alpha)


def lognormal(counts: Array) -> Fit:
    """Fit ln x ~ Normal(μ, σ) on all counts by moments of the logarithm.

    >>> fit = lognormal(np.exp(np.random.default_rng(1).normal(4, 0.5, 4000)).round())
    >>> round(fit.mu, 1), round(fit.sigma, 1), fit.ks < 0.02
    (4.0, 0.5, True)
    """
    from scipy.special import ndtr

    logs = np.log(counts)
    mu, sigma = float(logs.mean()), max(float(logs.std()), 1e-9)
    ks = _ks(counts, lambda x: ndtr((np.log(x) - mu) / sigma))
    return Fit("lognormal", int(counts.min()), 1.0, ks, mu=mu, sigma=sigma)


def fits(counts: Array) -> tuple[Fit, ...]:
    """Lognormal of all counts, power law of all counts, power law of the tail that it fits best; nothing for few counts.

    The first two share their range, so that the smaller KS distance is the better fit.
    """
    if counts.size < FEWEST_TO_FIT or np.unique(counts).size <= 2:
        return ()
    return lognormal(counts), power_law(counts, int(counts.min())), power_law(counts)
