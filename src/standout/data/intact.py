"""Checks of a saved dataset: checksums of its files, and limits of every number that compiled code uses as an index."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.arrays import Array
from standout.data.build import count_pairs
from standout.data.dataset import Dataset
from standout.data.index import LARGEST_BLOCK, Shard
from standout.data.times import TICKS_PER_DAY
from standout.errors import InputError

_CHUNK = 1 << 22
_TICKS = 1 << 20
_LATEST_DAY = 4_000_000
"""Days after 1970-01-01 of a date past the year 9999."""


def file_checksum(path: Path) -> str:
    """CRC-32 of a file, in hexadecimal."""
    crc = 0
    buffer = bytearray(_CHUNK)
    with path.open("rb", buffering=0) as file:
        while n := file.readinto(buffer):
            crc = zlib.crc32(memoryview(buffer)[:n], crc)
    return f"{crc:08x}"


def file_checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """CRC-32 of each file, several files at a time."""
    listed = sorted(names)
    with ThreadPoolExecutor() as pool:
        return dict(
            zip(listed, pool.map(lambda name: file_checksum(folder / name), listed), strict=True)
        )


def meta_checksum(meta: Mapping[str, Any]) -> str:
    """CRC-32 of the content of meta.json without its checksums."""
    content = {name: part for name, part in meta.items() if name != "checksums"}
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def are_unchanged(folder: Path, meta: Mapping[str, Any], *, verify: bool) -> bool:
    """Whether the folder holds exactly the saved files, and (with `verify`) whether each has its checksum."""
    kept = dict(meta["checksums"])
    if kept.pop("meta.json") != meta_checksum(meta):
        return False
    if set(kept) != {path.name for path in folder.glob("*.npy")}:
        return False
    return not verify or kept == file_checksums(folder, kept)


def is_sound(ds: Dataset) -> bool:
    """Whether the arrays of a dataset have the right types and sizes and hold no index out of range."""
    n, levels = ds.n_entries, ds.n_levels
    sizes = [
        ds.record_labels.shape == (ds.n_records,),
        ds.item_labels.shape == (ds.n_items,),
        _is_array(ds.record_ptr, ds.n_records + 1, np.int64),
        _is_array(ds.record_item, n, np.uint16, np.uint32),
        _is_array(ds.record_code, n if ds.has_value else 0, np.uint8, np.uint16, np.uint32),
        _is_array(ds.record_tick, n if ds.has_time else 0, np.uint16, np.uint32),
        _is_array(ds.levels, levels, np.float64),
        _is_array(ds.lengths, ds.n_records, np.int64),
        _is_array(ds.supports, ds.n_items, np.int64),
        ds.record_labels.dtype.kind in "iufUO",
        ds.item_labels.dtype.kind in "iufUO",
        ds.time_resolution in TICKS_PER_DAY,
        type(ds.first_tick) is int
        and abs(ds.first_tick) <= _LATEST_DAY * TICKS_PER_DAY.get(ds.time_resolution, 0),
        type(ds.tick_span) is int and 0 <= ds.tick_span < ds.no_tick,
    ]
    return (
        all(sizes)
        and ds.record_ptr[0] == 0
        and ds.record_ptr[-1] == n
        and _never_falls(ds.record_ptr)
        and _below(ds.record_item, ds.n_items)
        and _below(ds.record_code, levels + 1)
        and _ticks_fit(ds.record_tick, ds)
        and _counts_fit(ds)
        and _levels_rise(ds)
        and _channels_fit(ds)
    )


def _channels_fit(ds: Dataset) -> bool:
    """Whether codes of further channels have the right types and sizes, and stand for levels that are there."""
    for own in ds.attributes.values():
        rising = (np.diff(own.channel.levels) > 0).all()
        if not _is_array(own.code, ds.n_records, np.int64) or not rising or (own.code < 0).any():
            return False
        if not _below(own.code, own.channel.n_levels + 1):
            return False
    further = ds.further
    if further is None:
        return True
    widths = [channel.n_levels for channel in further.channels]
    sizes = [
        further.points.dtype == np.int64 and further.points.shape == (further.n_codes, len(widths)),
        _is_array(further.code, ds.n_entries, np.uint8, np.uint16, np.uint32),
        all(
            np.isfinite(c.levels).all() and (np.diff(c.levels) > 0).all() for c in further.channels
        ),
        all(c.labels is None or c.labels.size == c.n_levels for c in further.channels),
    ]
    return (
        all(sizes)
        and bool(((further.points >= 0) & (further.points <= widths)).all())
        and _below(further.code, further.n_codes + 1)
        and (further.channels[0].name == "value") == ds.has_value
    )


def count_again(ds: Any) -> None:
    """Trust no stored counts and no stored index of a dataset: compare the counts, and build the index on next use."""
    if not hasattr(ds, "record_ptr"):
        return
    lengths, supports = np.zeros(ds.n_records, np.int64), np.zeros(ds.n_items, np.int64)
    count_pairs(ds.record_ptr, ds.record_item, lengths, supports)
    falls = np.flatnonzero(ds.record_item[1:] < ds.record_item[:-1]) + 1
    same = np.array_equal(lengths, ds.lengths) and np.array_equal(supports, ds.supports)
    if not same or not np.isin(falls, ds.record_ptr).all():
        raise InputError(
            "the counts of the saved dataset are not those of its records: save it again from the original data"
        )
    vars(ds).pop("index", None)


def is_index_of(index: Shard, ds: Dataset) -> bool:
    """Whether the stored index has the sizes of the dataset, and every number in it stays in range."""
    numbers = (index.first_record, index.n_records, index.block_size)
    if not all(type(x) is int for x in numbers) or type(index.has_repeats) is not bool:
        return False
    if not 1 <= index.block_size <= LARGEST_BLOCK or (index.first_record, index.n_records) != (
        0,
        ds.n_records,
    ):
        return False
    n_blocks = max(1, -(-ds.n_records // index.block_size))
    sizes = [
        index.ptr.dtype in (np.dtype(np.uint32), np.dtype(np.int64)),
        index.ptr.shape == (n_blocks, ds.n_items + 1),
        index.ptr.flags.c_contiguous,
        _is_array(index.local, ds.n_entries, np.uint16),
        _is_array(index.code, ds.record_code.size, ds.record_code.dtype),
        _is_array(index.tick, ds.record_tick.size, ds.record_tick.dtype),
        index.has_repeats == ds.has_repeats,
    ]
    if not all(sizes):
        return False
    edges = [min(k * index.block_size, ds.n_records) for k in range(n_blocks + 1)]
    for block, (first, stop) in enumerate(pairwise(edges)):
        starts, low, high = index.ptr[block], int(ds.record_ptr[first]), int(ds.record_ptr[stop])
        if (starts[0], starts[-1]) != (low, high) or not _never_falls(starts):
            return False
        if not _below(index.local[low:high], stop - first):
            return False
    return _below(index.code, ds.n_levels + 1) and _ticks_fit(index.tick, ds)


def _is_array(array: Array, size: int, *kinds: npt.DTypeLike) -> bool:
    return array.shape == (size,) and array.dtype in [np.dtype(kind) for kind in kinds]


def _never_falls(array: Array) -> bool:
    return bool((array[1:] >= array[:-1]).all())


def _below(array: Array, limit: int) -> bool:
    return array.size == 0 or int(array.max()) < limit


def _ticks_fit(tick: Array, ds: Dataset) -> bool:
    """Whether every tick is at most `tick_span`, or means "no time"."""
    if _below(tick, ds.tick_span + 1):
        return True
    for first in range(0, tick.size, _TICKS):
        part = tick[first : first + _TICKS]
        if not _below(part[part != ds.no_tick], ds.tick_span + 1):
            return False
    return True


def _counts_fit(ds: Dataset) -> bool:
    """Whether records hold at most as many items as entries, and both counts have the same sum."""
    fits = (ds.lengths >= 0).all() and (ds.lengths <= np.diff(ds.record_ptr)).all()
    return bool(fits and (ds.supports >= 0).all() and ds.supports.sum() == ds.lengths.sum())


def _levels_rise(ds: Dataset) -> bool:
    """Whether levels are finite and rising."""
    return bool(np.isfinite(ds.levels).all() and (ds.levels[1:] > ds.levels[:-1]).all())
