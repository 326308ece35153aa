"""`describe`: the properties of a release that explain why people in it can be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.times import tick_text
from standout.theory.fits import Fit, fits
from standout.theory.predicted import predicted
from standout.theory.sparsity import Curve, curves, fitting_records

if TYPE_CHECKING:
    import pandas as pd


TOPS = (100, 500, 1000)
AT_LEAST = (1, 5, 10)
FEWEST_TO_FIT = 50

Progress = Callable[[str, int, int], None]


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
    """What Theorem 2 of NS08 predicts, per tolerance (`theory.predicted`)."""

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
            "length_fits": [f.to_dict() for f in self.length_fits],
            "support_fits": [f.to_dict() for f in self.support_fits],
            "outside_top": _rows(self.outside_top),
            "information": _rows(self.information),
            "sparsity": [c.to_dict() for c in self.sparsity],
            "theorem": [dict(t) for t in self.theorem],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per measured number of the overview: part, measure, value."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for key, x in self.overview.items():
            parts = x.items() if isinstance(x, dict) else [("", x)]
            rows += [
                {"part": key, "measure": name, "value": v} for name, v in parts if v is not None
            ]
        for curve in self.sparsity:
            middle = float(np.quantile(curve.similarity, 0.5))
            rows.append(
                {
                    "part": "nearest_neighbor",
                    "measure": f"median similarity, {curve.words}",
                    "value": middle,
                }
            )
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
    from standout.theory.entropy import item_information

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
    return Description(
        overview=overall,
        lengths=_length_frame(dataset),
        supports=_support_frame(dataset),
        length_fits=tuple(_fits(dataset.lengths)),
        support_fits=tuple(_fits(dataset.supports[dataset.supports > 0])),
        outside_top=outside_top(dataset),
        information=information,
        sparsity=tuple(found),
        theorem=tuple(theorem),
    )


def _fits(counts: Array) -> list[Fit]:
    """Fits, if there are enough counts."""
    return fits(counts) if counts.size >= FEWEST_TO_FIT and np.unique(counts).size > 2 else []


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
        first, last = dataset.first_tick, dataset.first_tick + dataset.tick_span
        out["span"] = {
            "first": tick_text(first, dataset.time_resolution),
            "last": tick_text(last, dataset.time_resolution),
            "days": last // dataset.ticks_per_day - first // dataset.ticks_per_day + 1,
            "resolution": dataset.time_resolution,
            "missing": int((dataset.record_tick == dataset.no_tick).sum()),
        }
    return out


def _five(counts: Array) -> dict[str, float]:
    low, first, middle, third, high = np.quantile(counts, [0, 0.25, 0.5, 0.75, 1])
    return {
        "least": float(low),
        "first_quartile": float(first),
        "median": float(middle),
        "third_quartile": float(third),
        "most": float(high),
        "mean": float(counts.mean()),
    }


def _length_frame(dataset: Dataset) -> Any:
    import pandas as pd

    items, records = np.unique(dataset.lengths, return_counts=True)
    return pd.DataFrame(
        {"items": items, "records": records, "at_most": np.cumsum(records) / dataset.n_records}
    )


def _support_frame(dataset: Dataset) -> Any:
    import pandas as pd

    support = -np.sort(-dataset.supports)
    return pd.DataFrame(
        {
            "rank": np.arange(1, support.size + 1),
            "support": support,
            "share_of_pairs": np.cumsum(support) / max(dataset.n_pairs, 1),
        }
    )


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
            rows.append(
                {"top": top, "items": least, "records": count, "share": count / dataset.n_records}
            )
    return pd.DataFrame(rows)


def _rows(frame: Any, most: int = 200) -> list[dict[str, Any]]:
    """At most `most` rows as plain data, evenly spaced in the logarithm of the position, with the first and the last."""
    if len(frame) > most:
        places = np.unique(np.rint(np.geomspace(1, len(frame), most)).astype(int)) - 1
        frame = frame.iloc[places]
    return [{str(k): _plain(v) for k, v in row.items()} for row in frame.to_dict("records")]


def _plain(x: Any) -> Any:
    x = x.item() if isinstance(x, np.generic) else x
    return None if isinstance(x, float) and not np.isfinite(x) else x
