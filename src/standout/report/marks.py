"""Parts shared by charts: axes, colors and shapes, columns of a rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from standout.report.drawing import NARROW, SERIES, SHAPES, Spec, text_width
from standout.report.tables import Column

SHARE_AXIS: Spec = {"format": "%", "tickCount": 5}
SHARE: Spec = {"type": "quantitative", "scale": {"domain": [0, 1]}}

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

GAP = 24
"""Pixels between panels."""


def flat(rate: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a rate, for a row."""
    return {k: rate[k] for k in ("rate", "low", "high", "count", "n")}


def rate_columns(title: str, term: str) -> tuple[Column, ...]:
    """Columns of a rate: itself, its interval, its counts."""
    return (
        Column("rate", title, "share", term),
        Column("", "95% interval", "interval", "interval"),
        Column("count", "found", "count"),
        Column("n", "people tested", "count", "target"),
    )


def wide(width: int) -> bool:
    """Whether a chart is drawn for a page rather than for a phone."""
    return width > NARROW + 60


def series(names: Sequence[str]) -> dict[str, Spec]:
    """Color, shape and dash of each series. Where the colors begin again, each goes with the next shape."""
    n = len(names)
    looks = {"color": SERIES, "shape": SHAPES, "strokeDash": DASHES}
    rounds = {"color": 0, "shape": 1, "strokeDash": 1}
    places = {
        c: [(k + rounds[c] * (k // len(SERIES))) % len(palette) for k in range(n)]
        for c, palette in looks.items()
    }
    return {
        channel: {
            "scale": {"domain": list(names), "range": [palette[k] for k in places[channel]]},
            "sort": list(names),
            "type": "nominal",
        }
        for channel, palette in looks.items()
    }


def legend(names: Sequence[str], width: int, **more: Any) -> Spec:
    """A legend with as many columns as fit the width."""
    room = max(map(text_width, names)) + 36
    return {"title": None, "columns": max(1, min(len(names), int(width // room))), **more}


def panels(
    n: int, width: int, labels: Sequence[str], most: int, *, shared: bool
) -> tuple[int, float]:
    """Columns of panels and the width of one, so that all of them and their labels fit the width.

    `shared`: only the first column has labels on its left.
    """
    room = max((text_width(x) for x in labels), default=0.0) + 28

    def size(columns: int) -> float:
        return (width - GAP * (columns - 1) - room * (1 if shared else columns)) / columns

    columns = next((k for k in range(min(n, most), 1, -1) if wide(width) and size(k) >= 90), 1)
    # rows of equal length: four panels in two columns, not three and one
    columns = -(-n // -(-n // columns))
    return columns, max(size(columns), 60)
