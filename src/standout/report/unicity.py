"""Unicity by the resolution of place and time, as a chart and as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.audit.place_time import UNKNOWN, UnicityTable
from standout.report.drawing import (
    POINT,
    SHARE,
    SHARE_AXIS,
    Chart,
    Spec,
    category,
    facets,
    layer,
    legend,
    panels,
    series,
)
from standout.report.tables import make_table, rate_cells
from standout.report.words import percent, rate_words

if TYPE_CHECKING:
    from rich.console import Console


def unicity_chart(found: UnicityTable) -> Chart:
    """Share of people who are unique, by the period and the cell in which their points are known; a panel per p."""
    rows = _rows(found)
    panel_names, places, times = (
        list(dict.fromkeys(row[name] for row in rows)) for name in ("panel", "place", "time")
    )

    def build(width: int) -> Spec:
        columns, size = panels(len(panel_names), width, ["100 %"], 2, shared=False)
        looks, key = series(places), legend(places, width, symbolOpacity=1)
        x = category("time", times, axis={"labelAngle": 0, "grid": False})
        x |= {"title": "period of time", "scale": {"type": "point", "padding": 0.4}}
        color = {"field": "place", **looks["color"], "legend": key}
        shape = {"field": "place", **looks["shape"], "legend": key}
        low, rate = (
            {"field": field, "title": "unique", **SHARE, "axis": SHARE_AXIS}
            for field in ("low", "rate")
        )
        point = POINT | {"size": 52}
        layers = [
            layer("line", {"strokeWidth": 1.5}, x=x, y=rate, color=color),
            layer("rule", {"strokeWidth": 1.5, "opacity": 0.7}, x=x, y=low, y2="high", color=color),
            layer("point", point, x=x, y=rate, color=color, shape=shape, description="tip"),
        ]
        return facets(rows, "panel", panel_names, layers, columns, width=size, height=170)

    ends = [max(rows, key=lambda row: row["rate"]), min(rows, key=lambda row: row["rate"])]
    most, least = (f"{percent(row['rate'])} with {row['words']}" for row in ends)
    return Chart(
        "Unicity by the resolution of place and time",
        f"Share of people whose record is the only one that contains their known points: from {least} to {most}.",
        build,
        make_table("unicity", rows),
    )


def show_unicity(found: UnicityTable, console: Console) -> None:
    """Print a table per number of points: a row per place, a column per period."""
    from rich.table import Table

    console.print(
        f"Known of each of {found.n_people:,} people: random points, each a place and a time. "
        f"{found.n_records - found.n_eligible:,} of {found.n_records:,} people have too few points and were not tested."
    )
    if found.n_left_out:
        console.print(f"{found.n_left_out:,} entries without a place or a time are left out.")
    rows = _rows(found)
    times = list(dict.fromkeys(row["time"] for row in rows))
    for name in dict.fromkeys(row["panel"] for row in rows):
        grid = Table(
            title=f"\nunique, knowing {name}", title_justify="left", box=None, pad_edge=False
        )
        grid.add_column("place")
        for time in times:
            grid.add_column(time, justify="right")
        own = [row for row in rows if row["panel"] == name]
        for place in dict.fromkeys(row["place"] for row in own):
            grid.add_row(place, *(_share_and_interval(row) for row in own if row["place"] == place))
        console.print(grid)


def _rows(found: UnicityTable) -> list[dict[str, Any]]:
    """One row per cell, for tables and charts."""
    made = []
    for one in found.cells:
        rate = rate_cells(one.unique)
        panel = f"{one.points} point{'s' if one.points > 1 else ''}"
        to = "no time" if one.time == UNKNOWN else f"times to the {one.time}"
        words = f"{panel}, places to the {one.place}, {to}"
        row = {"points": one.points, "panel": panel, "place": one.place, "time": one.time, **rate}
        made.append({**row, "words": words, "tip": f"{words}: {rate_words(rate)}"})
    return made


def _share_and_interval(row: dict[str, Any]) -> str:
    return f"{percent(row['rate'])} ({percent(row['low'])} to {percent(row['high'])})"
