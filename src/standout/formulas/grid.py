"""A grid of about square cells on the globe: rows of equal height, and in each row cells of equal width."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the Earth, in meters."""


def n_grid_rows(edge: float) -> int:
    """R = max(1, round(π·r / a)): rows of height a from pole to pole, with the Earth's radius r; both in meters.

    >>> n_grid_rows(500.0), n_grid_rows(10_000_000.0)
    (40030, 2)
    """
    return max(1, round(np.pi * EARTH_RADIUS / edge))


def n_grid_columns(row: Any, n_rows: int) -> Array:
    """C(i) = max(1, round(2R · cos φ_i)), where φ_i = ((i + ½)/R - ½)·180° is the middle of row i.

    The circle of latitude φ is 2π·r·cos φ long, and so holds 2R·cos φ cells.

    >>> n_grid_columns([0, 1, 2, 3], 4).tolist()
    [3, 7, 7, 3]
    """
    middle = (np.asarray(row) + 0.5) / n_rows - 0.5
    return np.asarray(np.maximum(1, np.rint(2 * n_rows * np.cos(np.pi * middle))), np.int64)


def grid_cell(lat: Any, lon: Any, n_rows: int) -> tuple[Array, Array]:
    """Row i = ⌊(lat + 90)/180 · R⌋ and column j = ⌊(lon + 180)/360 · C(i)⌋ mod C(i), of degrees.

    The north pole is in row R - 1. A pole has no longitude and is in column 0. Longitudes 180 and
    -180 are the same.

    >>> [x.tolist() for x in grid_cell([0.1, 0.1, 0.1, 90.0], [179.0, 180.0, -180.0, 77.0], 4)]
    [[2, 2, 2, 3], [6, 0, 0, 0]]
    """
    north, east = np.asarray(lat, np.float64), np.asarray(lon, np.float64)
    row = np.minimum((north + 90.0) / 180.0 * n_rows, n_rows - 1).astype(np.int64)
    n = n_grid_columns(row, n_rows)
    column = ((east + 180.0) / 360.0 * n).astype(np.int64) % n
    return row, np.where(np.abs(north) == 90.0, 0, column)


def grid_center(row: Any, column: Any, n_rows: int) -> tuple[Array, Array]:
    """Center of a cell, in degrees: lat = (i + ½)/R · 180 - 90, lon = (j + ½)/C(i) · 360 - 180.

    >>> [x.round(3).tolist() for x in grid_center([2, 3], [0, 1], 4)]
    [[22.5, 67.5], [-154.286, 0.0]]
    """
    lat = (np.asarray(row) + 0.5) / n_rows * 180.0 - 90.0
    lon = (np.asarray(column) + 0.5) / n_grid_columns(row, n_rows) * 360.0 - 180.0
    return lat, lon
