"""Check that plain data has the structure of findings, before anything uses it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from standout.errors import InputError

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda x: isinstance(x, Mapping),
    "array": lambda x: isinstance(x, list | tuple),
    "string": lambda x: isinstance(x, str),
    "integer": lambda x: isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**63,
    # a threshold that nobody reaches is the largest float
    "number": lambda x: (
        isinstance(x, float) or (isinstance(x, int) and not isinstance(x, bool) and abs(x) < 2**63)
    ),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
}


def check_structure(data: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise `InputError` where the data does not fit the schema of the findings.

    It reads the keywords that the schema uses; `jsonschema` is not needed to open findings.
    Provenance may lack parts.
    """
    parts = {
        **schema["properties"],
        "provenance": {**schema["properties"]["provenance"], "required": ["versions"]},
    }
    place = misfit(data, {**schema, "properties": parts}, schema["$defs"], "findings")
    place = place or _inconsistent(data)
    if place is not None:
        raise InputError(
            f"the findings are damaged at {place[:100]}; make them again with `standout audit`"
        )


def misfit(x: Any, rule: Mapping[str, Any], defs: Mapping[str, Any], place: str) -> str | None:
    """First place where the data does not fit the rule; None where all of it fits."""
    if "$ref" in rule:
        found = misfit(x, defs[rule["$ref"].removeprefix("#/$defs/")], defs, place)
        if found is not None:
            return found
    if not _fits(x, rule) or (isinstance(x, float) and not math.isfinite(x)):
        return place
    for one in rule.get("allOf", ()):
        found = misfit(x, one, defs, place)
        if found is not None:
            return found
    if "oneOf" in rule:
        misfits = [misfit(x, one, defs, place) for one in rule["oneOf"]]
        if None not in misfits:
            return max((m for m in misfits if m is not None), key=len)
    return _misfit_inside(x, rule, defs, place)


def _fits(x: Any, rule: Mapping[str, Any]) -> bool:
    """Whether the data itself fits, whatever it holds."""
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_TYPES[kind](x) for kind in kinds):
        return False
    if "const" in rule and x != rule["const"]:
        return False
    if "enum" in rule and x not in rule["enum"]:
        return False
    if _TYPES["number"](x) and not rule.get("minimum", -math.inf) <= x <= rule.get(
        "maximum", math.inf
    ):
        return False
    if isinstance(x, str) and "pattern" in rule and not re.search(rule["pattern"], x):
        return False
    if _TYPES["array"](x) and len(x) < rule.get("minItems", 0):
        return False
    return not _TYPES["object"](x) or all(name in x for name in rule.get("required", ()))


def _misfit_inside(
    x: Any, rule: Mapping[str, Any], defs: Mapping[str, Any], place: str
) -> str | None:
    if _TYPES["array"](x) and "items" in rule:
        inside = [(one, rule["items"], f"{place}[{k}]") for k, one in enumerate(x)]
    elif _TYPES["object"](x):
        known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        if others is False and any(name not in known for name in x):
            return f"{place}, which has a part that is not known"
        rules = {name: known.get(name, others) for name in x}
        inside = [
            (x[name], one, f"{place}.{name}")
            for name, one in rules.items()
            if isinstance(one, Mapping)
        ]
    else:
        return None
    return next(
        (
            found
            for part in inside
            if (found := misfit(part[0], part[1], defs, part[2])) is not None
        ),
        None,
    )


def _inconsistent(data: Mapping[str, Any]) -> str | None:
    """First part that refers to something the findings do not hold, or a date that is none."""
    for k, result in enumerate(data["results"]):
        labels = {one["attack"]["label"] for one in result["attacks"]}
        for name in ("strongest", "uncertainty"):
            if result[name] is not None and result[name]["attack"] not in labels:
                return f"findings.results[{k}].{name}.attack"
    for name in ("data", "source"):
        days = data[name] and data[name]["days"]
        kind = date if not days or days.get("resolution", "day") == "day" else datetime
        if days and not all(_is_date(days[end], kind) for end in ("first", "last")):
            return f"findings.{name}.days"
    if not _is_date(data["provenance"].get("created", "2000-01-01"), datetime):
        return "findings.provenance.created"
    return None


def _is_date(text: str, kind: type[date]) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True
