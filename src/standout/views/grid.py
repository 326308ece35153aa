"""`grid`: places known as cells of a grid, from latitude and longitude. `view.py` loads the module by the name of the view."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import text_labels
from standout.data.mechanism import Mechanism
from standout.data.positions import LAT, LON, check_positions, is_position
from standout.errors import ParameterError
from standout.formulas.grid import grid_cell, grid_center, n_grid_rows
from standout.views.view import View, noted, register_view

UNITS = {"m": 1.0, "km": 1000.0}
SMALLEST, LARGEST = 1.0, 5_000_000.0
"""Edges of cells, in meters."""


@register_view("grid")
class GridView(View):
    """Show the cell of a grid in place of each item, from the channels `lat` and `lon`.

    Rows have equal height, and the cells of a row equal width, so that cells are about square.
    Entries without coordinates are left out. The label of a cell is its center.

    Parameters
    ----------
    edge
        Length of the edge of a cell: "500m", "1km".
    """

    shows = (LAT, LON)

    def __init__(self, edge: str) -> None:
        self.edge = edge_in_meters(edge)

    @property
    def text(self) -> str:
        """The view with the edge of a cell."""
        return f"{self.name}:{edge_words(self.edge).replace(' ', '')}"

    @property
    def words(self) -> str:
        """What is known of an item."""
        return f"places known as cells of {edge_words(self.edge)}"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with cells as items."""
        cells, cell = self.cells(dataset)
        kept = cell >= 0
        left_out = int(cell.size - kept.sum())
        if left_out == cell.size:
            raise ParameterError(
                f"view {self.text!r}: no entry has both a latitude and a longitude; name their columns with lat= and lon= "
                "(--lat, --lon)"
            )
        texts = self._labels(cells)
        order = sorted(range(len(texts)), key=texts.__getitem__)
        place = np.empty(len(texts), np.int64)
        place[order] = np.arange(len(texts))
        labels = text_labels([texts[k] for k in order])
        shown = dataset.with_entries(kept, item=place[cell[kept]], item_labels=labels)
        what = "1 entry" if left_out == 1 else f"{left_out:,} entries"
        verb = "is" if left_out == 1 else "are"
        note = f"{self.text}: {what} without latitude or longitude {verb} left out"
        return noted(shown, note if left_out else "")

    def push(self, mechanism: Mechanism) -> Mechanism | None:
        """Return the parameters if they say nothing about items: samples of people, times, values."""
        left = replace(
            mechanism, sampled=1.0, time=None, dropped=frozenset(), value=None, source_lengths=None
        )
        return replace(mechanism, source_lengths=None) if left.is_neutral else None

    def cells(self, dataset: Dataset) -> tuple[Array, Array]:
        """Cells that occur, as pairs (row, column), and the number of the cell of each entry, -1 = no coordinates."""
        further = dataset.further
        named = {channel.name: k for k, channel in enumerate(further.channels)} if further else {}
        if further is None or not is_position(named):
            raise ParameterError(
                f"view {self.text!r} needs coordinates: name their columns when the data is read, with lat= and lon= (--lat, "
                "--lon)"
            )
        check_positions(further.channels)
        lat, lon = (
            np.append(further.channels[named[name]].levels, np.nan)[further.level(named[name])]
            for name in (LAT, LON)
        )
        known = ~np.isnan(lat) & ~np.isnan(lon)
        pairs = np.stack(grid_cell(lat[known], lon[known], n_grid_rows(self.edge)))
        cells, number = np.unique(pairs, axis=1, return_inverse=True)
        of_code = np.full(lat.size, -1, np.int64)
        of_code[known] = number.reshape(-1)
        return cells.T, of_code[further.code]

    def _labels(self, cells: Array) -> list[str]:
        """Center of each cell, with as many digits as tell cells apart."""
        n_rows = n_grid_rows(self.edge)
        lat, lon = grid_center(cells[:, 0], cells[:, 1], n_rows)
        digits = max(0, math.ceil(1 - math.log10(180.0 / n_rows)))
        # a center of -0.0 is that of 0.0
        rounded = (np.round(x, digits) + 0.0 for x in (lat, lon))
        return [
            f"{a:.{digits}f} {b:.{digits}f}"
            for a, b in zip(*(x.tolist() for x in rounded), strict=True)
        ]


def edge_in_meters(text: str) -> float:
    """Read the edge of a cell.

    >>> edge_in_meters("500m"), edge_in_meters("2.5 km")
    (500.0, 2500.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(m|km)", str(text).strip().lower())
    edge = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not SMALLEST <= edge <= LARGEST:
        raise ParameterError(
            f"grid:{text}: use the edge of a cell in m or km, from 1m to 5000km; example: grid:500m"
        )
    return edge


def edge_words(edge: float) -> str:
    """The edge of a cell with its unit.

    >>> edge_words(500.0), edge_words(2500.0)
    ('500 m', '2.5 km')
    """
    return f"{edge:g} m" if edge < UNITS["km"] else f"{edge / UNITS['km']:g} km"
