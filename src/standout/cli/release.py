"""Reading of a release that was made from a source, for the commands that judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from standout.data.dataset import Dataset

OF_ENTRIES = ("repeats", "skip_bad", "max_bad")
"""Options of reading that apply to the release as well if its manifest says how to read it."""


def read_release(
    path: Path, source: Dataset, keywords: dict[str, Any], defense: str | None
) -> Dataset:
    """Read a release and attach its source and the published parameters of its defense.

    Parameters
    ----------
    path
        File of the release.
    source
        The data that the release was made from.
    keywords
        Keywords that the source was read with.
    defense
        The defense as text; None: as in the manifest, or not known.
    """
    from standout.data.dataset import Dataset
    from standout.data.whole import carry
    from standout.defenses.manifest import read_manifest
    from standout.defenses.parse import parse_defense

    manifest = read_manifest(path)
    if manifest is not None:
        how = {
            **{name: keywords[name] for name in OF_ENTRIES if name in keywords},
            **manifest.reading,
        }
    else:
        how = _as_source(path, source, keywords)
    known = parse_defense(defense) if defense is not None else manifest and manifest.defense
    if known and source.has_time and how.get("time") != "":  # a defense changes ticks of the source
        how = {**how, "resolution": source.time_resolution}
    release = Dataset.read(path, **how)
    if not known:
        return release
    described = known.describe(source, release)
    carry(release, described)
    return described


def _as_source(path: Path, source: Dataset, keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the source, with the columns that it uses; values and times may be missing in the release.

    A column for values or times that the release lacks is guessed among the columns that the source
    does not have: it may have another name there, and without it the risk would look lower.
    """
    from standout.data.reading.options import ReadOptions
    from standout.data.reading.read import inspect_columns

    used = {
        use.role: use.name
        for use in source.cleaning.columns
        if use.role in ("record", "item", "value", "time")
    }
    if keywords.get("wide") or not used:
        return keywords
    bare = {
        name: x
        for name, x in keywords.items()
        if name not in ("record", "item", "value", "time", "ignore")
    }
    there = {use.name for use in inspect_columns(path, ReadOptions(**bare)).columns}
    roles = {role: used[role] for role in ("record", "item") if used[role] in there}
    renamed = there - {use.name for use in source.cleaning.columns}
    for role in ("value", "time"):
        if used.get(role) in there:
            roles[role] = used[role]
        elif role not in used or not renamed:
            roles[role] = ""
    known = sorted(name for name in there - renamed - set(roles.values()) if name)
    return {**bare, **roles, **({"ignore": known} if known else {})}
