"""What the findings say where the known items are related, and the attacks do not use that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from standout.adversary.adversary import Adversary
from standout.data.catalog import Catalog
from standout.experiment.outcomes import Outcomes
from standout.results import Part


@dataclass(frozen=True)
class MeanPosterior(Part):
    """Mean posterior that an attack states beside the share of right answers, with the targets present and removed."""

    attack: str | None = None
    """None if no attack that ran states one."""
    stated: float | None = None
    observed: float | None = None


@dataclass(frozen=True)
class RelatedItems(Part):
    """How far the relation among the known items (of one receipt, of one week, consecutive) was used."""

    ignored_by: tuple[str, ...]
    """Labels of the attacks that ignore it."""
    shown: bool
    """Whether the release shows it."""
    posterior: MeanPosterior


RELATION = "attacks that use how the items are related"
"""What was not tried where the known items are related."""


def relation(
    who: Adversary, release: Catalog, outcomes: Mapping[str, Outcomes]
) -> RelatedItems | None:
    """Which attacks ignore the relation among the known items, and how far off the stated posterior is; None without one.

    Parameters
    ----------
    who
        The adversary.
    release
        The release as she sees it.
    outcomes
        Outcomes by attack label, with the targets present and removed.
    """
    grouping = who.choice.grouping
    if grouping is None:
        return None
    said = MeanPosterior()
    for label, one in outcomes.items():
        if one.has_posterior and one.absent_posterior.size:
            both = np.concatenate([one.posterior, one.absent_posterior])
            right = float(one.credit.sum()) / both.size
            said = MeanPosterior(label, float(both.mean()), right)
            break
    return RelatedItems(tuple(outcomes), not grouping.lacking(release), said)


def relation_note(words: str, it: RelatedItems) -> str:
    """Note on a kind of knowledge of related items."""
    ignored = ", ".join(it.ignored_by)
    many = "ignore" if len(it.ignored_by) > 1 else "ignores"
    text = f"{words}: {ignored} {many} that the items are related, so an attacker who uses it may find more people. "
    text += (
        "*Unique* uses it."
        if it.shown
        else "The release does not show it, so *unique* ignores it as well."
    )
    said = it.posterior
    if said.attack is None:
        return text
    return (
        f"{text} On these targets, present and removed, {said.attack} states a mean posterior of "
        f"{said.stated:.3f}, and {said.observed:.3f} of its answers are right."
    )
