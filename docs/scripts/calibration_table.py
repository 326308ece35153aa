"""Write docs/calibration.md: stated and observed probabilities of the likelihood, on two real releases.

Run it with `python docs/scripts/calibration_table.py` and STANDOUT_DATA naming the folder with
`ml-latest-small` and `online-retail`. The attack calibrates itself on canaries of the release. The
targets reported here are other records where there are enough of them, and their knowledge is
always drawn with another seed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import standout as so
from standout.adversary.sampling import sample_targets
from standout.attacks.presence import CANARIES_IF_SMALL, canaries, n_canaries

Array = npt.NDArray[Any]

PAGE = Path(__file__).parents[1] / "calibration.md"
TARGETS = 400
SEED = 1
CHANNELS = ((None, None), (1, None), (None, 14), (1, 14))
KNOWN = ((1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 2), (8, 0), (8, 2), (8, 4))
CHOSEN = {
    "MovieLens": ("popular", "recent", "rarest"),
    "Retail": ("popular", "event", "favorite"),
}
"""Choices other than uniform; in data without repeats, a random event is a random item, and all items are favorites."""
RANKED = ("favorite", "recent", "rarest")
"""Choices whose facts are never wrong."""
CLOSE = 0.03


@dataclass(frozen=True)
class Cell:
    """Means over present and removed targets, equally many of both."""

    data: str
    who: so.Adversary
    n: int
    hit: float
    absent: float
    """Mean P(absent); true is 0.5."""
    posterior: float
    """Mean posterior of the best record."""
    observed: float
    """Share of queries whose best record is the target, ties shared."""
    raw_absent: float
    raw_posterior: float
    every_absent: Array
    every_posterior: Array
    credit: Array


def movielens(folder: Path) -> so.Dataset:
    """610 people, 100,836 ratings."""
    return so.Dataset.read(folder / "ml-latest-small" / "ratings.csv.gz", resolution="day")


def retail(folder: Path) -> so.Dataset:
    """Customers, what they bought, how many and when."""
    return so.Dataset.read(
        folder / "online-retail" / "online_retail.csv.gz",
        record="CustomerID",
        item="StockCode",
        value="Quantity",
        time="InvoiceDate",
        resolution="day",
    )


def receipts(folder: Path) -> so.Dataset:
    """The same purchases with their invoices."""
    import pandas as pd

    rows = pd.read_csv(folder / "online-retail" / "online_retail.csv.gz", dtype=str)
    rows = rows[rows.CustomerID.notna()]
    return so.Dataset.from_arrays(
        rows.CustomerID.to_numpy(),
        rows.StockCode.to_numpy(),
        time=pd.to_datetime(rows.InvoiceDate).dt.floor("D").to_numpy(),
        channels={"Invoice": rows.InvoiceNo.to_numpy().astype(object)},
    )


def customers(folder: Path) -> so.Dataset:
    """The same purchases with the country of the customer and the month of the first purchase."""
    import pandas as pd

    rows = pd.read_csv(folder / "online-retail" / "online_retail.csv.gz", dtype={"CustomerID": str})
    rows = rows[rows.CustomerID.notna()]
    day = pd.to_datetime(rows.InvoiceDate).dt.floor("D")
    first = day.groupby(rows.CustomerID).transform("min")
    return so.Dataset.from_arrays(
        rows.CustomerID.to_numpy(),
        rows.StockCode.to_numpy(),
        time=day.to_numpy(),
        attributes={
            "country": rows.groupby("CustomerID").Country.transform("last").to_numpy(object),
            "since": (12 * first.dt.year + first.dt.month).to_numpy(),
        },
    )


def raters(folder: Path) -> so.Dataset:
    """The ratings with the year of each person's first rating."""
    import pandas as pd

    rows = pd.read_csv(folder / "ml-latest-small" / "ratings.csv.gz")
    day = pd.to_datetime(rows.timestamp, unit="s").dt.floor("D")
    return so.Dataset.from_arrays(
        rows.userId.to_numpy(),
        rows.movieId.to_numpy(),
        rows.rating.to_numpy(),
        day.to_numpy(),
        attributes={"since": day.groupby(rows.userId).transform("min").dt.year.to_numpy()},
    )


def attributed(*known: dict[str, Any], value_within: float | None = None) -> Iterator[so.Adversary]:
    """Knowledge of attributes alone, and beside one or two items, without and with their days."""
    for attributes in known:
        yield so.Adversary(knows=0, within=attributes)
        for knows in (1, 2):
            for time_within in (None, 14):
                own = value_within if time_within else None
                yield so.Adversary(
                    knows=knows, value_within=own, time_within=time_within, within=attributes
                )


def related() -> Iterator[so.Adversary]:
    """Knowledge of items of one invoice, one week, or one after the other."""
    for choose in ("together:Invoice", "together:day", "window:7d", "consecutive"):
        for time_within in (None, 14):
            for knows in (2, 4):
                yield so.Adversary(
                    knows=knows, value_within=None, time_within=time_within, choose=choose
                )


