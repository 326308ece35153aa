"""`to_plain` and `from_plain`: results (frozen dataclasses) to the plain data of JSON, and back with all types checked.

Used by all that is written to JSON files: findings, evidence, frontiers, links. Inside the package
results are dataclasses; dictionaries are only at the border of JSON. The JSON Schema of a file is
derived from the types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from math import isfinite
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
import numpy as np

from standout.errors import InputError

T = TypeVar("T")

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A number from 0 to 1."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A whole number, at least 0."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
"""A whole number, at least 1."""
Amount = Count | Annotated[float, msgspec.Meta(ge=0)]
"""A number that is at least 0; a whole one is read back as it was written."""
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
"""SHA-256 in hexadecimal digits."""


class Part(Mapping[str, Any]):
    """Base of the dataclasses inside a result: `part["name"]` is `part.name`, as in its plain data.

    Scripts can look numbers up by name, as in the file. The code of standout uses attributes.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __getitem__(self, name: str) -> Any:
        if name not in tuple(self):
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in _fields_to_write(self))

    def __len__(self) -> int:
        return len(_fields_to_write(self))


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
        return {one.name: to_plain(getattr(x, one.name)) for one in _fields_to_write(x)}
    if isinstance(x, Mapping):
        return {str(name): to_plain(value) for name, value in x.items()}
    if isinstance(x, list | tuple):
        return [to_plain(value) for value in x]
    return x.item() if isinstance(x, np.generic) else x


def _fields_to_write(x: Any) -> list[Field[Any]]:
    """Fields of a result, without optional ones that have their default."""
    return [
        one
        for one in fields(x)
        if not (one.metadata.get("optional") and getattr(x, one.name) == one.default)
    ]


def from_plain(
    kind: type[T], content: Any, what: str, command: str = "", *, closed: bool = True
) -> T:
    """Make a result of plain data.

    Parameters
    ----------
    kind
        The class of the result.
    content
        What `to_plain` returned, or what was read from JSON.
    what
        What the data is, for the error message.
    command
        The command that makes it, for the error message.
    closed
        Whether parts that are not known are refused.

    Raises
    ------
    InputError
        If a part is missing, is not known, or has another type or range than it must have.
    """
    try:
        made = msgspec.convert(content, kind)
        wrong = _first_fault(content, to_plain(made), "$") if closed else None
    except (msgspec.ValidationError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        again = f"; make it again with `{command}`" if command else ""
        raise InputError(f"{what} is damaged: {wrong}{again}")
    return made


def _first_fault(content: Any, made: Any, place: str) -> str | None:
    """First key of the content that the result made of it lacks, or number that is not finite."""
    if isinstance(content, float) and not isfinite(content):
        return f"a number that is not finite - at `{place}`"
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
            return f"a part that is not known - at `{at}`"
        if found := _first_fault(value, there, at):
            return found
    return None


def json_schema(kind: type) -> dict[str, Any]:
    """JSON Schema of the plain data of a result; no other keys are allowed."""
    schema = msgspec.json.schema(kind)
    for part in schema["$defs"].values():
        if "properties" in part:
            part["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
