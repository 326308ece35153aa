"""The attackers of an audit. For a release that a defense made, the likelihood runs as an aware and as unaware attackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from standout.attacks.attack import Attack, attack
from standout.attacks.unaware import has_secret_names
from standout.data.catalog import Catalog

MODEL = "likelihood"
"""Attack that adapts to a defense; its posterior gives the remaining uncertainty, if it ran."""

ADAPTIVE, NAIVE, IGNORING, FITTED = "adaptive", "naive", "changed channels ignored", "fitted"
OPTIONS: dict[str, dict[str, Any]] = {
    ADAPTIVE: {},
    NAIVE: {"adapt": False},
    IGNORING: {"adapt": "ignore"},
    FITTED: {"noise": "fit"},
}
"""Options of each attacker, the aware one first."""


def attackers(
    attacks: Sequence[Attack], source: Catalog, release: Catalog
) -> tuple[list[Attack], list[str]]:
    """The attacks to run, and the kind of attacker that each one is ("" where there is only one).

    On a release that a defense made from the source, an attack that adapts is joined by its unaware
    variants.
    """
    out: list[tuple[Attack, str]] = []
    for one in attacks:
        plain = one.options() == attack(one.name).options() if one.name == MODEL else False
        if plain and release.mechanism is not None and is_source_of(source, release):
            kinds = [kind for kind in OPTIONS if kind != IGNORING or changes_attributes(release)]
            out += [(attack(MODEL, **OPTIONS[kind]), kind) for kind in kinds]
        else:
            out.append((one, ""))
    return [one for one, _ in out], [kind for _, kind in out]


def is_source_of(source: Catalog, release: Catalog) -> bool:
    """Whether a defense made the release from this source."""
    made = release.source
    return made is source or (made is not None and made.fingerprint == source.fingerprint)


def changes_attributes(release: Catalog) -> bool:
    """Whether the defense changed values, times or names, so that an unaware attacker may do better without them."""
    mechanism = release.mechanism
    if mechanism is None:
        return False
    changed = mechanism.value is not None or mechanism.time is not None or mechanism.attributes > 0
    return changed or has_secret_names(release)


def awareness(judged: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> dict[str, Any]:
    """Hit rates of the naive attacker, of the best unaware one and of the adaptive one, as a part of the result.

    Empty if no defense made the release.
    """
    found = {
        kind: {"attack": one["attack"]["label"], "hit": one["hit"]}
        for one, kind in zip(judged, kinds, strict=True)
        if kind
    }
    if not found:
        return {}
    unaware = max(
        (found[kind] for kind in found if kind != ADAPTIVE),
        key=lambda one: float(one["hit"]["rate"]),
    )
    return {"awareness": {"naive": found[NAIVE], "unaware": unaware, "adaptive": found[ADAPTIVE]}}
