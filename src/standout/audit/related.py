"""What the findings say where the known items are related, and the attacks do not use that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.data.catalog import Catalog
from standout.experiment.outcomes import Outcomes

Plain = Mapping[str, Any]

RELATION = "attacks that use how the items are related"
"""What was not tried where the known items are related."""


def relation(
    who: Adversary, release: Catalog, outcomes: Mapping[str, Outcomes]
) -> dict[str, dict[str, Any]]:
    """Which attacks ignore the relation among the known items, and how far off the stated posterior is; empty without one.

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
        return {}
    said: dict[str, Any] = {"attack": None, "stated": None, "observed": None}
    for label, one in outcomes.items():
        if one.has_posterior and one.absent_posterior.size:
            both = np.concatenate([one.posterior, one.absent_posterior])
            right = float(one.credit.sum()) / both.size
            said = {"attack": label, "stated": float(both.mean()), "observed": right}
            break
    shown = not grouping.lacking(release)
    return {"relation": {"ignored_by": list(outcomes), "shown": shown, "posterior": said}}


def relation_notes(results: Sequence[Plain]) -> list[str]:
    """One note per kind of knowledge of related items."""
    return [_note(r["adversary"]["words"], r["relation"]) for r in results if "relation" in r]


def _note(words: str, it: Plain) -> str:
    ignored = ", ".join(it["ignored_by"])
    many = "ignore" if len(it["ignored_by"]) > 1 else "ignores"
    text = f"{words}: {ignored} {many} that the items are related, so an attacker who uses it may find more people. "
    text += (
        "*Unique* uses it."
        if it["shown"]
        else "The release does not show it, so *unique* ignores it as well."
    )
    said = it["posterior"]
    if said["attack"] is None:
        return text
    return (
        f"{text} On these targets, present and removed, {said['attack']} states a mean posterior of "
        f"{said['stated']:.3f}, and {said['observed']:.3f} of its answers are right."
    )
