"""`experiment`: attack people with one adversary's knowledge and measure who is unique, found, sure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Knowledge
from standout.attacks.attack import Attack
from standout.attacks.unique import is_unique, why_not_unique
from standout.audit.judge import Trial, Truth
from standout.audit.measures import Hits, hits_of, measured
from standout.audit.strongest import strongest
from standout.data.catalog import Catalog
from standout.engines.engine import Engine

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """All attacks on one adversary's knowledge of the same people."""

    trials: dict[str, Trial]
    """Answers of each attack, by label."""
    strongest: dict[str, Any] | None
    """The strongest attack; None if there are too few targets to choose one."""
    hits: Hits
    """Who is unique, found, sure."""
    measures: dict[str, Any]
    """The three rates, as `measured` gives them."""


def experiment(
    attacks: Mapping[str, Attack],
    who: Adversary,
    knowledge: Knowledge,
    release: Catalog,
    truth: Truth,
    eligible_share: float = 1.0,
    engine: str | Engine = "memory",
    progress: Callable[[str, int], None] | None = None,
) -> Experiment:
    """Run every attack with the targets present and with each removed, and measure the three risks.

    Parameters
    ----------
    attacks
        Attacks by label.
    who, knowledge
        The adversary, and what she knows of each target.
    release
        The data that is attacked.
    truth
        The answer key.
    eligible_share
        Share of all records that could be targets; in rates of all records the others count as not
        found.
    engine
        Name of an engine, or an engine.
    progress
        Called with the label of an attack and the number of queries that it just answered.
    """
    trials = {}
    for label, one in attacks.items():

        def step(n: int, label: str = label) -> None:
            if progress:
                progress(label, n)

        present, absent = one.run_both(release, knowledge, truth.target, engine, progress=step)
        trials[label] = Trial(one, present, absent)
    best = strongest(trials, truth, eligible_share)
    why = why_not_unique(who, release)
    unique = None if why else is_unique(release, knowledge, truth.target, engine)
    seen = hits_of(trials, truth, unique, best)
    return Experiment(trials, best, seen, measured(seen, why, eligible_share))
