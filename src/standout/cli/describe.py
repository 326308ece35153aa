"""`standout describe`: the properties of a release that explain why people in it can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from standout.theory.describe import Description


@options.reads()
def describe(
    path: options.DataPath,
    reading: options.Reading,
    records: Annotated[
        int | None,
        typer.Option(
            help="Records whose nearest neighbor is searched. Default: all if that takes seconds."
        ),
    ] = None,
    value_within: Annotated[float, typer.Option(help="Values at most this far apart agree.")] = 1.0,
    time_within: Annotated[
        str,
        typer.Option(
            help="Times at most this far apart agree: a number of days, or 30min, 2h, 2w."
        ),
    ] = "14",
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Show record lengths, rarity of items, information per item and nearest neighbors.

    Example: standout describe ratings.csv --records 2000
    """
    from standout.cli.waiting import read_quietly, waiting
    from standout.errors import ParameterError
    from standout.theory.describe import describe as measure

    within = options.time_tolerances(time_within)[0]
    if within is None:
        raise ParameterError("--time-within none: leave the time out with --time '' instead")
    dataset = read_quietly(path, json, **reading.keywords)
    with waiting(json) as progress:
        found = measure(
            dataset,
            records=records,
            value_within=value_within,
            time_within=within,
            seed=seed,
            progress=progress,
        )
    if json:
        from json import dumps

        print(dumps(found.to_dict(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        from rich.console import Console

        show(found, Console(highlight=False))


def show(found: Description, console: Console) -> None:
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


def _table(title: str, *columns: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name == columns[0] else "right")
    return table


def _counts(found: Description, console: Console) -> None:
    table = _table(
        "\nSizes", "", "least", "quartile", "median", "quartile", "most", "best fit", "distance"
    )
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
    table = _table(
        "\nRecords with items that are not among the most popular", "", *(f"≥ {n}" for n in least)
    )
    for top, rows in found.outside_top.groupby("top"):
        table.add_row(f"outside the top {top:,}", *(f"{x:.0%}" for x in rows["share"]))
    console.print(table)


def _information(found: Description, console: Console) -> None:
    frame = found.information
    channels = [c for c in ("none", "value", "time") if c in frame]
    words = {"none": "item alone", "value": "with value", "time": "with day"}
    table = _table(
        "\nBits that one known entry gives away, by popularity",
        "rank",
        "records",
        *(words[c] for c in channels),
    )
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
    table = _table(
        "\nSimilarity to the nearest other record",
        "agreement on",
        "median",
        "above 0.5",
        "above 0.9",
        "n",
    )
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
