"""What is in the data: `standout columns`, `standout describe`, and `standout bound`, what theorems say about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from standout.cli.option_values import numbers, time_tolerances
from standout.cli.options import Reading, command
from standout.cli.outputs import plain_table, print_result
from standout.cli.reading import error_console, progress_on, read_data
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from standout.data.reading.read import Inventory
    from standout.theory.bounds import Bounds
    from standout.theory.describe import Description


@command()
def columns(path: str, /, reading: Reading, json: bool = False) -> None:
    """List the columns of a source: which are used and as what, which are ignored, which identify people directly.

    Only a sample of the rows is read, and no cell is printed.

    Example: standout columns purchases.csv

    Parameters
    ----------
    json
        Print the inventory as JSON.
    """
    from standout.data.reading.options import ReadOptions
    from standout.data.reading.read import inspect_columns

    print_result(inspect_columns(path, ReadOptions(**reading.keywords)), json, _show_columns)


@command()
def describe(
    path: str,
    /,
    reading: Reading,
    records: int | None = None,
    value_within: float = 1.0,
    time_within: str = "14",
    seed: int = 0,
    json: bool = False,
) -> None:
    """Show record lengths, rarity of items, information per item and nearest neighbors.

    Example: standout describe ratings.csv --records 2000

    Parameters
    ----------
    records
        Records whose nearest neighbor is searched. Default: all if that takes seconds.
    value_within
        Values at most this far apart agree.
    time_within
        Times at most this far apart agree: a number of days, or 30min, 2h, 2w.
    """
    from standout.theory.describe import describe as measure

    within, log = time_tolerances(time_within)[0], error_console(json)
    if within is None:
        raise ParameterError("--time-within none: leave the time out with --time '' instead")
    dataset = read_data(path, reading.keywords, log)
    with progress_on(log) as progress:
        found = measure(
            dataset,
            records=records,
            value_within=value_within,
            time_within=within,
            seed=seed,
            progress=progress,
        )
    print_result(found, json, _show_description)


@command(k="--k")
def bound(
    path: str,
    /,
    reading: Reading,
    epsilon: float = 0.05,
    delta: float = 0.2,
    k: int = 10,
    gamma: float = 0.1,
    knows: int = 10,
    value_within: str = "1",
    time_within: str = "14",
    population: float | None = None,
    targets: int = 300,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Show what the theorems require and guarantee, what was measured, and which assumptions hold on this data.

    Example: standout bound ratings.csv --epsilon 0.05 --delta 0.5

    Parameters
    ----------
    epsilon
        Probability with which a guarantee of a theorem may fail.
    delta
        How much the answer may differ from the target, from 0 to 1.
    k
        Number of candidates in the lineup of Theorem 3.
    gamma
        Noise of known values as a share of the scale (DSS12).
    knows
        Items known, for DSS12's Theorem 3.
    value_within
        Values at most this far apart agree; none ignores values.
    time_within
        Times at most this far apart agree: days, or 30min, 2h, 2w; none ignores times.
    population
        Size of the population that the release is a sample of. Default: 10 × records.
    targets
        Records attacked per measurement.
    """
    from standout.theory.bounds import bounds

    within_value = numbers(value_within, "value-within")[0]
    within_time, log = time_tolerances(time_within)[0], error_console(json)
    dataset = read_data(path, reading.keywords, log)
    with progress_on(log) as progress:
        found = bounds(
            dataset,
            epsilon=epsilon,
            delta=delta,
            k=k,
            gamma=gamma,
            knows=knows,
            value_within=within_value,
            time_within=within_time,
            population=population,
            targets=targets,
            seed=seed,
            progress=progress,
        )
    print_result(found, json, _show_bounds)


def _show_columns(found: Inventory, console: Console) -> None:
    """Print the table, then the question that the user has to answer, if there is one."""
    table = plain_table("column", "used as", "why", "direct identifier", left=4)
    for use in found.columns:
        # names come from the file: brackets in them are not markup
        cells = (use.name, use.role, use.reason, use.identifier or "")
        table.add_row(*(cell.replace("[", r"\[") for cell in cells))
    console.print(table)
    for note in found.notes:
        console.print(note, markup=False, soft_wrap=True)
    if found.question is not None:
        console.print(f"question: {found.question}", markup=False, soft_wrap=True)