def adversaries() -> Iterator[so.Adversary]:
    """All kinds of knowledge: 0 to half of the facts wrong, wrong items and wrong values."""
    for value_within, time_within in CHANNELS:
        for knows, wrong in KNOWN:
            for kind in ("item", "value"):
                says_nothing = value_within is None and time_within is None
                if kind == "value" and (wrong == 0 or says_nothing):
                    continue
                yield so.Adversary(
                    knows=knows,
                    wrong=wrong,
                    wrong_kind=kind,
                    value_within=value_within,
                    time_within=time_within,
                )


def chosen_otherwise(name: str) -> Iterator[so.Adversary]:
    """Knowledge of items that were not chosen uniformly: all facts right, or one of them wrong."""
    for choose in CHOSEN[name]:
        for value_within, time_within in ((None, None), (1, 14)):
            for knows, wrong, kind in (
                (1, 0, "item"),
                (2, 0, "item"),
                (4, 0, "item"),
                (4, 1, "item"),
                (4, 1, "value"),
            ):
                ranked = choose in RANKED
                if (kind == "item" or value_within is not None) and not (ranked and wrong):
                    yield so.Adversary(
                        knows=knows,
                        wrong=wrong,
                        wrong_kind=kind,
                        value_within=value_within,
                        time_within=time_within,
                        choose=choose,
                    )


def targets_of(who: so.Adversary, data: so.Dataset) -> Array:
    """Targets; other records than the canaries if enough are left."""
    eligible = who.eligible(data)
    others = np.setdiff1d(eligible, canaries(data, who, n_canaries(data)))
    return sample_targets(data, others if others.size >= TARGETS else eligible, TARGETS, SEED)


def measure(name: str, data: so.Dataset, who: so.Adversary, targets: Array) -> Cell:
    """Run one kind of knowledge, calibrated and not, with the targets present and removed."""
    knowledge = who.sample(data, targets, SEED)
    means = []
    for calibrate in (False, True):
        attack = so.attack("likelihood", calibrate=calibrate)
        here = attack.run(data, knowledge, watch=targets)
        gone = attack.run(data, knowledge, exclude=targets)
        absent, posterior = (
            np.concatenate([getattr(v, field) for v in (here, gone)])
            for field in ("absent", "posterior")
        )
        means.append((absent, posterior))
    credit = np.concatenate([here.credit, np.zeros(targets.size)])
    (raw_absent, raw_posterior), (absent, posterior) = means
    hit = float(here.credit.mean())
    said = (float(x.mean()) for x in (absent, posterior, credit, raw_absent, raw_posterior))
    return Cell(name, who, targets.size, hit, *said, absent, posterior, credit)


def share_close(cells: list[Cell], raw: bool) -> tuple[int, int]:
    """Cells in which P(absent), and in which the posterior, lies within `CLOSE` of the observed rate."""
    absent = [abs((c.raw_absent if raw else c.absent) - 0.5) <= CLOSE for c in cells]
    posterior = [
        abs((c.raw_posterior if raw else c.posterior) - c.observed) <= CLOSE for c in cells
    ]
    return sum(absent), sum(posterior)


def reliability(said: Array, true: Array) -> list[str]:
    """Rows of a reliability table: stated, observed, number of queries."""
    edges = np.linspace(0, 1, 11)
    place = np.clip(np.digitize(said, edges[1:-1]), 0, 9)
    rows = []
    for b in range(10):
        here = place == b
        if here.any():
            rows.append(
                f"| {edges[b]:.1f}–{edges[b + 1]:.1f} | {said[here].mean():.3f} | {true[here].mean():.3f} | {here.sum():,} |"
            )
    return rows


def page(cells: list[Cell]) -> str:
    """The page as Markdown."""
    n = len(cells)
    (raw_a, raw_p), (cal_a, cal_p) = share_close(cells, True), share_close(cells, False)
    absent = np.concatenate([np.repeat([0.0, 1.0], c.n) for c in cells])
    lines = [
        "# Calibration of the likelihood",
        "",
        f"{n} kinds of knowledge on MovieLens (ml-latest-small) and on Online Retail, 0 to 50 % of the facts wrong, up to "
        f"{TARGETS} targets each, run once with the target in the release and once with it removed (prior 1/2).",
        "Written by `docs/scripts/calibration_table.py`.",
        "",
        f"`Likelihood(calibrate=True)`, the default, fits three numbers per kind of knowledge "
        f"on {CANARIES_IF_SMALL:,} canaries, or on",
        "all eligible records if there are fewer: records of the release, run present and removed, whose knowledge is drawn with",
        "another seed. Targets are other records than the canaries if the release has enough of them "
        "(Online Retail has, MovieLens",
        f"has not). Cells within {100 * CLOSE:.0f} points of the observed rate:",
        "",
        "| | P(absent) | posterior |",
        "|---|---|---|",
        f"| not calibrated | {raw_a} of {n} | {raw_p} of {n} |",
        f"| calibrated | {cal_a} of {n} | {cal_p} of {n} |",
        "",
        "## All queries together",
        "",
        "| P(absent) | stated | observed | queries |",
        "|---|---|---|---|",
        *reliability(np.concatenate([c.every_absent for c in cells]), absent),
        "",
        "| posterior | stated | observed | queries |",
        "|---|---|---|---|",
        *reliability(
            np.concatenate([c.every_posterior for c in cells]),
            np.concatenate([c.credit for c in cells]),
        ),
        "",
        "## Each kind of knowledge",
        "",
        'The observed rate of absence is 0.5 everywhere. "Raw" means not calibrated.',
        "",
        *rows(cells),
    ]
    return "\n".join(lines) + "\n"


