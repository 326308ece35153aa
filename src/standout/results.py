"""Results as frozen dataclasses: written as plain data, and read back where they fit their types.

Dictionaries are only at the border of JSON. The JSON Schema of a file is derived from the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from standout.errors import InputError

T = TypeVar("T")

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A number from 0 to 1."""
Count = Annotated[int, msgspec.Meta(ge=0)]
"""A whole number, at least 0."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
"""A whole number, at least 1."""
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
"""SHA-256 in hexadecimal digits."""


def optional(default: Any = None) -> Any:
    """Field of a result that plain data leaves out where it has its default."""
    return field(default=default, metadata={"optional": True})


def to_plain(x: Any) -> Any:
    """Return a result as dicts, lists, texts and numbers of Python.

    >>> from standout.formulas.rates import Rate
    >>> to_plain({"hits": (Rate(1, 2, 0.5, 0.1, 0.9),)})
    {'hits': [{'count': 1, 'n': 2, 'rate': 0.5, 'low': 0.1, 'high': 0.9}]}
    """
    if is_dataclass(x):
        content = {one.name: (getattr(x, one.name), one) for one in fields(x)}
        return {
            name: to_plain(value)
            for name, (value, one) in content.items()
            if not (one.metadata.get("optional") and value == one.default)
        }
    if isinstance(x, Mapping):
        return {str(name): to_plain(value) for name, value in x.items()}
    if isinstance(x, list | tuple):
        return [to_plain(value) for value in x]
    return x.item() if isinstance(x, np.generic) else x


def from_plain(kind: type[T], content: Any, what: str) -> T:
    """Make a result of plain data.

    Parameters
    ----------
    kind
        The class of the result.
    content
        What `to_plain` returned, or what was read from JSON.
    what
        What the data is, for the error message.

    Raises
    ------
    InputError
        If a part is missing, is not known, or has another type or range than it must have.
    """
    try:
        made = msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{what} is damaged: {error}") from None
    if unknown := _unknown(content, to_plain(made), "$"):
        raise InputError(f"{what} is damaged: a part that is not known - at `{unknown}`")
    return made


def _unknown(content: Any, made: Any, place: str) -> str | None:
    """First key of the content that the result made of it lacks."""
    if isinstance(content, Mapping) and isinstance(made, Mapping):
        pairs = [
            (f"{place}.{key}", value, made.get(key, MISSING)) for key, value in content.items()
        ]
    elif isinstance(content, list) and isinstance(made, list):
        pairs = [(f"{place}[{k}]", *both) for k, both in enumerate(zip(content, made, strict=True))]
    else:
        return None
    for at, value, there in pairs:
        # a null may stand for an optional part
        if there is MISSING and value is not None:
            return at
        if found := _unknown(value, there, at):
            return found
    return None


def json_schema(kind: type) -> dict[str, Any]:
    """JSON Schema of the plain data of a result; no other keys are allowed."""
    schema = msgspec.json.schema(kind)
    for part in schema["$defs"].values():
        if "properties" in part:
            part["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
