"""The manifest of a release: what its owner publishes about the defense, in a file beside the release.

`standout defend` writes it. A command that reads the release reads it as well, so that the adaptive
attacker knows the defense.

It holds no seed: anyone who knows the seed and a part of the data can compute the random numbers and
undo the defense.
"""

from __future__ import annotations

import json
from functools import reduce
from math import isinf
from operator import or_
from pathlib import Path
from typing import Any

from standout.data.dataset import Dataset
from standout.data.writing import ROLES, FileLayout, write_file
from standout.defenses.defense import Defense, defense
from standout.errors import InputError
from standout.versions import version_of

ENDING = ".manifest.json"
FORMAT = 1
INFINITE = "inf"


def manifest_path(release: Path) -> Path:
    """Path of the manifest of a release."""
    return release.parent / (release.name + ENDING)


def manifest_of(release: Dataset, layout: FileLayout) -> dict[str, Any]:
    """Return the published parameters of a release as plain data."""
    lost = lost_to_collisions(release)
    return {
        "format": FORMAT,
        "standout": version_of("standout"),
        "defense": str(release.defense),
        "stages": [
            {"name": stage.name, "parameters": _plain(stage.parameters)}
            for stage in release.defense.stages
        ],
        "release": {
            "records": release.n_records,
            "items": release.n_items,
            "entries": release.n_entries,
        },
        **({} if lost is None else {"lost_to_collisions": lost}),
        "reading": layout.reading(release),
    }


def lost_to_collisions(release: Dataset) -> int | None:
    """Entries lost because two of them met in a record; None for a defense that neither exchanges nor replaces entries."""
    mechanism = release.mechanism
    if mechanism is None or not (mechanism.moved > 0 or mechanism.replaced > 0):
        return None
    return mechanism.n_collided


def write_manifest(release: Dataset, layout: FileLayout, path: Path) -> None:
    """Write the manifest of the release that is written to `path`."""
    text = (
        json.dumps(manifest_of(release, layout), indent=1, ensure_ascii=False, allow_nan=False)
        + "\n"
    )
    write_file(manifest_path(path), lambda draft: draft.write_text(text, encoding="utf-8"))


def read_manifest(release: Path) -> tuple[Defense, dict[str, Any]] | None:
    """Read the manifest of a release: its defense, and the keywords of `Dataset.read`; None if there is none."""
    path = manifest_path(release)
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["format"] != FORMAT:
            raise InputError(
                f"{path.name} has format {said['format']!r}: this version of standout reads format {FORMAT}"
            )
        stages = [
            (str(stage["name"]), _restored(dict(stage["parameters"]))) for stage in said["stages"]
        ]
        reading = _checked_reading(dict(said["reading"]))
        # a manifest contains what it publishes, and names no file to read
        if any(name == "group-items" and isinstance(x.get("groups"), str) for name, x in stages):
            raise ValueError("groups")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path.name} is not a manifest of standout ({type(error).__name__}): remove or replace it"
        ) from None
    if not stages:
        raise InputError(f"{path.name} names no defense: remove or replace it")
    return reduce(or_, (defense(name, **given) for name, given in stages)), reading


def _checked_reading(reading: dict[str, Any]) -> dict[str, Any]:
    """Keywords of reading; a manifest may name columns and the layout of the text, and nothing that drops rows."""
    for name, value in reading.items():
        if name in (*ROLES, "delimiter"):
            fine = isinstance(value, str)
        elif name == "names":
            fine = isinstance(value, list) and all(isinstance(x, str) for x in value)
        elif name in ("channels", "attributes"):
            fine = isinstance(value, dict) and all(isinstance(x, str) for x in value.values())
        else:
            fine = name == "header" and value is True
        if not fine:
            raise ValueError(name)
    return reading


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters without those that were not given; JSON has no infinity, and only texts as keys."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, dict):
            plain[name] = {str(k): v for k, v in value.items()}
        elif isinstance(value, float) and isinf(value):
            plain[name] = INFINITE
        elif value is not None:
            plain[name] = value
    return plain


def _restored(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as they were before `_plain`, but for the keys, which stay texts."""
    return {
        name: float(value) if value == INFINITE else value for name, value in parameters.items()
    }