def _show_description(found: Description, console: Console) -> None:
    """Print the tables."""
    o = found.overview
    console.print(
        f"{o['n_records']:,} records × {o['n_items']:,} items, {o['n_entries']:,} entries, {o['density']:.3%} filled;"
        f" {o['items_held_once']:,} items occur in one record only",
        markup=False,
    )
    if o["scale"]:
        s = o["scale"]
        console.print(
            f"values: {s['levels']} levels from {s['low']:g} to {s['high']:g}, {s['missing']:,} missing"
        )
    if o["span"]:
        s = o["span"]
        finer = "" if s["resolution"] == "day" else f", read to the {s['resolution']}"
        console.print(
            f"days: {s['first']} to {s['last']} ({s['days']:,}{finer}), {s['missing']:,} missing"
        )
    if o["repeated_entries"]:
        console.print(
            f"repeats: {o['repeated_entries']:,} entries beyond the first of their (record, item) pair"
        )
    _counts(found, console)
    _outside(found, console)
    _information(found, console)
    _sparsity(found, console)


def _counts(found: Description, console: Console) -> None:
    titles = ("", "least", "quartile", "median", "quartile", "most", "best fit", "distance")
    table = plain_table(*titles, title="\nSizes")
    for name, counts, fits in (
        ("items per record", found.overview["items_per_record"], found.length_fits),
        ("records per item", found.overview["records_per_item"], found.support_fits),
    ):
        # the first two fits cover the same counts, so their distances can be compared
        best = min(fits[:2], key=lambda f: f.ks) if fits else None
        names = ("least", "first_quartile", "median", "third_quartile", "most")
        cells = [f"{counts[x]:,.0f}" for x in names]
        table.add_row(name, *cells, best.kind if best else "", f"{best.ks:.3f}" if best else "")
    console.print(table)
    console.print(
        "best fit: the distribution closest to the counts; distance 0 would be a perfect fit"
    )


def _outside(found: Description, console: Console) -> None:
    least = sorted(set(found.outside_top["items"]))
    title = "\nRecords with items that are not among the most popular"
    table = plain_table("", *(f"≥ {n}" for n in least), title=title)
    for top, rows in found.outside_top.groupby("top"):
        table.add_row(f"outside the top {top:,}", *(f"{x:.0%}" for x in rows["share"]))
    console.print(table)


def _information(found: Description, console: Console) -> None:
    frame = found.information
    channels = [c for c in ("none", "value", "time") if c in frame]
    words = {"none": "item alone", "value": "with value", "time": "with day"}
    title = "\nBits that one known entry gives away, by popularity"
    table = plain_table("rank", "records", *(words[c] for c in channels), title=title)
    ranks = [n for n in (1, 10, 100, 1000, 10_000, 100_000) if n < len(frame)] + [len(frame)]
    for rank in ranks:
        row = frame.iloc[rank - 1]
        table.add_row(f"{rank:,}", f"{int(row['support']):,}", *(f"{row[c]:.1f}" for c in channels))
    console.print(table)
    console.print(
        f"{found.overview['prior_bits']:.1f} bits identify one of {found.overview['n_records']:,} records"
    )


def _sparsity(found: Description, console: Console) -> None:
    if not found.sparsity:
        return
    title = "\nSimilarity to the nearest other record"
    table = plain_table("agreement on", "median", "above 0.5", "above 0.9", "n", title=title)
    for curve in found.sparsity:
        half, twins = curve.delta(0.5), curve.near_duplicates
        middle = curve.to_dict()["quartiles"][1]
        table.add_row(
            curve.words,
            f"{middle:.2f}",
            f"{half.rate:.1%} [{half.low:.1%}, {half.high:.1%}]",
            f"{twins.rate:.1%} ({twins.count:,})",
            f"{twins.n:,}{'' if curve.whole else ' sampled'}",
        )
    console.print(table)


def _show_bounds(found: Bounds, console: Console) -> None:
    """Print the table, then each theorem's assumptions and caveat, then the conclusions."""
    from rich.text import Text

    titles = ("theorem", "promises", "requires", "measured", "assumptions")
    table = plain_table(*titles, left=5, overflow="fold")
    for row in found.rows:
        assumptions = "hold" if row.holds else "do not all hold"
        table.add_row(row.theorem, row.says, row.asks, row.measured, assumptions)
    console.print(table)
    printed: set[str] = set()
    for row in found.rows:
        console.print(f"\n{row.theorem}", markup=False)
        for a in row.assumptions:
            mark = {True: "holds", False: "fails", None: "given"}[a.holds]
            console.print(f"  {mark}: {a.text} ({a.measured})", markup=False)
        if row.caveat and row.caveat not in printed:
            console.print(f"  caveat: {row.caveat}", markup=False)
            printed.add(row.caveat)
    console.print(Text(f"\n{found.summary()}"), soft_wrap=not console.is_terminal)
