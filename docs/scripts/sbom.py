"""Software bill of materials in CycloneDX 1.5: this package and everything that it installs, as found in this environment.

    python docs/scripts/sbom.py [EXTRA ...] > standout.cdx.json

Extras are those of pyproject.toml, as gpu. `make sbom` calls it. The same environment gives the
same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from packaging.requirements import Requirement

NAME = "standout"


def needed(extras: list[str]) -> dict[str, Distribution]:
    """Installed distributions that the package needs, directly or not, by normalized name."""
    found: dict[str, Distribution] = {}
    wanted: list[tuple[str, frozenset[str]]] = [(NAME, frozenset(extras))]
    seen = set()
    while wanted:
        name, asked = wanted.pop()
        if (name, asked) in seen:
            continue
        seen.add((name, asked))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(
                f"{name} is needed and not installed here: install it, then make the list again"
            ) from None
        wanted += [
            (normalized(r.name), frozenset(r.extras)) for r in _requirements(found[name], asked)
        ]
    return found


def _requirements(one: Distribution, extras: frozenset[str]) -> list[Requirement]:
    texts = [Requirement(text) for text in one.requires or ()]
    return [
        r
        for r in texts
        if r.marker is None or any(r.marker.evaluate({"extra": e}) for e in (*extras, ""))
    ]


def normalized(name: str) -> str:
    """The name as package indexes write it.

    >>> normalized("Vl_Convert.Python")
    'vl-convert-python'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(extras: list[str]) -> dict[str, Any]:
    """The bill as plain data."""
    found = needed(extras)
    depends = [
        {
            "ref": _purl(one),
            "dependsOn": sorted(
                {
                    _purl(found[normalized(r.name)])
                    for r in _requirements(one, frozenset(extras) if name == NAME else frozenset())
                }
            ),
        }
        for name, one in sorted(found.items())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(found[NAME], "application")},
        "components": [
            _component(one, "library") for name, one in sorted(found.items()) if name != NAME
        ],
        "dependencies": depends,
    }


def _component(one: Distribution, kind: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "type": kind,
        "bom-ref": _purl(one),
        "name": one.metadata["Name"],
        "version": one.version,
        "purl": _purl(one),
    }
    licence = one.metadata.get("License-Expression")
    named = [
        c.rpartition(" :: ")[2]
        for c in one.metadata.get_all("Classifier") or ()
        if c.startswith("License :: ")
    ]
    if licence:
        about["licenses"] = [{"expression": licence}]
    elif named:
        about["licenses"] = [{"license": {"name": name}} for name in sorted(set(named))]
    return about


def _purl(one: Distribution) -> str:
    return f"pkg:pypi/{normalized(one.metadata['Name'])}@{one.version}"


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1:]), indent=1))
