"""Positions: latitude and longitude of the entries, as the channels `lat` and `lon`.

Reading checks them here and makes places of them where a file has no items; the view `grid` and
`place_time` use them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from standout.arrays import Array
from standout.data.cleaning import ColumnUse
from standout.data.scale import Channel
from standout.errors import InputError

LAT, LON = "lat", "lon"
MOST = {LAT: 90.0, LON: 180.0}
"""Largest latitude and longitude, in degrees; the smallest are their negatives."""

PLACE_NOTE = (
    "no item column: the item is the place, with the exact coordinates of the file; --view grid:500m (view=) shows cells of a "
    "grid in their place"
)


def is_position(channels: Collection[str]) -> bool:
    """Whether channels of these names are a latitude and a longitude.

    >>> is_position(["lat", "lon", "price"]), is_position(["lat"])
    (True, False)
    """
    return LAT in channels and LON in channels


def known_with_items(columns: Sequence[ColumnUse]) -> tuple[str, ...]:
    """Channels that are known wherever items are: latitude and longitude, if a source has no other items than places."""
    no_items = bool(columns) and not any(use.role == "item" for use in columns)
    return (LAT, LON) if no_items else ()


def check_positions(channels: Sequence[Channel]) -> None:
    """Refuse a latitude and a longitude that are no degrees.

    Raises
    ------
    InputError
        If they hold labels, or lie out of range.
    """
    named = {channel.name: channel for channel in channels}
    if not is_position(named):
        return
    for name in MOST:
        if named[name].labels is not None:
            raise no_degrees(name)
    outside = {name: int((np.abs(named[name].levels) > most).sum()) for name, most in MOST.items()}
    if not any(outside.values()):
        return
    name = LAT if outside[LAT] else LON
    swapped = all(
        np.abs(named[one].levels).max() <= MOST[other] for one, other in ((LAT, LON), (LON, LAT))
    )
    hint = (
        "they fit if --lat and --lon (lat=, lon=) are exchanged"
        if swapped
        else "name columns in degrees with --lat and --lon (lat=, lon=), or correct the rows"
    )
    raise InputError(
        f"channel {name}: {outside[name]:,} of {named[name].n_levels:,} different numbers lie outside -{MOST[name]:g} to "
        f"{MOST[name]:g}: {hint}"
    )


def no_degrees(name: str) -> InputError:
    """Error for a channel of coordinates that holds anything but numbers."""
    return InputError(
        f"channel {name} holds labels where degrees belong: name columns of numbers with --lat and --lon (lat=, lon=); "
        "decimal commas need --decimal ,"
    )


def place_labels(lat: Array, lon: Array) -> list[str | None]:
    """Latitude and longitude of each entry as one text; None where one of them is missing.

    >>> place_labels(np.array([52.5, -0.0]), np.array([13.25, np.nan]))
    ['52.5 13.25', None]
    """
    # a latitude of -0.0 is that of 0.0
    pairs = zip((lat + 0.0).tolist(), (lon + 0.0).tolist(), strict=True)
    return [None if a != a or b != b else f"{a!r} {b!r}" for a, b in pairs]


def place_sql(lat: str, lon: str) -> str:
    """`place_labels` in SQL, of two expressions of type DOUBLE.

    >>> place_sql("x", "y")
    "((x) + 0)::VARCHAR || ' ' || ((y) + 0)::VARCHAR"
    """
    return f"(({lat}) + 0)::VARCHAR || ' ' || (({lon}) + 0)::VARCHAR"
