"""Make a `Dataset` from arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.assemble import assemble
from standout.data.channels import as_numbers, read_attributes
from standout.data.cleaning import Cleaning
from standout.data.dataset import Dataset
from standout.data.labels import index_labels, unmasked
from standout.data.positions import LAT, LON, PLACE_NOTE, is_position, place_labels
from standout.data.repeats import SourceRows, check_repeats
from standout.data.scale import check_name
from standout.data.time_arrays import times_of
from standout.data.times import check_resolution, midnight_words, resolution_notes
from standout.errors import InputError, ParameterError


def from_arrays(
    record: Any,
    item: Any = None,
    value: Any = None,
    time: Any = None,
    *,
    channels: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    lat: Any = None,
    lon: Any = None,
    repeats: str = "keep",
    resolution: str | None = None,
) -> Dataset:
    """Make a dataset of one-dimensional arrays, one element per entry.

    Parameters
    ----------
    record, item
        Labels of any kind. None, NaN and empty text are missing labels: the row is dropped and
        counted. Without items, the item is the place, if `lat` and `lon` are given.
    value
        Numbers; None or NaN = this entry has no value.
    time
        Days since 1970-01-01 (fractions are times of day), dates or `datetime64`; None, NaN or NaT:
        no time. Times with a zone are converted to UTC. What is finer than the resolution is cut
        off, with a note.
    channels
        Further columns by name: numbers, or labels of any kind; None or NaN = this entry has none.
    attributes
        Columns that belong to the person, by name: the same in every row of a record, or None or NaN.
    lat, lon
        Degrees, for the view `grid:500m`; the same as channels of these names.
    repeats
        What to do with repeated (record, item) pairs: keep, last, first, max, sum or count.
        Further channels are then those of the kept row.
    resolution
        "day", "hour", "minute" or "second". Default: the finest of these that the times have.
    """
    if resolution is not None:
        check_resolution(resolution)
    check_repeats(repeats, value is not None)
    for columns, name in ((channels, "channels"), (attributes, "attributes")):
        if columns is not None and (
            not isinstance(columns, Mapping) or hasattr(columns, "columns")
        ):
            raise ParameterError(
                f"{name} is a {type(columns).__name__}: give a dictionary of columns by name"
            )
    channels = _with_position(channels or {}, lat, lon)
    further = {check_name(name): unmasked(column) for name, column in channels.items()}
    own = {check_name(name): unmasked(column) for name, column in (attributes or {}).items()}
    if both := further.keys() & own.keys():
        raise ParameterError(
            f"{min(both)!r} is named as a channel and as an attribute: name it once"
        )
    _check_shapes(record=record, item=item, value=value, time=time, **further, **own)
    place_note = ""
    if item is None:
        item, place_note = _places(further), PLACE_NOTE
    record_labels, record_index, note = index_labels(record, "record")
    item_labels, item_index, item_note = index_labels(item, "item")
    kept = (record_index >= 0) & (item_index >= 0)
    n, n_kept = int(kept.size), int(kept.sum())
    no_record = int((record_index < 0).sum())
    cleaning = Cleaning(
        rows_read=n,
        rows_without_record=no_record,
        rows_without_item=n - n_kept - no_record,
        repeats=repeats,
    )
    if not n_kept:
        raise InputError(f"no row has both a record and an item; rows read: {n:,}")
    if n_kept < n:  # labels of dropped rows are not used: only the remaining rows are indexed
        record_labels, record_index, note = index_labels(_taken(record, kept), "record")
        item_labels, item_index, item_note = index_labels(_taken(item, kept), "item")
    numbers = None if value is None else _numbers(value)
    if n_kept < n:
        numbers, time = (x if x is None else _taken(x, kept) for x in (numbers, time))
        further, own = (
            {name: _taken(column, kept) for name, column in columns.items()}
            for columns in (further, own)
        )
    times = None if time is None else times_of(time, resolution)
    tick, moment = (None, None) if times is None else (times.tick, times.moment)
    _check_something(numbers, "value")
    _check_something(tick, "time")
    notes = tuple(x for x in (note, item_note, place_note) if x)
    if times is not None:
        notes += resolution_notes(times.unit, times.resolution, resolution is not None)
        n_times = int((~np.isnan(times.moment)).sum())
        if midnights := midnight_words(times.n_midnight, n_times, times.unit):
            notes += (f"time: {midnights}",)
            cleaning = replace(cleaning, times_midnight=times.n_midnight)
    cleaning = replace(cleaning, notes=notes, finest_time=times.unit if times else "")
    rows = SourceRows(record_index, item_index, numbers, tick, moment, further)
    made = assemble(
        rows, record_labels, item_labels, cleaning, times.resolution if times else "day"
    )
    if not own:
        return made
    return replace(made, attributes=read_attributes(own, record_index, record_labels.size))


def _with_position(channels: Mapping[str, Any], lat: Any, lon: Any) -> dict[str, Any]:
    """The channels with latitude and longitude among them."""
    given = {name: x for name, x in ((LAT, lat), (LON, lon)) if x is not None}
    if len(given) == 1:
        raise ParameterError(f"{min(given)} is given alone: give both lat= and lon=")
    if twice := given.keys() & channels.keys():
        raise ParameterError(
            f"{min(twice)} is given twice, as {min(twice)}= and in channels: give it once"
        )
    return {**channels, **given}


def _places(further: Mapping[str, Any]) -> list[str | None]:
    """Labels of the places of the rows."""
    if not is_position(further):
        raise ParameterError(
            "item=None: every entry belongs to a record and an item; give item, or lat and lon for places"
        )
    lat, lon = (as_numbers(further[name]) for name in (LAT, LON))
    if lat is None or lon is None:
        raise InputError("lat and lon: give degrees as numbers, None or NaN where there are none")
    return place_labels(lat, lon)


def from_sparse(matrix: Any) -> Dataset:
    """Make a dataset of a SciPy sparse matrix: rows are records, columns items, stored numbers values.

    A matrix of booleans has no values. As in SciPy, numbers stored twice at one position are added.
    Rows and columns without a stored number are left out; a stored zero is an entry.
    """
    if not hasattr(matrix, "tocoo") or len(matrix.shape) != 2:
        raise ParameterError(
            f"from_sparse takes a two-dimensional SciPy sparse matrix, not {type(matrix).__name__}"
        )
    coo = matrix.tocoo()
    if coo.nnz == 0:
        raise InputError(f"the sparse matrix of shape {coo.shape} holds no entry")
    value = None if coo.dtype.kind == "b" else _numbers(coo.data)
    ds = from_arrays(coo.row, coo.col, value, repeats="last" if value is None else "sum")
    empty_rows, empty_columns = coo.shape[0] - ds.n_records, coo.shape[1] - ds.n_items
    notes = ds.cleaning.notes
    if empty_rows or empty_columns:
        notes = (
            *notes,
            f"sparse matrix: {empty_rows:,} empty rows and {empty_columns:,} empty columns left out",
        )
    return replace(ds, cleaning=replace(ds.cleaning, notes=notes))


def _check_shapes(**arrays: Any) -> None:
    """Refuse arrays that are not one-dimensional or differ in length."""
    sizes = {}
    for name, values in arrays.items():
        if values is None and name in ("item", "value", "time"):
            continue
        try:
            shape = np.shape(values)
        except ValueError:
            shape = (0, 0)  # a list of lists of different lengths
        if len(shape) != 1:
            raise ParameterError(
                f"{name} has {len(shape)} dimensions: give one element per entry, in one dimension"
            )
        sizes[name] = shape[0]
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        raise ParameterError(
            f"arrays differ in length ({lengths}): give one element per entry in each"
        )


def _taken(values: Any, kept: Array) -> Any:
    """The kept elements; a list stays a list, because NumPy would turn its large integers into floats."""
    if isinstance(values, (list, tuple)):
        return [x for x, keep in zip(values, kept.tolist(), strict=True) if keep]
    if isinstance(values, np.ndarray):
        return values[kept]
    return np.asarray(values)[kept]


def _numbers(values: Any) -> Array:
    """Float64 with NaN for missing numbers."""
    array = np.asarray(unmasked(values))
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    try:
        plain = array.tolist()
        return np.array([np.nan if _is_missing(x) else _number(x) for x in plain], np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"value holds {array.dtype} where numbers belong: give numbers, or leave value out"
        ) from None


def _number(x: Any) -> float:
    if isinstance(x, (str, bytes)):
        raise TypeError
    return float(x)


def _is_missing(x: Any) -> bool:
    return x is None or type(x).__name__ in ("NAType", "NaTType")


def _check_something(numbers: Array | None, channel: str) -> None:
    if numbers is not None and bool(np.isnan(numbers).all()):
        raise InputError(f"{channel} is missing in every row: leave {channel} out")
