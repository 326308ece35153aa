"""The section with what `describe` measured: why people can be found in this data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report import why
from standout.report.section import Section, generic
from standout.report.tables import Column, ReportTable
from standout.report.words import number, percent, several

Plain = Mapping[str, Any]

TEXT = (
    "People can be found because records are sparse: each holds few of all items, and few others hold most of these. "
    "A handful of items then fits one record only. A fact about a rare item carries more bits than one about a popular item."
)

TABLES: dict[str, tuple[str, tuple[Column, ...]]] = {
    "lengths": (
        "How many items records hold",
        (
            Column("items", "items in the record", "count"),
            Column("records", "records", "count"),
            Column("at_most", "records with at most this many", "share"),
        ),
    ),
    "supports": (
        "How many records hold an item, the most popular first",
        (
            Column("rank", "popularity rank of the item", "count"),
            Column("support", "records that hold it", "count", "support"),
            Column("share_of_pairs", "share of all entries up to this rank", "share"),
        ),
    ),
    "outside_top": (
        "Records with items that are not among the most popular",
        (
            Column("top", "most popular items left out", "count"),
            Column("items", "other items held, at least", "count"),
            Column("records", "records", "count"),
            Column("share", "share of records", "share"),
        ),
    ),
    "length_fits": ("Distributions fitted to the number of items per record", ()),
    "support_fits": ("Distributions fitted to the number of records per item", ()),
}
"""Tables that are known, with their headings."""

FIT = (
    Column("kind", "distribution"),
    Column("start", "fitted to counts from", "count"),
    Column("share", "share of counts fitted", "share"),
    Column("ks", "distance from the data (0 = perfect fit)", "number"),
    Column("alpha", "exponent of the power law", "number"),
    Column("mu", "mean of the logarithm", "number"),
    Column("sigma", "standard deviation of the logarithm", "number"),
)


def described(content: Plain, title: str) -> Section:
    """Charts where there is one, text for the known parts, plain tables for the rest."""
    drawn = {"information": why.information(content), "sparsity": why.sparsity(content)}
    rest = {k: v for k, v in content.items() if drawn.get(k) is None and k != "theorem"}
    overview = rest.pop("overview", None)
    points = overview_points(overview) if isinstance(overview, Mapping) else []
    tables = [
        ReportTable(f"describe-{key}", name, columns or FIT, tuple(rest.pop(key)))
        for key, (name, columns) in TABLES.items()
        if _rows_of(rest.get(key))
    ]
    others = generic("describe", title, rest)
    return Section(
        "describe",
        title,
        (TEXT, *others.text),
        tuple(c for c in drawn.values() if c),
        (*tables, *others.tables),
        (*points, *others.points),
        others.parts,
    )


def _rows_of(x: Any) -> bool:
    return isinstance(x, list | tuple) and bool(x) and all(isinstance(row, Mapping) for row in x)


def overview_points(o: Plain) -> list[tuple[str, str]]:
    """Counts, quartiles, scale and span in words, as far as they are present."""
    points = []
    if "density" in o:
        points.append(
            ("Filled", f"{percent(o['density'])} of all combinations of a record and an item")
        )
    for key, name, nouns in (
        ("items_per_record", "Items per record", "the records hold"),
        ("records_per_item", "Records per item", "the items are held by"),
    ):
        if five := o.get(key):
            points.append(
                (
                    name,
                    f"half of {nouns} {number(round(five['first_quartile']))} to "
                    f"{number(round(five['third_quartile']))}; median {number(round(five['median']))}, "
                    f"smallest {number(five['least'])}, largest {number(five['most'])}",
                )
            )
    if "items_held_once" in o:
        points.append(("Items held by one record only", number(o["items_held_once"])))
    if o.get("repeated_entries"):
        points.append(
            (
                "Repeated entries",
                f"{number(o['repeated_entries'])} beyond the first for the same record and item",
            )
        )
    if "prior_bits" in o and "n_records" in o:
        points.append(
            (
                "Uncertainty if nothing is known",
                f"{o['prior_bits']:.1f} bits: {several(o['n_records'], 'equally likely record')}",
            )
        )
    if scale := o.get("scale"):
        missing = f"; {number(scale['missing'])} entries have none" if scale.get("missing") else ""
        points.append(
            (
                "Values",
                f"{number(scale['levels'])} different ones from {number(scale['low'])} to "
                f"{number(scale['high'])}{missing}",
            )
        )
    if span := o.get("span"):
        missing = f"; {number(span['missing'])} entries have none" if span.get("missing") else ""
        points.append(("Days", f"{span['first']} to {span['last']}{missing}"))
    return points
