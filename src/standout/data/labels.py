"""Labels: the names of records and items in the source, and their indices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.errors import InputError

WIDEST_TABLE = 1 << 28
"""Limit for labels of fixed width, in bytes; larger arrays are kept as Python strings."""

WIDEST_LOOKUP = 1 << 25
"""Range of integer labels that are indexed by a table, at least."""

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)(\.0)?", re.ASCII)


def index_labels(values: Any, what: str) -> tuple[Array, Array, str | None]:
    """Sorted distinct labels, the index of each element (-1 = no label), a note if labels changed their type.

    Whole numbers become integers, text stays text; None, NaN and empty text are missing labels.

    >>> index_labels(["b", "a", None, "b"], "item")[:2]
    (array(['a', 'b'], dtype='<U1'), array([ 1,  0, -1,  1]))
    """
    array = _as_given(values)
    if array.dtype.kind in "biuf":
        if array.dtype.kind != "f" or not np.isnan(array).any():
            return *_numbered(_whole_numbers(array)), None
        present = ~np.isnan(array)
        labels, inverse = _numbered(_whole_numbers(array[present]))
        return labels, _spread(inverse, present), None
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), "", np.datetime_as_string(array))
    if (texts := _texts_numbered(array)) is not None:
        return *texts, None
    plain, note = _plain(array.tolist(), what)
    present = np.array([x is not None for x in plain], np.bool_)
    kept = [x for x in plain if x is not None]
    distinct = sorted(set(kept))
    place = {label: k for k, label in enumerate(distinct)}
    inverse = np.fromiter((place[x] for x in kept), np.int64, len(kept))
    return _array_of(distinct), _spread(inverse, present), note


def _numbered(numbers: Array) -> tuple[Array, Array]:
    """Sorted distinct numbers and the place of each element: `np.unique` without sorting all of them."""
    if not numbers.size:
        return np.unique(numbers, return_inverse=True)
    low, high = numbers.min(), numbers.max()
    if numbers.dtype.kind == "i" and int(high) - int(low) < max(WIDEST_LOOKUP, numbers.size):
        offset = numbers - low
        there = np.zeros(int(high) - int(low) + 1, np.bool_)
        there[offset] = True
        return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[offset]
    encoded = pa.array(numbers).dictionary_encode()
    distinct = encoded.dictionary.to_numpy()
    order = np.argsort(distinct)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return distinct[order], place[encoded.indices.to_numpy()]


def _texts_numbered(array: Array) -> tuple[Array, Array] | None:
    """Sorted distinct texts and the place of each element (-1 = no label); None where not all labels are texts."""
    try:
        encoded = pa.array(array, pa.large_string(), from_pandas=True).dictionary_encode()
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None
    texts = encoded.dictionary.to_pylist()
    distinct = sorted(x for x in texts if x)
    if not distinct:
        return None
    at = {label: k for k, label in enumerate(distinct)}
    place = np.array([*(at.get(x, -1) for x in texts), -1], np.int64)
    return text_labels(distinct), place[
        encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    ]


def integers_of(texts: list[str]) -> Array | None:
    """The texts as integers, or None if one is not in canonical form ("007" is text).

    >>> integers_of(["7", "-3", "12.0"]), integers_of(["7", "007"])
    (array([ 7, -3, 12]), None)
    """
    if not all(_WHOLE.fullmatch(t) and t != "-0" for t in texts):
        return None
    numbers = [int(t.removesuffix(".0")) for t in texts]
    kind = _integer_type(numbers)
    return None if kind is None else np.array(numbers, kind)


def text_labels(texts: list[str]) -> Array:
    """The texts in fixed width, or as Python strings if one long label would make all of them wide."""
    width = max(map(len, texts), default=1)
    # fixed width pads with NUL: a label that ends in NUL would lose it
    if len(texts) * width * 4 > WIDEST_TABLE or any(t.endswith("\0") for t in texts):
        boxed = np.empty(len(texts), object)
        boxed[:] = texts
        return boxed
    return np.array(texts, dtype=f"<U{max(width, 1)}")


def find_labels(labels: Array, wanted: Any) -> Array:
    """Index of each wanted label, -1 where the dataset has none; `labels` as in `Dataset.item_labels`.

    >>> find_labels(np.array([3, 5]), [5.0, 4, 3])
    array([ 1, -1,  0])
    """
    found, index, _ = index_labels(wanted, "label")
    kinds = {found.dtype.kind, labels.dtype.kind}
    if kinds <= {"i", "u", "f"} and "f" in kinds:
        labels, found = labels.astype(np.float64), found.astype(np.float64)
    elif found.dtype.kind != labels.dtype.kind:
        # 17 and "17" are the same label; "017" is another one
        place = {str(x): k for k, x in enumerate(labels.tolist())}
        at = np.array([place.get(str(x), -1) for x in found.tolist()], np.int64)
        return np.append(at, -1)[index]
    at = np.searchsorted(labels, found)
    at[at == labels.size] = 0
    hit = labels[at] == found if labels.size else np.zeros(found.size, np.bool_)
    return np.append(np.where(hit, at, -1), -1)[index]


def unmasked(values: Any) -> Any:
    """The values, with None for masked ones: NumPy would show the masked values."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    bare = np.asarray(values, dtype=object).copy()
    bare[np.ma.getmaskarray(values)] = None
    return bare


