"""Plain data and arrays of numbers as JSON, and back as it was, bit by bit. Nothing else can be written or read."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

_SPECIAL = ("array", "tuple", "number")
_KINDS = "biuf"
_NUMBERS = ("nan", "inf", "-inf")


def to_text(x: Any) -> str:
    """The data as JSON; arrays of numbers and tuples become objects of one special key.

    Raises
    ------
    TypeError
        If it holds labels in an array, keys that are no text, or other objects.
    """
    return json.dumps(_encoded(x), allow_nan=False)


def from_text(text: str | bytes) -> Any:
    """The data that `to_text` wrote.

    Raises
    ------
    ValueError
        If the text is anything else: not JSON, or an array of another type, shape or size than it
        says.
    """
    try:
        return _decoded(json.loads(text, parse_constant=_refused))
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ValueError("not data of this program") from None


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not a number of this program")


def _encoded(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in _KINDS:
            raise TypeError(f"an array of {x.dtype} is not kept")
        return {
            "array": [
                x.dtype.str,
                list(x.shape),
                base64.b64encode(np.ascontiguousarray(x).tobytes()).decode(),
            ]
        }
    if isinstance(x, tuple):
        return {"tuple": [_encoded(one) for one in x]}
    if isinstance(x, list):
        return [_encoded(one) for one in x]
    if isinstance(x, dict):
        if not all(isinstance(name, str) for name in x) or (
            len(x) == 1 and next(iter(x)) in _SPECIAL
        ):
            raise TypeError("keys of a kept result are names")
        return {name: _encoded(one) for name, one in x.items()}
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not np.isfinite(x):
        return {"number": str(x)}
    return x


def _decoded(x: Any) -> Any:
    if isinstance(x, list):
        return [_decoded(one) for one in x]
    if not isinstance(x, dict):
        return x
    if len(x) == 1:
        ((name, inside),) = x.items()
        if name == "array":
            return _array(*inside)
        if name == "tuple":
            return tuple(_decoded(one) for one in inside)
        if name == "number":
            if inside not in _NUMBERS:
                raise ValueError("not a number of this program")
            return float(inside)
    return {name: _decoded(one) for name, one in x.items()}


def _array(kind: str, shape: list[int], content: str) -> Any:
    dtype = np.dtype(kind)
    if (
        dtype.kind not in _KINDS
        or dtype.str != kind
        or not all(type(n) is int and n >= 0 for n in shape)
    ):
        raise ValueError("not an array of numbers")
    # a size that does not fit the shape is refused by NumPy
    return np.frombuffer(base64.b64decode(content, validate=True), dtype).reshape(shape).copy()
