"""Check-ins with a home and a work place each, which are known: planted truth for what is said of places and times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import standout as so
from standout.arrays import Array
from standout.formulas.grid import grid_center

START = 19_723
"""2024-01-01, a Monday, in days since 1970-01-01."""
WEEKS = 4


@dataclass(frozen=True)
class Checkins:
    """Events in arrays, and where each person lives and works."""

    person: Array
    place: Array
    """Number of the place."""
    lat: Array
    lon: Array
    """Degrees; a check-in is near its place, which is the middle of a cell of 500 m; places are 4 km apart."""
    hour: Array
    """Hours since 1970-01-01."""
    home: Array
    work: Array
    """Per person: number of the place."""

    def read(self, *, coordinates: bool = False) -> so.Dataset:
        """The events by place, or by latitude and longitude alone."""
        where = {"lat": self.lat, "lon": self.lon} if coordinates else {"item": self.place}
        return so.Dataset.from_arrays(self.person, time=self.hour / 24, resolution="hour", **where)


def made(n: int = 200, places: int = 60, seed: int = 0) -> Checkins:
    """Check-ins of four weeks: 12 at home at 22 or 23, 8 at work on weekdays at 9 or 10, and 5 elsewhere, each place once.

    So home is the most frequent place of everyone, and work the second.
    """
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, places + 1)
    draws = [rng.choice(places, 7, replace=False, p=share / share.sum()) for _ in range(n)]
    spots = np.stack([rng.permutation(one) for one in draws])
    kinds = np.repeat([0, 1, 2], [12, 8, 5])
    column = np.where(kinds == 2, np.arange(kinds.size) - 18, kinds)
    day = rng.integers(0, 7 * WEEKS, (n, kinds.size))
    workday = 7 * rng.integers(0, WEEKS, day.shape) + rng.integers(0, 5, day.shape)
    day = np.where(kinds == 1, workday, day)
    clock = np.where(
        kinds == 0,
        rng.integers(22, 24, day.shape),
        np.where(kinds == 1, rng.integers(9, 11, day.shape), rng.integers(10, 22, day.shape)),
    )
    place = spots[:, column].reshape(-1)
    # the equator is the lower end of row 20,015 of 40,030
    lat, lon = grid_center(20_015 + place // 8 * 8, 40_000 + place % 8 * 8, 40_030)
    off = rng.uniform(-4e-4, 4e-4, (2, place.size))
    return Checkins(
        np.repeat(np.arange(n), kinds.size),
        place,
        lat + off[0],
        lon + off[1],
        (24 * (START + day) + clock).reshape(-1),
        spots[:, 0],
        spots[:, 1],
    )