def _as_given(values: Any) -> Array:
    values = unmasked(values)
    array = np.asarray(values)
    if array.dtype.kind in "fUS" and not hasattr(values, "dtype"):
        # NumPy converts large integers to float64, and mixed numbers and texts to text
        array = np.asarray(values, dtype=object)
    return array


def _spread(inverse: Array, present: Array) -> Array:
    """Indices of the present elements, -1 for the others."""
    index = np.full(present.size, -1, np.int64)
    index[present] = inverse.reshape(-1)
    return index


def _whole_numbers(array: Array) -> Array:
    """Int64 where all are whole numbers of 64 bits, uint64 where only that fits, else float64."""
    if array.dtype.kind == "f":
        floats = array.astype(np.float64)
        whole = bool(np.all(np.isfinite(floats)) and np.all(floats == np.floor(floats)))
        return (
            floats.astype(np.int64)
            if whole and bool(np.all(np.abs(floats) < 2.0**63))
            else floats + 0.0
        )
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        return array
    return array.astype(np.int64)


def _array_of(distinct: list[Any]) -> Array:
    """Labels of one kind as an array."""
    if distinct and isinstance(distinct[0], str):
        return text_labels(distinct)
    if any(isinstance(x, float) for x in distinct):
        return np.array(distinct, np.float64)
    return np.array(distinct, _integer_type(distinct) or object)


def _integer_type(numbers: list[int]) -> type[np.integer[Any]] | None:
    """The 64-bit type that holds all the integers, None if there is none."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    for kind in (np.int64, np.uint64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return kind
    return None


def _plain(values: list[Any], what: str) -> tuple[list[Any], str | None]:
    """Python integers, floats or strings, all of one kind, None for no label."""
    plain = [_plain_one(x) for x in values]
    kinds = {type(x) for x in plain if x is not None}
    if kinds <= {int}:
        if _integer_type([x for x in plain if x is not None]) is None:
            return _texts(plain), f"{what}: labels are integers beyond 64 bits, kept as text"
        return plain, None
    if kinds <= {int, float}:
        return [None if x is None else float(x) for x in plain], None
    if kinds <= {str}:
        return plain, None
    return _texts(plain), f"{what}: labels are of mixed kinds, all kept as text"


def _texts(plain: list[Any]) -> list[str | None]:
    return [None if x is None else str(x) for x in plain]


def _plain_one(x: Any) -> Any:
    if x is None or type(x).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(x, (list, dict, set, np.ndarray)):
        raise InputError(f"labels are of type {type(x).__name__}: give one label per entry")
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, bytes):
        try:
            x = x.decode()
        except UnicodeDecodeError:
            x = x.decode("latin-1")
    if isinstance(x, str):
        return str(x) or None
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, float):
        if x != x:
            return None
        return int(x) if x.is_integer() else x
    return int(x) if isinstance(x, int) else str(x)
