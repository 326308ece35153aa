"""The attackers of an experiment. On a release that a defense made, the likelihood runs as an aware and as unaware attackers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from standout.attacks.attack import Attack, attack, attack_names
from standout.attacks.unaware import has_secret_names
from standout.data.catalog import Catalog
from standout.errors import ParameterError
from standout.formulas.rates import Rate
from standout.results import Part

ADAPTING_ATTACK = "likelihood"
"""Attack that adapts to a defense; its posterior gives the remaining uncertainty, if it ran."""

ADAPTIVE, NAIVE, IGNORING, FITTED = "adaptive", "naive", "changed channels ignored", "fitted"
OPTIONS: dict[str, dict[str, Any]] = {
    ADAPTIVE: {},
    NAIVE: {"adapt": False},
    IGNORING: {"adapt": "ignore"},
    FITTED: {"noise": "fit"},
}
"""Options of each attacker, the aware one first."""


VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (("scoreboard-rh", {"length": "sqrt"}),)
"""Options that make a different attack: `all` runs these variants in addition to the defaults."""


class Attacker(NamedTuple):
    """An attack of an experiment."""

    label: str
    """Unique in the experiment."""
    attack: Attack
    kind: str
    """What the attacker knows of the defense: a key of `OPTIONS`; "" where there is only one attacker."""

    @property
    def label_without_kind(self) -> str:
        """The label of the same attack on a release that no defense made."""
        return self.label.removesuffix(f" ({self.kind})")


def attacks_of(given: Attack | Sequence[str | Attack] | str) -> list[Attack]:
    """The requested attacks, given by name or as objects; "all" for every attack."""
    names: Sequence[str | Attack] = [given] if isinstance(given, str | Attack) else given
    if not isinstance(names, Iterable):
        raise ParameterError(
            f"attacks is a {type(given).__name__}: use names of attacks, or attacks"
        )
    if list(names) == ["all"]:
        names = [*attack_names(), *(attack(name, **options) for name, options in VARIANTS)]
    return [a if isinstance(a, Attack) else attack(a) for a in names]


def attackers(attacks: Sequence[Attack], source: Catalog, release: Catalog) -> tuple[Attacker, ...]:
    """The attackers of a release.

    On a release that a defense made from the source, an attack that adapts is joined by its unaware
    variants.
    """
    out: list[tuple[Attack, str]] = []
    for one in attacks:
        plain = (
            one.options() == attack(one.name).options() if one.name == ADAPTING_ATTACK else False
        )
        if plain and release.mechanism is not None and is_source_of(source, release):
            kinds = [kind for kind in OPTIONS if kind != IGNORING or changes_attributes(release)]
            out += [(attack(ADAPTING_ATTACK, **OPTIONS[kind]), kind) for kind in kinds]
        else:
            out.append((one, ""))
    return _labeled(out)


def _labeled(attacks: Sequence[tuple[Attack, str]]) -> tuple[Attacker, ...]:
    """One label per attack: its name, with its kind, or its options where a name comes twice."""
    names = [one.name for one, _ in attacks]
    labels: list[str] = []
    for one, kind in attacks:
        label = f"{one.name} ({kind})" if kind else one.name
        if names.count(one.name) > 1 and not kind:
            usual = attack(one.name).options()
            label += "".join(f" {k}={v}" for k, v in one.options().items() if v != usual.get(k))
        while label in labels:
            label += "'"
        labels.append(label)
    return tuple(Attacker(label, *one) for label, one in zip(labels, attacks, strict=True))


def is_source_of(source: Catalog, release: Catalog) -> bool:
    """Whether a defense made the release from this source."""
    its_source = release.source
    return its_source is source or (
        its_source is not None and its_source.fingerprint == source.fingerprint
    )


def changes_attributes(release: Catalog) -> bool:
    """Whether the defense changed values, times or names, so that an unaware attacker may do better without them."""
    mechanism = release.mechanism
    if mechanism is None:
        return False
    changed = mechanism.value is not None or mechanism.time is not None or mechanism.attributes > 0
    return changed or has_secret_names(release)


@dataclass(frozen=True)
class AttackerHit(Part):
    """Hit rate of an attack, by its label."""

    attack: str
    hit: Rate


@dataclass(frozen=True)
class Awareness(Part):
    """Attackers who do not know the defense that made the release, and one who does."""

    naive: AttackerHit
    unaware: AttackerHit
    """The best of all who do not know it."""
    adaptive: AttackerHit


def awareness(hits: Mapping[str, Rate], ran: Sequence[Attacker]) -> Awareness | None:
    """Hit rates of the naive attacker, of the best unaware one and of the adaptive one, from the rates by label.

    None if no defense made the release.
    """
    found = {one.kind: AttackerHit(one.label, hits[one.label]) for one in ran if one.kind}
    if not found:
        return None
    # where the defense's parameters cannot be stated for a view, the fitted attacker stands in
    aware_kind = ADAPTIVE if ADAPTIVE in found else FITTED
    unaware = max(
        (found[kind] for kind in found if kind != aware_kind),
        key=lambda one: one.hit.rate,
    )
    return Awareness(found[NAIVE], unaware, found[aware_kind])