def rows(cells: list[Cell]) -> list[str]:
    """One row per kind of knowledge."""
    return [
        "| data | knowledge | targets | hit | P(absent) | raw | posterior | raw | observed |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {c.data} | {c.who.describe()} | {c.n} | {c.hit:.3f} | {c.absent:.3f} | {c.raw_absent:.3f} | {c.posterior:.3f} | "
            f"{c.raw_posterior:.3f} | {c.observed:.3f} |"
            for c in cells
        ),
    ]


def chosen(folder: Path) -> list[Cell]:
    """Items that were not chosen uniformly."""
    both = (("MovieLens", movielens(folder)), ("Retail", retail(folder)))
    return [cell for name, data in both for cell in measured(name, data, chosen_otherwise(name))]


def of_one_receipt(folder: Path) -> list[Cell]:
    """Items of one invoice, of one week, or consecutive."""
    return measured("Retail", receipts(folder), related())


def with_attributes(folder: Path) -> list[Cell]:
    """Attributes of the person, alone and beside items."""
    cells = measured(
        "MovieLens", raters(folder), attributed({"since": 0}, {"since": 1}, value_within=1)
    )
    retail_kinds = ({"country": 0}, {"country": 0, "since": 0}, {"country": 0, "since": 1})
    return cells + measured("Retail", customers(folder), attributed(*retail_kinds))


SECTIONS: dict[str, tuple[str, str, Callable[[Path], list[Cell]]]] = {
    "choices": (
        "## Other choices of the known items",
        "Items that are popular ones, those of random events, the most frequent, the last or the rarest ones (`--choose`).",
        chosen,
    ),
    "related": (
        "## Related items",
        "The likelihood ignores that items are of one invoice, of one week, or consecutive. Its calibration is fitted on\n"
        "canaries whose items are drawn in the same way.",
        of_one_receipt,
    ),
    "attributes": (
        "## Attributes of the person",
        "The country of a customer (the last one, where there are several) and the month of the first purchase; the year of a\n"
        "person's first rating. They are known exactly or to one month or year, alone and beside items.",
        with_attributes,
    ),
}
"""Sections at the end of the page, each measured and rebuilt alone: heading, introduction, cells."""


def section(name: str, cells: list[Cell]) -> str:
    """A section at the end of the page."""
    heading, introduction, _ = SECTIONS[name]
    absent, posterior = share_close(cells, False)
    raw_absent, raw_posterior = share_close(cells, True)
    n = len(cells)
    lines = [
        heading,
        "",
        introduction,
        "",
        f"{n} kinds of knowledge. Within {100 * CLOSE:.0f} points of the observed rate: P(absent) in {absent} of {n} (not "
        f"calibrated: {raw_absent}),",
        f"the posterior in {posterior} of {n} (not calibrated: {raw_posterior}). `make calibration ONLY={name}` rebuilds this "
        "section alone.",
        "",
        *rows(cells),
    ]
    return "\n".join(lines) + "\n"


def parts_of_page() -> dict[str, str]:
    """The page as it is, cut at the headings of the sections; its beginning is the part without a name."""
    text, out = PAGE.read_text(), {}
    for name in reversed(SECTIONS):
        text, heading, rest = text.partition(SECTIONS[name][0])
        out[name] = heading + rest
    return {"": text, **out}


def main() -> None:
    """Measure everything and write the page; with the name of a section, replace that section only."""
    folder = Path(os.environ.get("STANDOUT_DATA", "."))
    parts = parts_of_page()
    names = sys.argv[1:] or list(SECTIONS)
    if not sys.argv[1:]:
        both = (("MovieLens", movielens(folder)), ("Retail", retail(folder)))
        cells = [cell for name, data in both for cell in measured(name, data, adversaries())]
        parts[""] = page(cells)
    for name in names:
        parts[name] = section(name, SECTIONS[name][2](folder))
    PAGE.write_text("\n\n".join(parts[name].strip() for name in ("", *SECTIONS)) + "\n")


def measured(name: str, data: so.Dataset, kinds: Iterator[so.Adversary]) -> list[Cell]:
    """Cells of the kinds of knowledge, printed as they are measured."""
    cells = []
    for who in kinds:
        cells.append(measure(name, data, who, targets_of(who, data)))
        stated = f"{cells[-1].absent:.3f} {cells[-1].posterior:.3f} {cells[-1].observed:.3f}"
        print(name, who.describe(), stated, file=sys.stderr)
    return cells


if __name__ == "__main__":
    main()
